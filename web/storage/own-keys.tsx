/** The access keys of the user. They belong to a mailbox, so its session is needed. */
import { useState } from 'react';
import { formatDateTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { storageTexts } from '../shared/texts/storage.ts';
import { showError } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { createOwnKey, type NewKey, type OwnKey, readOwnKeys, revokeOwnKey } from './own-key-api.ts';
import type { Key } from './s3.ts';
import { Snippet } from './snippet.tsx';

const t = storageTexts.keys;

function describe(key: OwnKey): string {
  return [
    fill(t.created, { date: formatDateTime(key.created_at) }),
    key.last_used_at ? fill(t.used, { date: formatDateTime(key.last_used_at) }) : t.neverUsed,
    key.expires_at ? fill(t.expires, { date: formatDateTime(key.expires_at) }) : '',
  ]
    .filter(Boolean)
    .join(', ');
}

export function OwnKeys({ accessKey }: { accessKey: Key }) {
  const { value, error, isLoading, reload } = useLoaded(readOwnKeys, []);
  const [made, setMade] = useState<NewKey | null>(null);
  const create = () =>
    createOwnKey({}).then((key) => {
      setMade(key);
      reload();
    }, showError);
  const revoke = (id: string) => {
    if (!confirm(fill(t.confirmRevoke, { key: id }))) return;
    revokeOwnKey(id).then(reload, showError);
  };
  return (
    <div className="page stack-large">
      <div className="row wrap">
        <h1 className="grow">{t.title}</h1>
        {value && (
          <button type="button" className="primary" onClick={() => void create()}>
            {t.create}
          </button>
        )}
      </div>
      <p className="muted">{t.about}</p>
      {error && (
        <p className="error-box" role="alert">
          {error}
        </p>
      )}
      {made && (
        <div className="card stack" role="status">
          <p>{t.once}</p>
          <Snippet
            accessKey={accessKey}
            label={t.title}
            text={`export AWS_ACCESS_KEY_ID=${made.access_key_id}\nexport AWS_SECRET_ACCESS_KEY=${made.secret_access_key}`}
          />
        </div>
      )}
      {!isLoading && !error && value === null && (
        <p className="banner">
          <span className="grow">{t.signInFirst}</span>
          <a className="button" href="/_/mail">
            {t.openMail}
          </a>
        </p>
      )}
      {value?.length === 0 && <p className="muted">{t.none}</p>}
      {value && value.length > 0 && (
        <ul className="card key-list">
          {value.map((key) => (
            <li key={key.access_key_id} className="row wrap">
              <span className="grow">
                <span className="mono">{key.access_key_id}</span>{' '}
                {key.access_key_id === accessKey.accessKeyId && <span className="badge good">{t.thisOne}</span>}
                <br />
                <span className="muted small">{describe(key)}</span>
              </span>
              <button type="button" className="quiet small" onClick={() => revoke(key.access_key_id)}>
                {t.revoke}
                <span className="visually-hidden"> {key.access_key_id}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
