/** Sending: what keeps mail from leaving through Email Service, the month's mail, where mail waits, complaints with held accounts, and suppressions. */
import { type FormEvent, useState } from 'react';
import { ApiError } from '../shared/api.ts';
import { Dialog } from '../shared/dialog.tsx';
import { FormButtons } from '../shared/form-buttons.tsx';
import { formatCount, formatDateTime, formatDuration } from '../shared/format.ts';
import { fill, plural } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { SectionHead } from './section-head.tsx';
import { request, requestJson } from './token.ts';

const t = operatorTexts.sending;
const DOLLARS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

interface Waiting {
  for_consumer: number;
  for_server: number;
  due_lag_seconds: number;
  hints: number | null;
  consumers_max: number | null;
  diagnosis: 'healthy' | 'recipient_down' | 'too_few_consumers';
}

interface State {
  waiting: Waiting;
  problems: {
    domain: string;
    code: keyof typeof t.problems;
    command: string | null;
    reply: string | null;
    at: string;
  }[];
  month: { recipients: number; limit: number; dollars: number; limit_dollars: number };
}

function WaitingFigures({ waiting }: { waiting: Waiting }) {
  const { due_lag_seconds: lag, hints, consumers_max: max, diagnosis } = waiting;
  const figures: [string, string][] = [
    [formatCount(waiting.for_consumer), t.waitingForConsumer],
    [waiting.for_consumer === 0 ? '–' : formatDuration(lag), t.dueLag],
    [formatCount(waiting.for_server), t.waitingForServer],
    [hints === null ? '–' : formatCount(hints), t.hints],
    [max === null ? t.anyConsumers : formatCount(max), t.consumers],
  ];
  return (
    <section className="stack" aria-label={t.waiting}>
      <h2>{t.waiting}</h2>
      <div className="figures-row">
        {figures.map(([value, label]) => (
          <div key={label} className="card figure-card">
            <strong>{value}</strong>
            <span className="muted small">{label}</span>
          </div>
        ))}
      </div>
      {diagnosis === 'too_few_consumers' && <p className="error-box">{t.tooFewConsumers}</p>}
    </section>
  );
}

function SendingState({ state: { problems, month } }: { state: State }) {
  const figures: [string, string][] = [
    [formatCount(month.recipients), fill(t.recipients, { limit: formatCount(month.limit) })],
    [DOLLARS.format(month.dollars), t.price],
    [DOLLARS.format(month.limit_dollars), t.limitPrice],
  ];
  return (
    <>
      {problems.length === 0 ? (
        <p role="status">
          <span className="badge good">{t.noProblem}</span>
        </p>
      ) : (
        <ul className="card plain-lines problems" aria-label={t.domainProblems}>
          {problems.map(({ domain, code, command, reply, at }) => (
            <li key={`${domain} ${code}`} className="stack" data-bad={code === 'not_allowed' || undefined}>
              <span className="row wrap">
                <strong>{domain}</strong>
                <span className="grow">{t.problems[code]}</span>
                <span className="muted small">{formatDateTime(at)}</span>
              </span>
              {command && (
                <>
                  <span className="muted small">{t.repair}</span>
                  <code className="record-value">{command}</code>
                </>
              )}
              {reply && <code className="muted last-reply">{reply}</code>}
            </li>
          ))}
        </ul>
      )}
      <div className="figures-row">
        {figures.map(([value, label]) => (
          <div key={label} className="card figure-card">
            <strong>{value}</strong>
            <span className="muted small">{label}</span>
          </div>
        ))}
      </div>
      <meter
        className="wide-meter"
        min={0}
        max={Math.max(1, month.limit)}
        value={month.recipients}
        aria-label={t.use}
      />
      <p className="muted small">{t.monthText}</p>
    </>
  );
}

interface Complaint {
  user_id: string;
  email: string | null;
  domain: string;
  complaints: number;
  last_at: string;
  held: boolean;
}

function Complaints() {
  const { value, error, reload } = useLoaded(() => requestJson<{ data: Complaint[] }>('/v1/outbound/complaints'), []);
  const release = (userId: string, name: string) => {
    if (!confirm(fill(t.confirmRelease, { name }))) return;
    request(`/v1/outbound/complaints/${encodeURIComponent(userId)}/release`, { method: 'POST' }).then(() => {
      showToast(t.released);
      reload();
    }, showError);
  };
  return (
    <section className="stack" aria-label={t.complaints}>
      <SectionHead title={t.complaints} onReload={reload} />
      <p className="muted small">{t.complaintsText}</p>
      {error && <p className="error-box">{error}</p>}
      <ul className="card plain-lines" aria-label={t.complaints}>
        {value?.data.map(({ user_id: userId, email, domain, complaints, last_at, held }) => (
          <li key={`${userId} ${domain}`} className="row wrap">
            <span className="identifier">
              <strong>{email ?? userId}</strong>{' '}
              <span className="muted small">
                {fill(t.complaintsOf, {
                  complaints: plural(t.complaintCount, complaints),
                  domain,
                  lastAt: formatDateTime(last_at),
                })}
              </span>
            </span>
            {held && (
              <>
                <span className="badge bad">{t.held}</span>
                <button type="button" className="small" onClick={() => release(userId, email ?? userId)}>
                  {t.release}
                  <span className="visually-hidden"> {email ?? userId}</span>
                </button>
              </>
            )}
          </li>
        ))}
        {value?.data.length === 0 && <li className="muted">{t.noComplaint}</li>}
      </ul>
    </section>
  );
}

interface Suppression {
  id: string;
  email: string;
  reason: string;
  domain: string | null;
  created_at: string;
  until: string | null;
  read_only: boolean;
}

const toReason = (reason: string): string => t.reasons[reason as keyof typeof t.reasons] ?? reason;

/** Asks for the reason, which a complaint needs. */
function LiftDialog({ entry, onClose, onDone }: { entry: Suppression; onClose: () => void; onDone: () => void }) {
  const isComplaint = entry.reason === 'complaint';
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = String(new FormData(event.currentTarget).get('reason')).trim();
    const body = reason === '' ? {} : { reason };
    request(`/v1/outbound/suppressions/${encodeURIComponent(entry.id)}/lift`, { method: 'POST', body }).then(() => {
      showToast(fill(t.lifted, { email: entry.email }));
      onDone();
    }, showError);
  };
  return (
    <Dialog title={fill(t.liftTitle, { email: entry.email })} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{isComplaint ? t.liftComplaintText : t.liftText}</p>
        <label className="field">
          <span>{isComplaint ? t.liftReason : t.liftReasonOptional}</span>
          <input name="reason" required={isComplaint} maxLength={500} />
        </label>
        <FormButtons onCancel={onClose} submit={t.lift} />
      </form>
    </Dialog>
  );
}

function SuppressionList({ email }: { email: string }) {
  const query = email === '' ? '' : `?email=${encodeURIComponent(email)}`;
  const pages = usePages<Suppression>(`/v1/outbound/suppressions${query}`);
  const [lifting, setLifting] = useState<Suppression | null>(null);
  return (
    <>
      <PagedList pages={pages} label={t.suppressions} empty={t.noSuppression}>
        {(entry) => (
          <li key={entry.id} className="row wrap">
            <span className="identifier">
              <strong>{entry.email}</strong>{' '}
              <span className="muted small">
                {entry.until === null ? t.noEnd : fill(t.until, { until: formatDateTime(entry.until) })}{' '}
                {entry.domain === null ? t.everyDomain : fill(t.ofDomain, { domain: entry.domain })}
              </span>
            </span>
            <span className={entry.reason === 'soft_bounce' ? 'badge' : 'badge warn'}>{toReason(entry.reason)}</span>
            {entry.read_only ? (
              <span className="muted small">{t.readOnly}</span>
            ) : (
              <button type="button" className="small" onClick={() => setLifting(entry)}>
                {t.lift}
                <span className="visually-hidden"> {entry.email}</span>
              </button>
            )}
          </li>
        )}
      </PagedList>
      {lifting && (
        <LiftDialog
          entry={lifting}
          onClose={() => setLifting(null)}
          onDone={() => {
            setLifting(null);
            pages.reload();
          }}
        />
      )}
    </>
  );
}

/** @returns whether the secret CLOUDFLARE_MAIL_TOKEN is set. */
async function canReadSuppressions(): Promise<boolean> {
  try {
    await requestJson('/v1/outbound/suppressions?limit=1');
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'no_mail_token') return false;
    throw error;
  }
}

function Suppressions() {
  const { value: isReadable, error } = useLoaded(canReadSuppressions, []);
  const [email, setEmail] = useState('');
  const search = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setEmail(String(new FormData(event.currentTarget).get('email')).trim());
  };
  return (
    <section className="stack" aria-label={t.suppressions}>
      <h2>{t.suppressions}</h2>
      <p className="muted small">{t.suppressionsText}</p>
      {error && <p className="error-box">{error}</p>}
      {isReadable === false && <p className="card">{t.noToken}</p>}
      {isReadable && (
        <>
          <form className="row short-form" onSubmit={search}>
            <input name="email" type="search" aria-label={t.address} placeholder="bob@example.com" maxLength={320} />
            <button type="submit">{t.search}</button>
          </form>
          <SuppressionList key={email} email={email} />
        </>
      )}
    </section>
  );
}

export function Sending() {
  const { value, error, reload } = useLoaded(() => requestJson<State>('/v1/outbound/sending'), []);
  return (
    <div className="stack-large">
      <section className="stack" aria-label={t.title}>
        <SectionHead title={t.title} onReload={reload} />
        <p className="muted small">{t.about}</p>
        {error && <p className="error-box">{error}</p>}
        {value && <SendingState state={value} />}
      </section>
      {value && <WaitingFigures waiting={value.waiting} />}
      <Complaints />
      <Suppressions />
    </div>
  );
}
