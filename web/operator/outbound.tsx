/** Outgoing mail: queued messages, where and why they are stuck, failures, and retries. */
import { describeError } from '../shared/api.ts';
import { formatBytes, formatCount, formatDateTime, formatDuration, formatRelative } from '../shared/format.ts';
import { fill } from '../shared/texts/index.ts';
import { operatorTexts } from '../shared/texts/operator.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { useLoaded } from '../shared/use-loaded.ts';
import { usePages } from './paged.ts';
import { PagedList } from './paged-list.tsx';
import { SectionHead } from './section-head.tsx';
import { request, requestJson } from './token.ts';

const t = operatorTexts.outbound;

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
  can_retry: boolean;
}

const diagnoses = (): Record<Diagnosis, [string, string]> => ({
  healthy: [t.healthy, 'badge good'],
  recipient_down: [t.recipientsPutOff, 'badge warn'],
  too_few_consumers: [t.tooFewSendersAt, 'badge bad'],
});

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div className="card figure-card">
      <strong>{value}</strong>
      <span className="muted small">{label}</span>
    </div>
  );
}

/**
 * Retries a message.
 * @param recipients the failed recipients to retry; null retries those that wait, or submits a refused request again.
 */
function retry(id: string, recipients: readonly string[] | null, done: () => void): void {
  const path = `/v1/outbound/${encodeURIComponent(id)}/retry`;
  request(path, { method: 'POST', ...(recipients ? { body: { recipients } } : {}) }).then(
    () => {
      showToast(t.triedAgainNow);
      done();
    },
    (error: unknown) => showToast(describeError(error), { bad: true }),
  );
}

function QueueView({ queue, reload }: { queue: Queue; reload: () => void }) {
  const [text, badge] = diagnoses()[queue.diagnosis];
  const most = Math.max(1, ...queue.destinations.map((one) => one.messages));
  return (
    <>
      <div className="figures-row">
        <Figure label={t.recipientsWait} value={formatCount(queue.size)} />
        <Figure label={t.oldestUnit} value={queue.size === 0 ? '–' : formatDuration(queue.oldest_age_seconds)} />
        <Figure label={t.queued} value={formatCount(queue.states.queued)} />
        <Figure label={t.putOff} value={formatCount(queue.states.deferred)} />
        <Figure label={t.held} value={formatCount(queue.states.held)} />
        <Figure label={t.inAll} value={formatBytes(queue.bytes)} />
      </div>
      <p role="status">
        <span className={badge}>{text}</span>
      </p>
      {queue.destinations.length > 0 && (
        <section className="card stack" aria-label={t.byDestination}>
          <h3>{t.byDestination}</h3>
          <div className="bars">
            {queue.destinations.map((one) => (
              <div key={one.destination} className="bar-line">
                <span>{one.destination}</span>
                <meter
                  min={0}
                  max={most}
                  value={one.messages}
                  aria-label={fill(t.destination, { destination: one.destination, messages: one.messages })}
                />
                <span className="muted small">
                  {fill(t.waitingOldest, {
                    messages: formatCount(one.messages),
                    oldestAgeSeconds: formatDuration(one.oldest_age_seconds),
                  })}
                </span>
                {one.last_reply && <code className="muted last-reply">{one.last_reply}</code>}
              </div>
            ))}
          </div>
        </section>
      )}
      {queue.data.length > 0 && (
        <ul className="card plain-lines" aria-label={t.waitingMessages}>
          {queue.data.map((one) => (
            <li key={one.id} className="row wrap">
              <strong>{one.destination}</strong>
              <span className="badge">{one.kind}</span>
              <span className="muted small grow">
                {fill(t.waitingSince, { size: formatBytes(one.size), queuedAt: formatDateTime(one.queued_at) })}
                {one.next_attempt_at && fill(t.nextAttempt, { nextAttemptAt: formatRelative(one.next_attempt_at) })}
              </span>
              <button type="button" className="small" onClick={() => retry(one.id, null, reload)}>
                {t.tryNow}
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
    <section className="stack" aria-label={t.outboundMail}>
      <SectionHead title={t.outboundQueue} onReload={reload} />
      {queue.error && <p className="error-box">{queue.error}</p>}
      {queue.value && <QueueView queue={queue.value} reload={reload} />}
      <h2>{t.errorQueue}</h2>
      <PagedList pages={errors} label={t.failedMessages} empty={t.nothingHasFailed}>
        {(one) => (
          <li key={one.id} className="row wrap">
            <span className="badge bad">{one.code}</span>
            <span className="grow">
              {one.detail} <span className="muted small">{one.recipients.join(', ')}</span>
            </span>
            <span className="muted small">{formatDateTime(one.created_at)}</span>
            {one.can_retry && (
              <button
                type="button"
                className="small"
                onClick={() => retry(one.id, one.kind === 'delivery' ? one.recipients : null, reload)}
              >
                {t.tryAgain}
              </button>
            )}
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
    if (!confirm(fill(t.confirmDeliver, { subject: one.subject, to: one.to }))) return;
    request(`${path(one)}/release`, { method: 'POST' }).then(pages.reload, showError);
  };
  const destroy = (one: Quarantined) => {
    if (confirm(fill(t.confirmDestroy, { subject: one.subject })))
      request(path(one), { method: 'DELETE' }).then(pages.reload, showError);
  };
  return (
    <section className="stack" aria-label={t.quarantine}>
      <h2>{t.quarantine}</h2>
      <p className="muted">{t.quarantineText}</p>
      <PagedList pages={pages} empty={t.nothingHeldBack}>
        {(one) => (
          <li key={one.id} className="row wrap">
            <span className="grow">
              <strong>{one.subject || t.noSubject}</strong>{' '}
              <span className="muted small">
                {fill(t.held1, {
                  from: one.from,
                  to: one.to,
                  size: formatBytes(one.size),
                  createdAt: formatDateTime(one.created_at),
                })}
              </span>
              <span className="small danger-text reason">
                {one.virus.reasons?.map((reason) => reason.text).join(' · ')}
              </span>
            </span>
            <button type="button" className="quiet small" onClick={() => release(one)}>
              {t.deliverAfterAll}
            </button>
            <button type="button" className="quiet small" onClick={() => destroy(one)}>
              {t.destroy}
            </button>
          </li>
        )}
      </PagedList>
    </section>
  );
}
