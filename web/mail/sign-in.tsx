/** Sign-in, registration and second factor. */

import { type FormEvent, useEffect, useState } from 'react';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { ApiError, describeError } from '../shared/api.ts';
import { loadConfig } from '../shared/config.ts';
import { focusOnAppearing } from '../shared/focus.ts';
import { go, toHash, useRoute } from '../shared/hash-route.ts';
import { askForPasskey, isPasskeySupported } from '../shared/passkeys.ts';
import { readChallenges, Turnstile } from '../shared/person-check.tsx';
import { SignInFailure } from '../shared/sign-in-with.tsx';
import { fill } from '../shared/texts/index.ts';
import { mailTexts } from '../shared/texts/mail.ts';
import { ForgotPage } from './account-recovery.tsx';
import { LoginChallenge } from './challenge.tsx';
import { CompanyButtons, PasskeyButton, PasswordlessSignIn } from './company-sign-in.tsx';
import { resumeAsked } from './model/asked-connection.ts';
import { register, type SignIn, signIn } from './model/session.ts';

const t = mailTexts.signIn;

/** Minimum length of a password, as in the API (`workers/mail/schemas/account.ts`). */
const PASSWORD_LENGTH_MIN = 8;

const isSecondFactorAsked = (error: unknown) =>
  error instanceof ApiError && /totp|second_factor|two_factor/.test(error.code);

/** On a phone, the keyboard would cover half of the form. */
function focusWithoutKeyboard(element: HTMLElement | null): void {
  if (!matchMedia('(pointer: coarse)').matches) element?.focus();
}

/** Focuses what the user has to change: the field that the server names, or the password. */
function focusField(form: HTMLFormElement, cause: unknown): void {
  const name = cause instanceof ApiError ? cause.problem.errors?.[0]?.path : undefined;
  const field = form.querySelector<HTMLInputElement>(`[name="${CSS.escape(name ?? '')}"], [name="password"]`);
  field?.focus();
  field?.select();
}

function Field(props: {
  label: string;
  name: string;
  type?: string;
  autoComplete: string;
  hint?: string;
  required?: boolean;
  minLength?: number;
  isFirst?: boolean;
  onInput?: (event: FormEvent<HTMLInputElement>) => void;
}) {
  const { label, hint, isFirst = false, ...input } = props;
  return (
    <label className="field">
      <span>{label}</span>
      <input required {...input} ref={isFirst ? focusWithoutKeyboard : undefined} />
      {hint && <small>{hint}</small>}
    </label>
  );
}

/** A new password is typed only once, so the form can show it. */
function PasswordField({ isNew }: { isNew: boolean }) {
  const [isShown, setShown] = useState(false);
  return (
    <div className="password-field">
      <Field
        label={t.password}
        name="password"
        type={isShown && isNew ? 'text' : 'password'}
        autoComplete={isNew ? 'new-password' : 'current-password'}
        {...(isNew ? { minLength: PASSWORD_LENGTH_MIN, hint: t.passwordHint } : {})}
      />
      {isNew && (
        <button type="button" className="link small" onClick={() => setShown(!isShown)}>
          {isShown ? t.hide : t.show}
        </button>
      )}
    </div>
  );
}

function SecondFactor({ credentials, onBack }: { credentials: SignIn; onBack: () => void }) {
  const [isRecovery, setRecovery] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '').replaceAll(/\s/g, '');
    try {
      await signIn({ ...credentials, ...(isRecovery ? { recovery_code: code } : { totp: code }) });
    } catch (cause) {
      setError(isSecondFactorAsked(cause) ? t.incorrectCode : describeError(cause));
    }
  };
  const submitPasskey = async () => {
    try {
      await signIn({ ...credentials, passkey: await askForPasskey() });
    } catch (cause) {
      setError(describeError(cause));
    }
  };
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>{t.secondFactor}</h1>
      <label className="field">
        <span>{isRecovery ? t.recoveryCode : t.codeFromYourAuthenticator}</span>
        <input
          name="code"
          required
          autoComplete="one-time-code"
          inputMode={isRecovery ? 'text' : 'numeric'}
          ref={focusOnAppearing}
        />
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary">
        {t.signIn}
      </button>
      <div className="row wrap">
        <button type="button" className="link" onClick={() => setRecovery(!isRecovery)}>
          {isRecovery ? t.useAuthenticator : t.useRecoveryCode}
        </button>
        {isPasskeySupported() && (
          <button type="button" className="link" onClick={() => void submitPasskey()}>
            {t.usePasskey}
          </button>
        )}
        <span className="grow" />
        <button type="button" className="link" onClick={onBack}>
          {t.back}
        </button>
      </div>
    </form>
  );
}

/** @param failure why the sign-in with the provider failed, from which the person comes back. */
export function SignInPage({ failure }: { failure: string | null }) {
  const [config, setConfig] = useState<WebConfig | null>(null);
  const [waitingFor, setWaitingFor] = useState<SignIn | null>(null);
  const [error, setError] = useState(failure);
  const [isBusy, setBusy] = useState(false);
  const [challenged, setChallenged] = useState<{ credentials: SignIn; challenges: readonly string[] } | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [typed, setTyped] = useState('');
  const route = useRoute();
  const isRegistering = route.parts[0] === 'register';
  useEffect(() => {
    loadConfig().then(setConfig, () => undefined);
  }, []);
  if (waitingFor) return <SecondFactor credentials={waitingFor} onBack={() => setWaitingFor(null)} />;

  if (config?.passwords === false) return <PasswordlessSignIn config={config} error={error} onError={setError} />;
  const domain = config?.mail_domains[0];
  /** Adds the domain to a name. The form may be sent before the settings of the deployment are loaded. */
  const complete = async (email: string) => {
    const name = email.trim().toLowerCase();
    if (name.includes('@')) return name;
    const known = await loadConfig().then(
      ({ mail_domains: domains }) => domains[0],
      () => undefined,
    );
    return known ? `${name}@${known}` : name;
  };
  if (route.parts[0] === 'forgot') return <ForgotPage typed={typed} complete={complete} />;
  const explain = (cause: unknown, credentials: SignIn) => {
    const challenges = readChallenges(cause);
    const challenge = challenges && !isRegistering ? { credentials, challenges } : null;
    setChallenged(challenge);
    if (isSecondFactorAsked(cause)) setWaitingFor(credentials);
    else if (challenge === null) setError(describeError(cause));
  };
  if (challenged) return <LoginChallenge {...challenged} onError={explain} onBack={() => setChallenged(null)} />;
  const isTurnstileShown = isRegistering && config !== null && config.turnstile_site_key !== null;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { currentTarget } = event;
    const form = new FormData(currentTarget);
    const text = (name: string) => String(form.get(name) ?? '');
    setBusy(true);
    const credentials = { email: await complete(text('email')), password: text('password') };
    setError(null);
    try {
      if (isRegistering) {
        const invite = text('invite').trim();
        await register({
          ...credentials,
          name: text('name').trim(),
          ...(invite ? { invite } : {}),
          ...(token === null ? {} : { turnstile: token }),
        });
        if (!resumeAsked()) go(toHash([]));
      } else await signIn(credentials);
    } catch (cause) {
      explain(cause, credentials);
      focusField(currentTarget, cause);
      // A Turnstile token works only once, so request a new one.
      setToken(null);
      setAttempt(attempt + 1);
    } finally {
      setBusy(false);
    }
  };
  const addressHint = () => {
    if (!domain) return {};
    if (!isRegistering) return { hint: fill(t.addressHint, { domain }) };
    const name = typed.trim().toLowerCase();
    if (!name) return { hint: fill(t.newAddressHint, { domain }) };
    return { hint: fill(t.newAddress, { email: name.includes('@') ? name : `${name}@${domain}` }) };
  };
  // The company's account is the first way in, where there is one.
  const submitClass = config?.sign_in_with && !isRegistering ? '' : 'primary';
  const mayRegister = config !== null && config.registration !== 'closed';
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>{isRegistering ? t.newMailbox : t.signInToMail}</h1>
      {!isRegistering && <CompanyButtons config={config} onError={setError} />}
      {isRegistering && <Field label={t.yourName} name="name" autoComplete="name" isFirst />}
      <Field
        isFirst={!isRegistering}
        label={t.address}
        name="email"
        autoComplete="username"
        onInput={(event) => setTyped(event.currentTarget.value)}
        {...addressHint()}
      />
      <PasswordField isNew={isRegistering} />
      {isRegistering && config?.registration === 'invite' && (
        <Field label={t.invitation} name="invite" autoComplete="off" />
      )}
      <SignInFailure text={error} />
      {isTurnstileShown && <Turnstile key={attempt} action="register" onToken={setToken} />}
      <button type="submit" className={submitClass} disabled={isBusy || (isTurnstileShown && token === null)}>
        {isRegistering ? t.create : t.signIn}
      </button>
      {!isRegistering && <PasskeyButton onError={setError} />}
      {!isRegistering && (
        <button type="button" className="link" onClick={() => go(toHash(['forgot']))}>
          {t.forgotYourPassword}
        </button>
      )}
      {mayRegister && (
        <button
          type="button"
          className={isRegistering ? 'link' : 'new-mailbox'}
          onClick={() => {
            setError(null);
            go(toHash(isRegistering ? [] : ['register']));
          }}
        >
          {isRegistering ? t.haveMailbox : t.wantMailbox}
        </button>
      )}
    </form>
  );
}
