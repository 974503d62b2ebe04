/** A forgotten password: asks for a link, and sets a new password with the link. */
import { type FormEvent, useState } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { focusOnAppearing } from '../shared/focus.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { resumeSession } from './model/session.ts';

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

/** @param complete adds the domain to a name without one. */
export function ForgotPage({ complete }: { complete: (email: string) => Promise<string> }) {
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
        <h1>Check your other mailbox</h1>
        <p>If {sentTo} has a confirmed recovery address, a link was sent to it. The link works once, within an hour.</p>
        <p className="muted">No recovery address? Ask the operator of this service for a link.</p>
        <a href={SIGN_IN}>Back to sign-in</a>
      </div>
    );
  }
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>Forgot your password?</h1>
      <p className="muted">We mail a link for a new password to the recovery address of your account.</p>
      <label className="field">
        <span>Address</span>
        <input name="email" required autoComplete="username" ref={focusOnAppearing} />
      </label>
      <Problem error={error} />
      <button type="submit" className="primary">
        Send the link
      </button>
      <a href={SIGN_IN}>Back to sign-in</a>
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
      setError('The two passwords differ.');
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
    // The token must not stay in the history of the browser.
    go(SIGN_IN, { replace: true });
    void resumeSession();
  };
  if (isDone) {
    return (
      <div className="card sign-in stack" role="status">
        <h1>Your new password is set</h1>
        <p>You are signed out everywhere, and the tokens of your programs are revoked.</p>
        <button type="button" className="primary" onClick={leave}>
          Sign in
        </button>
      </div>
    );
  }
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>Set a new password</h1>
      <label className="field">
        <span>New password</span>
        <input
          name="password"
          type="password"
          required
          minLength={8}
          maxLength={256}
          autoComplete="new-password"
          ref={focusOnAppearing}
        />
        <small>At least 8 characters. Common passwords are refused.</small>
      </label>
      <label className="field">
        <span>New password again</span>
        <input name="again" type="password" required autoComplete="new-password" />
      </label>
      <Problem error={error} />
      <button type="submit" className="primary">
        Set the password
      </button>
      <button type="button" className="link" onClick={leave}>
        Back to sign-in
      </button>
    </form>
  );
}
