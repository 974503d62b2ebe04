/** Challenges of a login or registration: the Turnstile widget in a frame of its own, and a code by mail. */
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError, callJson, describeError } from '../shared/api.ts';
import { mailTexts } from '../shared/texts/mail.ts';
import { type SignIn, signIn } from './model/session.ts';

const t = mailTexts.challenge;

/** Returns the challenges that the server requires, or null if the error is of another kind. */
export function readChallenges(error: unknown): readonly string[] | null {
  const isChallenge = error instanceof ApiError && /^challenge_(?:required|failed)$/.test(error.code);
  return isChallenge ? (error.problem.challenges ?? []) : null;
}

/** Shows the Turnstile widget. @param onToken receives its token, and null when the token expires. */
export function Turnstile({ action, onToken }: { action: string; onToken: (token: string | null) => void }) {
  useEffect(() => {
    const listen = ({ origin, data }: MessageEvent<{ turnstile?: string | null } | null>) => {
      if (origin === location.origin && data?.turnstile !== undefined) onToken(data.turnstile);
    };
    addEventListener('message', listen);
    return () => removeEventListener('message', listen);
  }, [onToken]);
  return <iframe className="turnstile" title={t.checkHuman} src={`/_/turnstile#${action}`} />;
}

/** Form with the challenges of a login. The server requires them after many wrong passwords for the address from other places. */
export function LoginChallenge(props: {
  credentials: SignIn;
  challenges: readonly string[];
  /** Receives errors that are not about the challenge, such as a wrong password. */
  onError: (error: unknown, solved: SignIn) => void;
  onBack: () => void;
}) {
  const { credentials, challenges, onError, onBack } = props;
  const [token, setToken] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [isMailed, setMailed] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async (solved: SignIn) => {
    try {
      await signIn(solved);
    } catch (cause) {
      if (readChallenges(cause) === null) onError(cause, credentials);
      else {
        setError(describeError(cause));
        setToken(null);
        setAttempt(attempt + 1);
      }
    }
  };
  const submitCode = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '');
    void submit({ ...credentials, mailed_code: code });
  };
  const mailCode = () =>
    callJson('/v1/auth/login-code', { body: { email: credentials.email } }).then(
      () => setMailed(true),
      (cause: unknown) => setError(describeError(cause)),
    );
  return (
    <div className="card sign-in stack">
      <h1>{t.oneMoreStep}</h1>
      <p>{t.manyWrong}</p>
      {challenges.includes('turnstile') && (
        <>
          <Turnstile key={attempt} action="login" onToken={setToken} />
          <button
            type="button"
            className="primary"
            disabled={token === null}
            onClick={() => token !== null && void submit({ ...credentials, turnstile: token })}
          >
            {t.signIn}
          </button>
        </>
      )}
      {isMailed ? (
        <form className="stack" onSubmit={submitCode}>
          <p role="status">{t.codeSent}</p>
          <label className="field">
            <span>{t.code}</span>
            <input name="code" required autoComplete="one-time-code" />
          </label>
          <button type="submit" className={challenges.includes('turnstile') ? '' : 'primary'}>
            {t.signInWithCode}
          </button>
        </form>
      ) : (
        <button type="button" onClick={() => void mailCode()}>
          {t.mailCode}
        </button>
      )}
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <button type="button" className="link" onClick={onBack}>
        {t.back}
      </button>
    </div>
  );
}
