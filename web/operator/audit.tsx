/** Shows the audit log. */
import { type FormEvent, useState } from 'react';
import { formatExact } from '../shared/format.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { usePages } from './paged.ts';

const t = operatorTexts.audit;

interface Entry {
  id: string;
  at: string;
  action: string;
  actor: { kind: string; id: string };
  target: { type: string; id: string };
  details: Record<string, string | number | boolean>;
}

const describe = (details: Entry['details']): string =>
  Object.entries(details)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
    .join(', ');

/** Table of audit entries, whose words are those of the API in every language. @param path API path from which the entries are read. */
export function AuditTable({ path }: { path: string }) {
  const { data, error, hasMore, loadMore } = usePages<Entry>(path);
  return (
    <>
      {error && <p className="error-box">{error}</p>}
      {data?.length === 0 && <p className="muted">{t.none}</p>}
      {data && data.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls is reached with the keyboard
        <section className="card scroll" tabIndex={0} aria-label={t.table}>
          <table>
            <thead>
              <tr>
                {[t.time, t.action, t.by, t.on, t.details].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.map((entry) => (
                <tr key={entry.id}>
                  <td className="nowrap">{formatExact(entry.at)}</td>
                  <td>
                    <code>{entry.action}</code>
                  </td>
                  <td title={entry.actor.id} translate="no">
                    {entry.actor.kind}{' '}
                    {entry.actor.id !== entry.actor.kind && <code>{entry.actor.id.slice(0, 8)}</code>}
                  </td>
                  <td className="audit-target" translate="no">
                    {entry.target.type} <code>{entry.target.id}</code>
                  </td>
                  <td className="small audit-details" translate="no">
                    {describe(entry.details)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {hasMore && (
        <button type="button" onClick={loadMore}>
          {t.more}
        </button>
      )}
    </>
  );
}

export function Audit() {
  const [path, setPath] = useState('/v1/audit');
  const filter = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(event.currentTarget))
      if (String(value).trim()) query.set(name, String(value).trim());
    setPath(`/v1/audit${query.size > 0 ? `?${query}` : ''}`);
  };
  return (
    <section className="stack" aria-label={t.title}>
      <h2>{t.title}</h2>
      <p className="muted small">{t.about}</p>
      <form className="row wrap end" onSubmit={filter}>
        <label className="field">
          <span>{t.action}</span>
          <input name="action" placeholder="account.suspend" spellCheck={false} />
        </label>
        <label className="field">
          <span>{t.actor}</span>
          <input name="actor" spellCheck={false} />
        </label>
        <label className="field">
          <span>{t.target}</span>
          <input name="target" spellCheck={false} />
        </label>
        <button type="submit">{t.filter}</button>
      </form>
      <AuditTable key={path} path={path} />
    </section>
  );
}
