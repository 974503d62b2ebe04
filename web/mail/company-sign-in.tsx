/** Ways into mail besides the password: the company's account, Cloudflare Access and a passkey. */

import { useEffect } from 'react';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { callJson, describeError } from '../shared/api.ts';
import { go, toHash } from '../shared/hash-route.ts';
import { isPasskeySupported } from '../shared/passkeys.ts';
import { SignInFailure, SignInWith, SignInWithAccess, useSignInReturn } from '../shared/sign-in-with.tsx';
import { useStore } from '../shared/store.ts';
import { texts } from '../shared/texts/index.ts';
import { mailTexts } from '../shared/texts/mail.ts';
import { showToast } from '../shared/toasts.tsx';
import { resumeAsked } from './model/asked-connection.ts';
import { signInWithPasskey } from './model/passkeys.ts';
import { resumeSession, session } from './model/session.ts';

const t = mailTexts.signIn;

interface Shown {
  config: WebConfig | null;
  onError: (text: string) => void;
}

/** Takes what the provider said when it leads back to this page. */
const RETURNS = {
  mail: async () => {
    await callJson('/v1/auth/oidc/session', { method: 'POST' });
    resumeAsked();
    await resumeSession();
  },
  bind: async () => {
    go(toHash(['settings', 'security']), { replace: true });
    await callJson('/v1/me/sign-ins', { method: 'POST' });
    showToast(texts.app.signInWith.connected);
  },
  confirm: async () => {
    await callJson('/v1/auth/oidc/confirm', { method: 'POST' });
    if (!resumeAsked()) go(toHash(['settings', 'security']), { replace: true });
    showToast(texts.app.signInWith.confirmed);
  },
};

/** Finishes a sign-in when the provider leads back. In a mailbox that is open, a failure is a toast. */
export function useReturnToMail() {
  const status = useStore(session, (state) => state.status);
  const returned = useSignInReturn(RETURNS);
  useEffect(() => {
    if (status === 'in' && returned.error !== null) showToast(returned.error, { bad: true });
  }, [status, returned.error]);
  return returned;
}

const signInWithAccess = () => callJson('/v1/auth/access', { method: 'POST' }).then(resumeSession);

/** The buttons of the provider and of Access, if the deployment has them. */
export function CompanyButtons({ config, onError }: Shown) {
  if (!config?.sign_in_with && !config?.access) return null;
  return (
    <>
      {config.sign_in_with && <SignInWith name={config.sign_in_with} purpose="mail" onError={onError} />}
      {config.access && <SignInWithAccess signIn={signInWithAccess} onError={onError} />}
      {config.passwords && <p className="or muted small">{texts.app.signInWith.or}</p>}
    </>
  );
}

export function PasskeyButton({ onError }: { onError: (text: string) => void }) {
  if (!isPasskeySupported()) return null;
  return (
    <button type="button" onClick={() => void signInWithPasskey().catch((cause) => onError(describeError(cause)))}>
      {t.signInWithPasskey}
    </button>
  );
}

/** The sign-in of a deployment without passwords. */
export function PasswordlessSignIn({ config, onError, error }: Shown & { error: string | null }) {
  return (
    <div className="card sign-in stack">
      <h1>{t.signInToMail}</h1>
      <CompanyButtons config={config} onError={onError} />
      <SignInFailure text={error} />
      <PasskeyButton onError={onError} />
    </div>
  );
}
