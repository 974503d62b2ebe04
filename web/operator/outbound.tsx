/** Outgoing mail: what is queued, where and why it is stuck, what failed, and retries. */
import { describeError } from '../shared/api.ts';
import { formatBytes, formatCount, formatDateTime, formatDuration, formatRelative } from '../shared/format.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { SectionHead } from './section-head.tsx';
import { request, requestJson } from './token.ts';

type Diagnosis = 'healthy' | 'recipient_down' | 'too_few_consumers';

interface Counts {
  held: number;
  queued: number;
  deferred: number;
}
interface Queue {
  size: number;
  messages: number;
  bytes: number;
  oldest_age_seconds: number;
  diagnosis: Diagnosis;
  states: Counts;
  destinations: (Counts & {
    destination: string;
    messages: number;
    oldest_age_seconds: number;
    last_reply: string | null;
    diagnosis: Diagnosis;
  })[];
  data: (Counts & {
    id: string;
    kind: string;
    destination: string;
    size: number;
    queued_at: string;
    next_attempt_at: string | null;
    last_reply: string | null;
  })[];
  next_cursor: string | null;
}
interface Failure {
  id: string;
  kind: string;
  code: string;
  detail: string;
  recipients: string[];
  created_at: string;
}

const DIAGNOSES: Record<Diagnosis, [string, string]> = {
  healthy: ['Flowing', 'badge good'],
  recipient_down: ['Recipients put it off', 'badge warn'],
  too_few_consumers: ['Too few senders at work', 'badge bad'],
};

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div className="card figure-card">
      <strong>{value}</strong>
      <span className="muted small">{label}</span>
    </div>
  );
}

/** @param recipients the failed recipients to retry; null retries those that wait, or submits a refused request again. */
function retry(id: string, recipients: readonly string[] | null, done: () => void): void {
  const path = `/v1/outbound/${encodeURIComponent(id)}/retry`;
  request(path, { method: 'POST', ...(recipients ? { body: { recipients } } : {}) }).then(
    () => {
      showToast('It is tried again now.');
      done();
    },
    (error: unknown) => showToast(describeError(error), { bad: true }),
  );
}

function QueueView({ queue, reload }: { queue: Queue; reload: () => void }) {
  const [text, badge] = DIAGNOSES[queue.diagnosis];
  const most = Math.max(1, ...queue.destinations.map((one) => one.messages));
  return (
    <>
      <div className="figures-row">
        <Figure label="recipients wait" value={formatCount(queue.size)} />
        <Figure label="oldest" value={queue.size === 0 ? '–' : formatDuration(queue.oldest_age_seconds)} />
        <Figure label="queued" value={formatCount(queue.states.queued)} />
        <Figure label="put off" value={formatCount(queue.states.deferred)} />
        <Figure label="held" value={formatCount(queue.states.held)} />
        <Figure label="in all" value={formatBytes(queue.bytes)} />
      </div>
      <p role="status">
        <span className={badge}>{text}</span>
      </p>
      {queue.destinations.length > 0 && (
        <section className="card stack" aria-label="By destination">
          <h3>By destination</h3>
          <div className="bars">
            {queue.destinations.map((one) => (
              <div key={one.destination} className="bar-line">
                <span>{one.destination}</span>
                <meter
                  min={0}
                  max={most}
                  value={one.messages}
                  aria-label={`${one.destination}: ${one.messages} messages`}
                />
                <span className="muted small">
                  {formatCount(one.messages)}, oldest {formatDuration(one.oldest_age_seconds)}
                </span>
                {one.last_reply && <code className="muted last-reply">{one.last_reply}</code>}
              </div>
            ))}
          </div>
        </section>
      )}
      {queue.data.length > 0 && (
        <ul className="card plain-lines" aria-label="Waiting messages">
          {queue.data.map((one) => (
            <li key={one.id} className="row wrap">
              <strong>{one.destination}</strong>
              <span className="badge">{one.kind}</span>
              <span className="muted small grow">
                {formatBytes(one.size)}, since {formatDateTime(one.queued_at)}
                {one.next_attempt_at && `, next attempt ${formatRelative(one.next_attempt_at)}`}
              </span>
              <button type="button" className="small" onClick={() => retry(one.id, null, reload)}>
                Try now
              </button>
              {one.last_reply && <code className="muted last-reply">{one.last_reply}</code>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Outbound() {
  const queue = useLoaded(() => requestJson<Queue>('/v1/outbound'), []);
  const errors = usePages<Failure>('/v1/outbound/errors');
  const reload = () => {
    queue.reload();
    errors.reload();
  };
  return (
    <section className="stack" aria-label="Outbound mail">
      <SectionHead title="Outbound queue" onReload={reload} />
      {queue.error && <p className="error-box">{queue.error}</p>}
      {queue.value && <QueueView queue={queue.value} reload={reload} />}
      <h2>Error queue</h2>
      <PagedList pages={errors} label="Failed messages" empty="Nothing has failed.">
        {(one) => (
          <li key={one.id} className="row wrap">
            <span className="badge bad">{one.code}</span>
            <span className="grow">
              {one.detail} <span className="muted small">{one.recipients.join(', ')}</span>
            </span>
            <span className="muted small">{formatDateTime(one.created_at)}</span>
            <button
              type="button"
              className="small"
              onClick={() => retry(one.id, one.kind === 'delivery' ? one.recipients : null, reload)}
            >
              Try again
            </button>
          </li>
        )}
      </PagedList>
    </section>
  );
}

interface Quarantined {
  id: string;
  from: string;
  to: string;
  subject: string;
  size: number;
  virus: { verdict?: string; reasons?: { text: string }[] };
  created_at: string;
}

export function Quarantine() {
  const pages = usePages<Quarantined>('/v1/quarantine');
  const path = (one: Quarantined) => `/v1/quarantine/${encodeURIComponent(one.id)}`;
  const release = (one: Quarantined) => {
    if (!confirm(`Deliver “${one.subject}” to ${one.to} after all? It may do harm.`)) return;
    request(`${path(one)}/release`, { method: 'POST' }).then(pages.reload, showError);
  };
  const destroy = (one: Quarantined) => {
    if (confirm(`Destroy “${one.subject}”?`)) request(path(one), { method: 'DELETE' }).then(pages.reload, showError);
  };
  return (
    <section className="stack" aria-label="Quarantine">
      <h2>Quarantine</h2>
      <p className="muted">Messages with a virus or a kind of file that is not let through.</p>
      <PagedList pages={pages} empty="Nothing is held back.">
        {(one) => (
          <li key={one.id} className="row wrap">
            <span className="grow">
              <strong>{one.subject || '(no subject)'}</strong>{' '}
              <span className="muted small">
                {one.from} to {one.to}, {formatBytes(one.size)}, {formatDateTime(one.created_at)}
              </span>
              <span className="small danger-text reason">
                {one.virus.reasons?.map((reason) => reason.text).join(' · ')}
              </span>
            </span>
            <button type="button" className="quiet small" onClick={() => release(one)}>
              Deliver after all
            </button>
            <button type="button" className="quiet small" onClick={() => destroy(one)}>
              Destroy
            </button>
          </li>
        )}
      </PagedList>
    </section>
  );
}
