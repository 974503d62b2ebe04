/**
 * Asks for the password when an API answer is `confirmation_required`, and confirms the session for ten minutes.
 * `call` then repeats its request. A page that makes such requests renders `<ConfirmationDialog />` once.
 */
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError, askWhenConfirmationRequired, callJson, describeError } from './api.ts';
import { useConfig } from './config.ts';
import { Dialog } from './dialog.tsx';
import { focusOnAppearing } from './focus.ts';
import { askForPasskey, isPasskeySupported } from './passkeys.ts';
import { startSignIn } from './sign-in-with.tsx';
import { fill, texts } from './texts/index.ts';
import { useLoaded } from './use-loaded.ts';

const t = texts.app.confirmation;

const toCodeMember = (code: string) => (/^\d{6}$/.test(code) ? { totp: code } : { recovery_code: code });

export function ConfirmationDialog() {
  /** Callbacks of the requests that wait until the user has confirmed the session or refused. */
  const [waiting, setWaiting] = useState<readonly ((isConfirmed: boolean) => void)[]>([]);
  useEffect(
    () => askWhenConfirmationRequired(() => new Promise((resolve) => setWaiting((before) => [...before, resolve]))),
    [],
  );
  if (waiting.length === 0) return null;
  const end = (isConfirmed: boolean) => {
    setWaiting([]);
    for (const resolve of waiting) resolve(isConfirmed);
  };
  return <ConfirmationForm onEnd={end} />;
}

/** The button for accounts that sign in with the provider. The person comes back to the page and repeats the action. */
function ConfirmWithProvider({ onError }: { onError: (text: string) => void }) {
  const name = useConfig()?.sign_in_with ?? null;
  const load = async () => (name === null ? null : callJson<{ data: unknown[] }>('/v1/me/sign-ins'));
  const { value } = useLoaded(load, [name]);
  if (name === null || !value?.data.length) return null;
  const start = () => startSignIn('confirm').catch((cause: unknown) => onError(describeError(cause)));
  return (
    <button type="button" onClick={() => void start()}>
      {fill(texts.app.signInWith.confirm, { name })}
    </button>
  );
}

function ConfirmationForm({ onEnd }: { onEnd: (isConfirmed: boolean) => void }) {
  const hasPasswords = useConfig()?.passwords ?? true;
  const [needsCode, setNeedsCode] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const code = String(form.get('code') ?? '').replaceAll(/\s/g, '');
    const body = { password: String(form.get('password')), ...(needsCode ? toCodeMember(code) : {}) };
    try {
      await callJson('/v1/auth/confirm', { body });
      onEnd(true);
    } catch (cause) {
      const isCodeMissing = cause instanceof ApiError && cause.code === 'second_factor_required';
      if (isCodeMissing) setNeedsCode(true);
      setError(isCodeMissing ? null : describeError(cause));
    }
  };
  const confirmWithPasskey = async () => {
    try {
      await callJson('/v1/auth/confirm', { body: { passkey: await askForPasskey() } });
      onEnd(true);
    } catch (cause) {
      setError(describeError(cause));
    }
  };
  return (
    <Dialog title={t.title} onClose={() => onEnd(false)}>
      <form className="stack" onSubmit={submit}>
        <p className="muted small">{t.why}</p>
        <ConfirmWithProvider onError={setError} />
        {hasPasswords && (
          <label className="field">
            <span>{t.password}</span>
            <input name="password" type="password" required autoComplete="current-password" ref={focusOnAppearing} />
          </label>
        )}
        {needsCode && (
          <label className="field">
            <span>{t.code}</span>
            <input name="code" required autoComplete="one-time-code" />
          </label>
        )}
        {error && (
          <p className="error-box" role="alert">
            {error}
          </p>
        )}
        <div className="row wrap">
          {hasPasswords && (
            <button type="submit" className="primary">
              {t.confirm}
            </button>
          )}
          {isPasskeySupported() && (
            <button type="button" onClick={() => void confirmWithPasskey()}>
              {t.passkey}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
