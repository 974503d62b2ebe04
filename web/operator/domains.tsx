/** Hosted domains, the DNS records to publish (including DKIM keys), and whether DNS has them. */
import { type FormEvent, useState } from 'react';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { usePages } from './paged.ts';
import { request, requestJson } from './token.ts';

const t = operatorTexts.domains;

interface Domain {
  domain: string;
  is_hosted: boolean;
  is_configured: boolean;
  alias_of: string | null;
  catch_all: string | null;
  transport: string | null;
  is_held: boolean;
}
interface Detail extends Domain {
  dns_records: {
    type: 'TXT' | 'MX' | 'SRV';
    name: string;
    value: string | null;
    purpose: string;
    seen: boolean | null;
  }[];
}

/** By the word before the colon, which names a standard. */
function describePurpose(purpose: string): string {
  const standard = purpose.split(':')[0] ?? '';
  return t.purposes[standard as keyof typeof t.purposes] ?? purpose;
}

function Seen({ seen }: { seen: boolean | null }) {
  if (seen === null) return <span className="badge">{t.notAsked}</span>;
  return seen ? <span className="badge good">{t.seen}</span> : <span className="badge warn">{t.notSeen}</span>;
}

/** Shows how many of the domain's required records are in DNS. Each load of the domain checks them. */
function DnsState({ records, onCheck }: { records: Detail['dns_records']; onCheck: () => void }) {
  const asked = records.filter(({ seen }) => seen !== null);
  const seen = asked.filter((record) => record.seen).length;
  const values = { seen: String(seen), count: String(asked.length) };
  return (
    <div className="row wrap">
      <span role="status" className={seen === asked.length ? 'good-text grow' : 'warning-text grow'}>
        {asked.length > 0 && fill(seen === asked.length ? t.allSeen : t.someSeen, values)}
      </span>
      <button type="button" onClick={onCheck}>
        {t.check}
      </button>
    </div>
  );
}

function Copy({ text, what }: { text: string; what: string }) {
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => showToast(t.copied),
      () => showToast(t.copyRefused, { bad: true }),
    );
  return (
    <button type="button" className="quiet small" onClick={() => void copy()}>
      {t.copy}
      <span className="visually-hidden"> {fill(t.valueOfField, { what })}</span>
    </button>
  );
}

function Records({ domain }: { domain: string }) {
  const path = `/v1/domains/${encodeURIComponent(domain)}`;
  const { value, error, reload } = useLoaded(() => requestJson<Detail>(path), [domain]);
  const makeKeys = () =>
    request(`${path}/dkim-keys`, { method: 'POST' }).then(() => {
      showToast(t.keysMade);
      reload();
    }, showError);
  const hold = () => request(path, { method: 'PATCH', body: { is_held: !value?.is_held } }).then(reload, showError);
  return (
    <div className="stack nested">
      {error && <p className="error-box">{error}</p>}
      {value && (
        <>
          <p className="muted small">
            {value.alias_of ? `${fill(t.aliasOf, { aliasOf: value.alias_of })} ` : ''}
            {value.catch_all ? `${fill(t.catchAll, { catchAll: value.catch_all })} ` : ''}
            {value.transport ? fill(t.leavesBy, { transport: value.transport }) : t.usualWay}
          </p>
          <DnsState records={value.dns_records} onCheck={reload} />
          <ul className="plain-lines">
            {value.dns_records.map((record) => (
              <li key={`${record.type} ${record.name} ${record.purpose}`} className="stack">
                <span className="row wrap">
                  <span className="badge">{record.type}</span> <code>{record.name}</code>
                  <span className="muted small grow">{describePurpose(record.purpose)}</span>
                  <Seen seen={record.seen} />
                </span>
                {record.value && (
                  <span className="row wrap">
                    <code className="record-value grow">{record.value}</code>
                    <Copy text={record.value} what={`${record.type} ${record.name}`} />
                  </span>
                )}
              </li>
            ))}
          </ul>
          <div className="row wrap">
            <button type="button" onClick={() => void makeKeys()}>
              {t.makeNewDkimKeys}
            </button>
            <button type="button" aria-pressed={value.is_held} onClick={() => void hold()}>
              {value.is_held ? t.release : t.hold}
            </button>
          </div>
        </>
      )}
    </div>
  );
}

export function Domains() {
  const { data, error, reload } = usePages<Domain>('/v1/domains?limit=200');
  const [open, setOpen] = useState<string | null>(null);
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const domain = String(new FormData(form).get('domain')).trim();
    request('/v1/domains', { body: { domain } }).then(() => {
      form.reset();
      setOpen(domain);
      reload();
    }, showError);
  };
  return (
    <section className="stack" aria-label={t.domains}>
      <h2>{t.domains}</h2>
      <form className="row short-form" onSubmit={create}>
        <input name="domain" required maxLength={255} aria-label={t.newDomain} placeholder="mail.example.com" />
        <button type="submit" className="primary">
          {t.addDomain}
        </button>
      </form>
      {error && <p className="error-box">{error}</p>}
      <ul className="card plain-lines">
        {data?.map((one) => (
          <li key={one.domain}>
            <div className="row wrap">
              <button
                type="button"
                className="quiet"
                aria-expanded={open === one.domain}
                onClick={() => setOpen(open === one.domain ? null : one.domain)}
              >
                {one.domain}
              </button>
              {one.is_hosted ? (
                <span className="badge good">{t.hosted}</span>
              ) : (
                <span className="badge">{t.route}</span>
              )}
              {one.is_held && <span className="badge warn">{t.held}</span>}
            </div>
            {open === one.domain && <Records domain={one.domain} />}
          </li>
        ))}
        {data?.length === 0 && <li className="muted">{t.noDomainYet}</li>}
      </ul>
    </section>
  );
}
