/** Users and their access keys. A secret key is shown only once. */
import { type FormEvent, useState } from 'react';
import { isServed, useConfig } from '../shared/config.ts';
import { formatDateTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { Account } from './account.tsx';
import { Once } from './once.tsx';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { request, requestJson } from './token.ts';
import type { User } from './types.ts';

const t = operatorTexts.accounts;
interface AccessKey {
  access_key_id: string;
  created_at: string;
}

function Keys({ userId }: { userId: string }) {
  const { data, error, reload } = usePages<AccessKey>(`/v1/iam/users/${encodeURIComponent(userId)}/access-keys`);
  const [made, setMade] = useState<{ access_key_id: string; secret_access_key: string } | null>(null);
  const create = () =>
    requestJson<{ access_key_id: string; secret_access_key: string }>(
      `/v1/iam/users/${encodeURIComponent(userId)}/access-keys`,
      { body: {} },
    ).then((key) => {
      setMade(key);
      reload();
    }, showError);
  const revoke = (keyId: string) => {
    if (!confirm(fill(t.confirmRevoke, { keyId }))) return;
    request(`/v1/iam/access-keys/${encodeURIComponent(keyId)}`, { method: 'DELETE' }).then(reload, showError);
  };
  return (
    <section className="stack" aria-label={t.keys}>
      <h3>{t.keys}</h3>
      {error && <p className="error-box">{error}</p>}
      {made && (
        <div className="card small" role="status">
          <p>{t.secretOnce}</p>
          <pre>{fill(t.newKey, { key: made.access_key_id, secret: made.secret_access_key })}</pre>
        </div>
      )}
      <ul className="plain-lines">
        {data?.map((key) => (
          <li key={key.access_key_id} className="row wrap">
            <code>{key.access_key_id}</code>
            <span className="muted small grow">{formatDateTime(key.created_at)}</span>
            <button type="button" className="quiet small" onClick={() => revoke(key.access_key_id)}>
              {t.revoke}
            </button>
          </li>
        ))}
        {data?.length === 0 && <li className="muted small">{t.noAccessKey}</li>}
      </ul>
      <div>
        <button type="button" className="small" onClick={() => void create()}>
          {t.newAccessKey}
        </button>
      </div>
    </section>
  );
}

export function Users() {
  const pages = usePages<User>('/v1/iam/users');
  const config = useConfig();
  const [open, setOpen] = useState<string | null>(null);
  const [invite, setInvite] = useState<{ invite: string; expires_at: string } | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const [name, userName] = ['name', 'user_name'].map((field) => String(fields.get(field)).trim());
    requestJson<User>('/v1/iam/users', { body: { name, ...(userName ? { user_name: userName } : {}) } }).then(
      (user) => {
        form.reset();
        setOpen(user.user_id);
        pages.reload();
      },
      showError,
    );
  };
  const createInvite = () =>
    requestJson<{ invite: string; expires_at: string }>('/v1/invites', { method: 'POST' }).then(setInvite, showError);
  const remove = (user: User) => {
    if (!confirm(fill(t.confirmDelete, { name: user.name }))) return;
    request(`/v1/iam/users/${encodeURIComponent(user.user_id)}`, { method: 'DELETE' }).then(() => {
      showToast(t.userDeleted);
      pages.reload();
    }, showError);
  };
  return (
    <section className="stack" aria-label={t.title}>
      <div className="row wrap">
        <h2 className="grow">{t.title}</h2>
        {isServed(config, 'mail') && (
          <button type="button" onClick={() => void createInvite()}>
            {t.invite}
          </button>
        )}
      </div>
      {invite && <Once about={fill(t.inviteText, { date: formatDateTime(invite.expires_at) })} text={invite.invite} />}
      <form className="row wrap short-form" onSubmit={create}>
        <input name="name" required maxLength={128} aria-label={t.nameNewUser} placeholder={t.newUserHint} />
        <input
          name="user_name"
          maxLength={64}
          pattern="[A-Za-z0-9+=,.@_\-]*"
          aria-label={t.policyName}
          placeholder={t.policyNameHint}
        />
        <button type="submit" className="primary">
          {t.makeUser}
        </button>
      </form>
      <PagedList pages={pages} empty={t.noUserYet}>
        {(user) => (
          <li key={user.user_id}>
            <div className="row wrap">
              <button
                type="button"
                className="quiet"
                aria-expanded={open === user.user_id}
                onClick={() => setOpen(open === user.user_id ? null : user.user_id)}
              >
                {user.name}
              </button>
              <span className="muted small">{user.email}</span>
              {user.user_name !== user.user_id && <code className="small">{user.user_name}</code>}
              <code className="muted identifier">{user.user_id}</code>
              <span className="muted small">{formatDateTime(user.created_at)}</span>
              <button type="button" className="quiet small" onClick={() => remove(user)}>
                {t.delete}
                <span className="visually-hidden"> {user.name}</span>
              </button>
            </div>
            {open === user.user_id && (
              <div className="stack nested">
                <Keys userId={user.user_id} />
                <Account user={user} />
              </div>
            )}
          </li>
        )}
      </PagedList>
    </section>
  );
}
