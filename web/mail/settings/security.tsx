/** Password, sessions, second factor, and tokens for the user's programs. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { callJson, describeError, type Page } from '../../shared/api.ts';
import { focusOnAppearing } from '../../shared/focus.ts';
import { formatDateTime, formatRelative } from '../../shared/format.ts';
import { useStore } from '../../shared/store.ts';
import { fill, fillNodes } from '../../shared/texts/index.ts';
import { mailSettingsTexts } from '../../shared/texts/mail-settings.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { useLoaded } from '../../shared/use-loaded.ts';
import { resumeSession, session } from '../model/session.ts';
import { Passkeys } from './passkeys.tsx';
import { RecoveryAddress, RecoveryCodes } from './recovery.tsx';
import { Setting } from './setting.tsx';
import { SignIns } from './sign-ins.tsx';

const { security: t } = mailSettingsTexts;

const text = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '');

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="card setting-group">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function PasswordForm() {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    try {
      await callJson('/v1/me/password', { body: { new_password: text(event.currentTarget, 'new') } });
      setOpen(false);
      setError(null);
      showToast(t.passwordChanged);
      // The profile now asks for the review of what else is set.
      await resumeSession();
    } catch (cause) {
      setError(describeError(cause));
    }
  };
  if (!isOpen) {
    return (
      <Setting title={t.password} text={t.passwordText}>
        <div>
          <button type="button" onClick={() => setOpen(true)}>
            {t.changePassword}
          </button>
        </div>
      </Setting>
    );
  }
  return (
    <Setting title={t.password} text={t.passwordText}>
      <form className="stack" onSubmit={submit}>
        <label className="field">
          <span>{t.newPassword}</span>
          <input name="new" type="password" required autoComplete="new-password" ref={focusOnAppearing} />
        </label>
        {error && (
          <p className="error-box" role="alert">
            {error}
          </p>
        )}
        <div>
          <button type="submit" className="primary">
            {t.changePassword}
          </button>
        </div>
      </form>
    </Setting>
  );
}

interface TotpSetup {
  secret: string;
  otpauth_url: string;
}

function SecondFactor() {
  const isOn = session.get().profile?.totp_enabled ?? false;
  const isPasskeyNeeded = session.get().profile?.password_needs_passkey ?? false;
  const [setup, setSetup] = useState<TotpSetup | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const attempt = (work: Promise<unknown>) =>
    work.then(
      () => setError(null),
      (cause: unknown) => setError(describeError(cause)),
    );
  const start = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isOn) {
      const off = callJson('/v1/me/totp', { method: 'DELETE' });
      void attempt(off.then(() => resumeSession()).then(() => showToast(t.secondFactorOff)));
    } else void attempt(callJson<TotpSetup>('/v1/me/totp', { method: 'POST' }).then(setSetup));
  };
  const confirmCode = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const totp = text(event.currentTarget, 'totp').replaceAll(/\s/g, '');
    void attempt(
      callJson<{ recovery_codes: string[] }>('/v1/me/totp/confirm', { body: { totp } }).then((answer) => {
        setCodes(answer.recovery_codes);
        setSetup(null);
        showToast(t.secondFactorOn);
      }),
    );
  };
  return (
    <Setting title={t.factor} text={isOn ? t.factorOn : isPasskeyNeeded ? t.factorByPasskey : t.factorOff}>
      {codes ? (
        <div className="stack" role="status">
          <p>{t.factorIsOn}</p>
          <pre>{codes.join('\n')}</pre>
          <div>
            <button type="button" onClick={() => void resumeSession().then(() => setCodes(null))}>
              {t.codesKept}
            </button>
          </div>
        </div>
      ) : setup ? (
        <form className="stack" onSubmit={confirmCode}>
          <p>{fillNodes(t.enterSecret, { link: <a href={setup.otpauth_url}>{t.openThere}</a> })}</p>
          <pre>{setup.secret.replaceAll(/(.{4})/g, '$1 ').trim()}</pre>
          <label className="field">
            <span>{t.code}</span>
            <input name="totp" required inputMode="numeric" autoComplete="one-time-code" />
          </label>
          <div>
            <button type="submit" className="primary">
              {t.turnOn}
            </button>
          </div>
        </form>
      ) : (
        <form onSubmit={start}>
          <div>
            <button type="submit">{isOn ? t.turnOff : t.setUp}</button>
          </div>
        </form>
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
    </Setting>
  );
}

interface OpenSession {
  session_id: string;
  user_agent: string | null;
  created_at: string;
  last_seen_at: string;
  is_current: boolean;
}

/** Describes the browser and the system of a session, for example "Firefox on Linux". */
function describeAgent(agent: string | null): string {
  const browser = /(Firefox|Edg|Chrome|Safari|curl|python)[/-]/i.exec(agent ?? '')?.[1] ?? t.program;
  const system = /(Android|iPhone|iPad|Windows|Mac OS|Linux)/.exec(agent ?? '')?.[1];
  return system ? fill(t.browserOn, { browser: browser === 'Edg' ? 'Edge' : browser, system }) : browser;
}

function Sessions() {
  const { value, error, reload } = useLoaded(() => callJson<Page<OpenSession>>('/v1/me/sessions'), []);
  const end = (id: string) =>
    callJson(`/v1/me/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' }).then(reload, showError);
  return (
    <Setting title={t.devices} text={t.devicesText}>
      {error && <p className="error-box">{error}</p>}
      <ul className="plain-list filter-list">
        {value?.data.map((one) => (
          <li key={one.session_id}>
            <span className="grow">
              {describeAgent(one.user_agent)}{' '}
              <span className="muted small setting-detail">
                {fill(t.seen, { since: formatDateTime(one.created_at), seen: formatRelative(one.last_seen_at) })}
              </span>
            </span>
            {one.is_current ? (
              <span className="badge good">{t.thisDevice}</span>
            ) : (
              <button type="button" onClick={() => void end(one.session_id)}>
                {t.end}
              </button>
            )}
          </li>
        ))}
      </ul>
    </Setting>
  );
}

interface Token {
  token_id: string;
  name: string;
  created_at: string;
}

function AppTokens() {
  const { value, error, reload } = useLoaded(() => callJson<Page<Token>>('/v1/me/tokens?limit=200'), []);
  const [made, setMade] = useState<string | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    callJson<{ token: string }>('/v1/me/tokens', { body: { name: text(form, 'name').trim() } }).then((token) => {
      setMade(token.token);
      form.reset();
      reload();
    }, showError);
  };
  const revoke = (token: Token) =>
    callJson(`/v1/me/tokens/${encodeURIComponent(token.token_id)}`, { method: 'DELETE' }).then(reload, showError);
  return (
    <Setting title={t.tokens} text={t.tokensText}>
      {error && <p className="error-box">{error}</p>}
      <ul className="plain-list filter-list">
        {value?.data.map((token) => (
          <li key={token.token_id}>
            <span className="grow">
              <bdi>{token.name}</bdi>{' '}
              <span className="muted small setting-detail">
                {fill(t.created, { since: formatDateTime(token.created_at) })}
              </span>
            </span>
            <button type="button" onClick={() => void revoke(token)}>
              {t.revoke}
              <span className="visually-hidden"> {token.name}</span>
            </button>
          </li>
        ))}
      </ul>
      {made && (
        <div role="status" className="small">
          <p>{t.tokenOnce}</p>
          <pre>{made}</pre>
        </div>
      )}
      <form className="row" onSubmit={create}>
        <input name="name" required maxLength={128} aria-label={t.nameProgram} placeholder={t.nameProgram} />
        <button type="submit">{t.createToken}</button>
      </form>
    </Setting>
  );
}

export function Security() {
  const hasPassword = useStore(session, (state) => state.profile?.has_password ?? true);
  return (
    <div className="stack-large">
      <Group title={t.signIn}>
        {hasPassword && <PasswordForm />}
        <SignIns />
        <Passkeys />
        <SecondFactor />
      </Group>
      <Group title={t.lockedOut}>
        <RecoveryAddress />
        <RecoveryCodes />
      </Group>
      <Group title={t.access}>
        <Sessions />
        <AppTokens />
      </Group>
    </div>
  );
}
