/** Scoped tokens. A token is shown only once, because the service keeps only its hash. */
import { type FormEvent, useState } from 'react';
import type { Scope } from '../../workers/identity/principal.ts';
import { formatDateTime } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError } from '../shared/toasts.tsx';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { request, requestJson } from './token.ts';

const t = operatorTexts.tokens;

interface Token {
  token_id: string;
  name: string;
  user_id: string | null;
  scopes: Scope[];
  created_at: string;
  expires_at: string | null;
}

const scopes = () => Object.entries(t.scopes) as [Scope, string][];

export function Tokens() {
  const pages = usePages<Token>('/v1/iam/tokens');
  const [made, setMade] = useState<string | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const userId = String(form.get('user_id')).trim();
    const expires = String(form.get('expires'));
    const body = {
      name: String(form.get('name')).trim(),
      scopes: form.getAll('scope'),
      ...(userId ? { user_id: userId } : {}),
      ...(expires ? { expires_at: new Date(expires).toISOString() } : {}),
    };
    requestJson<{ token: string }>('/v1/iam/tokens', { body }).then(({ token }) => {
      setMade(token);
      element.reset();
      pages.reload();
    }, showError);
  };
  const revoke = (token: Token) => {
    if (!confirm(fill(t.confirmRevoke, { name: token.name }))) return;
    request(`/v1/iam/tokens/${encodeURIComponent(token.token_id)}`, { method: 'DELETE' }).then(pages.reload, showError);
  };
  return (
    <section className="stack" aria-label={t.tokens}>
      <h2>{t.tokens}</h2>
      <form className="card stack" onSubmit={create}>
        <label className="field">
          <span>{t.name}</span>
          <input name="name" required maxLength={128} />
        </label>
        <fieldset>
          <legend>{t.whatMayDo}</legend>
          {scopes().map(([scope, meaning]) => (
            <label key={scope} className="check">
              <input type="checkbox" name="scope" value={scope} />
              <code>{scope}</code> <span className="muted small">{meaning}</span>
            </label>
          ))}
        </fieldset>
        <div className="row wrap two-fields">
          <label className="field grow">
            <span>{t.userId}</span>
            <input name="user_id" />
          </label>
          <label className="field grow">
            <span>{t.expires}</span>
            <input name="expires" type="datetime-local" />
          </label>
        </div>
        <div>
          <button type="submit" className="primary">
            {t.makeToken}
          </button>
        </div>
        {made && (
          <div className="small" role="status">
            <p>{t.once}</p>
            <pre>{made}</pre>
          </div>
        )}
      </form>
      <PagedList pages={pages} empty={t.noTokenYet}>
        {(token) => (
          <li key={token.token_id} className="row wrap">
            <strong dir="auto" translate="no">
              {token.name}
            </strong>
            {token.scopes.map((scope) => (
              <span key={scope} className="badge">
                {scope}
              </span>
            ))}
            <span className="muted small grow">
              {formatDateTime(token.created_at)}
              {token.expires_at && fill(t.until, { expiresAt: formatDateTime(token.expires_at) })}
            </span>
            <button type="button" className="quiet small" onClick={() => revoke(token)}>
              {t.revoke}
              <span className="visually-hidden" translate="no">
                {' '}
                {token.name}
              </span>
            </button>
          </li>
        )}
      </PagedList>
    </section>
  );
}
