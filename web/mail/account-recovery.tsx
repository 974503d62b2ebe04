/** Forms for a forgotten password: one requests a link by mail, the other sets a new password with that link. */
import { type FormEvent, useState } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { focusOnAppearing } from '../shared/focus.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { fill } from '../shared/texts/index.ts';
import { mailTexts } from '../shared/texts/mail.ts';
import { resumeSession } from './model/session.ts';

const t = mailTexts.accountRecovery;

const text = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '');
const SIGN_IN = toHash([]);

function Problem({ error }: { error: string | null }) {
  if (!error) return null;
  return (
    <p className="error-box" role="alert">
      {error}
    </p>
  );
}

/**
 * Form that requests a link for a new password.
 * @param typed the address that the user typed before. @param complete adds the domain to a name without one.
 */
export function ForgotPage({ typed, complete }: { typed: string; complete: (email: string) => Promise<string> }) {
  const [sentTo, setSentTo] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const email = await complete(text(event.currentTarget, 'email'));
    callJson('/v1/auth/forgot', { body: { email } }).then(
      () => setSentTo(email),
      (cause: unknown) => setError(describeError(cause)),
    );
  };
  if (sentTo !== null) {
    return (
      <div className="card sign-in stack" role="status">
        <h1>{t.checkYourOtherMailbox}</h1>
        <p>{fill(t.linkSent, { sentTo })}</p>
        <p className="muted">{t.noAddress}</p>
        <a href={SIGN_IN}>{t.backToSignIn}</a>
      </div>
    );
  }
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>{t.forgotYourPassword}</h1>
      <p className="muted">{t.forgotText}</p>
      <label className="field">
        <span>{t.address}</span>
        <input name="email" required autoComplete="username" defaultValue={typed} ref={focusOnAppearing} />
      </label>
      <Problem error={error} />
      <button type="submit" className="primary">
        {t.sendLink}
      </button>
      <a href={SIGN_IN}>{t.backToSignIn}</a>
    </form>
  );
}

export function ResetPage({ token }: { token: string }) {
  const [isDone, setDone] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (text(form, 'password') !== text(form, 'again')) {
      setError(t.passwordsDiffer);
      return;
    }
    try {
      await callJson('/v1/auth/reset', { body: { token, password: text(form, 'password') } });
      setDone(true);
    } catch (cause) {
      setError(describeError(cause));
    }
  };
  const leave = () => {
    // Remove the token from the address, so that it does not stay in the browser's history.
    go(SIGN_IN, { replace: true });
    void resumeSession();
  };
  if (isDone) {
    return (
      <div className="card sign-in stack" role="status">
        <h1>{t.passwordSet}</h1>
        <p>{t.signedOut}</p>
        <button type="button" className="primary" onClick={leave}>
          {t.signIn}
        </button>
      </div>
    );
  }
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>{t.setNewPassword}</h1>
      <label className="field">
        <span>{t.newPassword}</span>
        <input
          name="password"
          type="password"
          required
          minLength={8}
          maxLength={256}
          autoComplete="new-password"
          ref={focusOnAppearing}
        />
        <small>{t.passwordRule}</small>
      </label>
      <label className="field">
        <span>{t.newPasswordAgain}</span>
        <input name="again" type="password" required autoComplete="new-password" />
      </label>
      <Problem error={error} />
      <button type="submit" className="primary">
        {t.setPassword}
      </button>
      <button type="button" className="link" onClick={leave}>
        {t.backToSignIn}
      </button>
    </form>
  );
}
