/** The check of a person at a login: the Turnstile widget in a frame of its own, or a proof of work. */
import { useEffect, useState } from 'react';
import { ApiError } from './api.ts';
import { findProof } from './proof-of-work.ts';
import { texts } from './texts/index.ts';

const t = texts.app.personCheck;

export type Solution = { readonly turnstile: string } | { readonly proof: string };

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

/** Shows the check that the server asks for, with a button that sends its solution. */
export function PersonCheck(props: {
  challenges: readonly string[];
  /** Lower-case address, or `operator ` and the login. */
  subject: string;
  onSolved: (solution: Solution) => Promise<void>;
}) {
  const { challenges, subject, onSolved } = props;
  const [token, setToken] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isTurnstile = challenges.includes('turnstile');
  if (!isTurnstile && !challenges.includes('proof_of_work')) return null;
  const solve = async () => {
    setBusy(true);
    await onSolved(token === null ? { proof: await findProof(subject) } : { turnstile: token });
    setBusy(false);
  };
  return (
    <>
      <p>{t.manyWrong}</p>
      {isTurnstile && <Turnstile action="login" onToken={setToken} />}
      <button type="button" className="primary" disabled={isBusy || (isTurnstile && token === null)} onClick={solve}>
        {isBusy && !isTurnstile ? t.working : t.signIn}
      </button>
    </>
  );
}
