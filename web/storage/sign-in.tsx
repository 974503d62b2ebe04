/** Sign-in with an access key, or with the session of a mailbox. The key is tested before it is stored. */
import { type FormEvent, useState } from 'react';
import type { WebConfig } from '../../workers/shared/web/web-config.ts';
import { callJson, describeError } from '../shared/api.ts';
import { isServed, loadConfig, useConfig } from '../shared/config.ts';
import { SignInFailure, SignInWith, useSignInReturn } from '../shared/sign-in-with.tsx';
import { isSignedInHere } from '../shared/signed-in.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { useLoaded } from '../shared/use-loaded.ts';
import { setKey } from './key.ts';
import { createOwnKey, findKeyEnd } from './own-key-api.ts';
import { type Key, listBuckets } from './s3.ts';

const t = storageTexts.signIn;
const OWN_KEY_AGE_MS = 12 * 3_600_000;

interface TemporaryKey {
  access_key_id: string;
  secret_access_key: string;
  session_token: string;
  expires_at: string;
}

interface Owner {
  email: string;
  name: string;
}

/** The mailbox that this browser is signed in to, or null. */
async function readMailbox(): Promise<Owner | null> {
  if (!isServed(await loadConfig(), 'mail')) return null;
  return callJson<Owner>('/v1/me').catch(() => null);
}

/** Takes the temporary key that the provider's groups give. It ends after an hour. */
async function makeTemporaryKey(): Promise<Omit<Key, 'endpoint'>> {
  const made = await callJson<TemporaryKey>('/v1/auth/oidc/storage', { method: 'POST' });
  return {
    accessKeyId: made.access_key_id,
    secretAccessKey: made.secret_access_key,
    sessionToken: made.session_token,
    expiresAt: made.expires_at,
  };
}

/** The button of the provider, if its groups give keys of storage. */
function CompanyButton(props: { config: WebConfig | null; isAlone: boolean; onError: (text: string) => void }) {
  const { config, isAlone, onError } = props;
  if (!config?.storage_sign_in || !config.sign_in_with) return null;
  return (
    <>
      <SignInWith name={config.sign_in_with} purpose="storage" onError={onError} />
      {isAlone && <p className="or muted small">{t.or}</p>}
    </>
  );
}

export function SignIn() {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { value: mailbox, isLoading } = useLoaded(readMailbox, []);
  const signIn = async (read: () => Promise<Omit<Key, 'endpoint'>>) => {
    setBusy(true);
    setError(null);
    try {
      if (!globalThis.crypto?.subtle) throw new Error(t.needsHttps);
      const config = await loadConfig();
      const key = { ...(await read()), endpoint: config.storage_endpoint ?? location.origin };
      await listBuckets(key);
      setKey(key);
    } catch (cause) {
      setError(describeError(cause));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const accessKeyId = String(form.get('access_key_id')).trim();
    const secretAccessKey = String(form.get('secret_access_key')).trim();
    void signIn(async () => {
      const expiresAt = mailbox && (await findKeyEnd(accessKeyId).catch(() => null));
      return { accessKeyId, secretAccessKey, ...(expiresAt ? { expiresAt } : {}) };
    });
  };
  const returned = useSignInReturn({ storage: () => signIn(makeTemporaryKey) });
  const config = useConfig();
  const signInWithMailbox = () =>
    signIn(async () => {
      const expiresAt = new Date(Date.now() + OWN_KEY_AGE_MS).toISOString();
      const made = await createOwnKey({ expires_at: expiresAt });
      return {
        accessKeyId: made.access_key_id,
        secretAccessKey: made.secret_access_key,
        ownerName: mailbox?.name || (mailbox?.email ?? ''),
        ownerEmail: mailbox?.email ?? '',
        expiresAt,
      };
    });
  if (returned.isFinishing) return <p className="muted loading">{storageTexts.loading}</p>;
  // The way in that this browser very likely has comes first, so nothing moves when it is known.
  if (isLoading && isSignedInHere()) return <p className="muted loading">{storageTexts.loading}</p>;
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>{t.title}</h1>
      {mailbox && (
        <>
          <button type="button" className="primary" disabled={isBusy} onClick={() => void signInWithMailbox()}>
            <span className="ellipsis">{fill(t.withMailbox, { email: mailbox.email })}</span>
          </button>
          <p className="muted small">{t.withMailboxHint}</p>
          <p className="or muted small">{t.or}</p>
        </>
      )}
      <CompanyButton config={config} isAlone={!mailbox} onError={setError} />
      <label className="field">
        <span>{t.accessKey}</span>
        <input name="access_key_id" required autoComplete="username" spellCheck={false} />
      </label>
      <label className="field">
        <span>{t.secret}</span>
        <input name="secret_access_key" type="password" required autoComplete="off" />
      </label>
      <p className="muted small">{t.about}</p>
      <SignInFailure text={error ?? returned.error} />
      <button type="submit" className={mailbox || config?.storage_sign_in ? '' : 'primary'} disabled={isBusy}>
        {t.submit}
      </button>
    </form>
  );
}
