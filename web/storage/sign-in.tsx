/** Sign-in with an access key. The key is tested before it is stored. */
import { type FormEvent, useState } from 'react';
import { describeError } from '../shared/api.ts';
import { loadConfig } from '../shared/config.ts';
import { setKey } from './key.ts';
import { listBuckets } from './s3.ts';

export function SignIn() {
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      if (!globalThis.crypto?.subtle) throw new Error('Browsers sign requests on https and localhost only.');
      const config = await loadConfig();
      const key = {
        accessKeyId: String(form.get('access_key_id')).trim(),
        secretAccessKey: String(form.get('secret_access_key')).trim(),
        endpoint: config.storage_endpoint ?? location.origin,
      };
      await listBuckets(key);
      setKey(key);
    } catch (cause) {
      setError(describeError(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="card sign-in stack" onSubmit={submit}>
      <h1>Sign in to storage</h1>
      <p className="muted small">
        Your secret stays in this browser. It is gone when you close the last tab of this page.
      </p>
      <label className="field">
        <span>Access key</span>
        <input name="access_key_id" required autoComplete="username" spellCheck={false} />
      </label>
      <label className="field">
        <span>Secret access key</span>
        <input name="secret_access_key" type="password" required autoComplete="off" />
      </label>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      <button type="submit" className="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}
