/** Signing in with the company's account: the button, and the return from the provider's page. */
import { useEffect, useState } from 'react';
import { callJson, describeError, describeProblem } from './api.ts';
import { go, readRoute, toHash } from './hash-route.ts';
import { fill, texts } from './texts/index.ts';

import './sign-in-with.css';

const t = texts.app.signInWith;

/** What a sign-in is for, as in the API (`workers/identity/sign-in/proof.ts`). */
export type SignInPurpose = 'mail' | 'operator' | 'storage' | 'bind' | 'confirm';

/** Leaves the page for the provider's. */
export async function startSignIn(purpose: SignInPurpose): Promise<void> {
  const { url } = await callJson<{ url: string }>('/v1/auth/oidc', { body: { purpose } });
  location.assign(url);
}

/** The button that starts a sign-in, with the name of the provider. */
export function SignInWith(props: { name: string; purpose: SignInPurpose; onError: (text: string) => void }) {
  const { name, purpose, onError } = props;
  const [isBusy, setBusy] = useState(false);
  const start = () => {
    setBusy(true);
    startSignIn(purpose).catch((cause: unknown) => {
      setBusy(false);
      onError(describeError(cause));
    });
  };
  return (
    <button type="button" className="primary" disabled={isBusy} onClick={start}>
      <span className="ellipsis">{fill(t.button, { name })}</span>
    </button>
  );
}

/** Why a sign-in failed. */
export function SignInFailure({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <p className="error-box" role="alert">
      {text}
    </p>
  );
}

/** The button that signs in with the token of Cloudflare Access. @param signIn calls the route of the page. */
export function SignInWithAccess({
  signIn,
  onError,
}: {
  signIn: () => Promise<void>;
  onError: (text: string) => void;
}) {
  return (
    <button type="button" onClick={() => void signIn().catch((cause: unknown) => onError(describeError(cause)))}>
      {t.access}
    </button>
  );
}

type Finish = Partial<Record<SignInPurpose, () => Promise<void>>>;

/**
 * Finishes a sign-in when the provider led back to this page: `#/signed-in/<purpose>`, or `#/sign-in-failed/<code>`.
 * @param finish takes what the provider said, for each purpose of the page.
 * @returns whether a sign-in is being finished, and why it failed.
 */
export function useSignInReturn(finish: Finish): { isFinishing: boolean; error: string | null } {
  const [[step, what = '']] = useState(() => readRoute().parts);
  const run = step === 'signed-in' ? finish[what as SignInPurpose] : undefined;
  const [state, setState] = useState({
    isFinishing: run !== undefined,
    error: step === 'sign-in-failed' ? describeProblem(401, { code: what }) : null,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the proof is taken once
  useEffect(() => {
    if (step !== 'signed-in' && step !== 'sign-in-failed') return;
    go(toHash([]), { replace: true });
    run?.().then(
      () => setState({ isFinishing: false, error: null }),
      (cause: unknown) => setState({ isFinishing: false, error: describeError(cause) }),
    );
  }, []);
  return state;
}
