/** Challenges of a login: the check of a person, or a code by mail. */
import { type FormEvent, useState } from 'react';
import { callJson, describeError } from '../shared/api.ts';
import { PersonCheck, readChallenges, type Solution } from '../shared/person-check.tsx';
import { mailTexts } from '../shared/texts/mail.ts';
import { type SignIn, signIn } from './model/session.ts';

const t = mailTexts.challenge;

/** Form with the challenges of a login. The server requires them after many wrong passwords for the address from other places. */
export function LoginChallenge(props: {
  credentials: SignIn;
  challenges: readonly string[];
  /** Receives errors that are not about the challenge, such as a wrong password. */
  onError: (error: unknown, solved: SignIn) => void;
  onBack: () => void;
}) {
  const { credentials, challenges, onError, onBack } = props;
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
      <PersonCheck
        key={attempt}
        challenges={challenges}
        subject={credentials.email}
        onSolved={(solution: Solution) => submit({ ...credentials, ...solution })}
      />
      {isMailed ? (
        <form className="stack" onSubmit={submitCode}>
          <p role="status">{t.codeSent}</p>
          <label className="field">
            <span>{t.code}</span>
            <input name="code" required autoComplete="one-time-code" />
          </label>
          <button type="submit">{t.signInWithCode}</button>
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
