/** Logs the state of the outgoing queue once a minute, for alerts. */

import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import { minOrNull } from '../../shared/stores/directories.ts';
import { recordGauge } from '../../shared/telemetry/counters.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { diagnoseQueue } from '../domain/recipient-state.ts';
import { type QueueGroup, readQueueGroups } from '../store/queue-store.ts';

/** Maximum of destinations that are read: the largest ones. The others are small in comparison. */
const DESTINATIONS_MAX = 200;
const DESTINATIONS_LOGGED = 10;

export interface QueueSummary {
  /** Number of waiting recipients. */
  readonly size: number;
  readonly messages: number;
  readonly sizeBytes: number;
  readonly held: number;
  readonly queued: number;
  readonly deferred: number;
  readonly oldestAgeMs: number;
  /** Time for which the oldest due recipient has waited for its attempt. */
  readonly dueLagMs: number;
  readonly waitingForConsumer: number;
  readonly waitingForServer: number;
  readonly diagnosis: ReturnType<typeof diagnoseQueue>;
}

export function summarize(groups: readonly QueueGroup[], now: number): QueueSummary {
  const sum = (of: (group: QueueGroup) => number) => groups.reduce((total, group) => total + of(group), 0);
  const oldest = (of: (group: QueueGroup) => number | null) =>
    groups.reduce((age, group) => Math.max(age, now - (of(group) ?? now)), 0);
  const dueLagMs = oldest((group) => group.oldestDueAt);
  const deferred = sum((group) => group.deferred);
  return {
    size: sum((group) => group.held + group.queued + group.deferred),
    messages: sum((group) => group.messages),
    sizeBytes: sum((group) => group.sizeBytes),
    held: sum((group) => group.held),
    queued: sum((group) => group.queued),
    deferred,
    oldestAgeMs: oldest((group) => group.oldestAt),
    dueLagMs,
    waitingForConsumer: sum((group) => group.waitingForConsumer),
    waitingForServer: sum((group) => group.waitingForServer),
    diagnosis: diagnoseQueue({ dueLagMs, deferred, due: sum((group) => group.due) }),
  };
}

/** Reads the queue of all databases by destination, the destinations with the most messages first. */
async function listGroups(env: Env, now: number): Promise<QueueGroup[]> {
  const reads = boundDirectories(env).map((database) => readQueueGroups(database, now, DESTINATIONS_MAX));
  const merged = new Map<string, QueueGroup>();
  for (const group of (await Promise.all(reads)).flat()) {
    const other = merged.get(group.destination);
    merged.set(group.destination, other === undefined ? group : addGroup(other, group));
  }
  return [...merged.values()].sort((a, b) => b.messages - a.messages).slice(0, DESTINATIONS_MAX);
}

const addGroup = (a: QueueGroup, b: QueueGroup): QueueGroup => ({
  destination: a.destination,
  held: a.held + b.held,
  queued: a.queued + b.queued,
  deferred: a.deferred + b.deferred,
  messages: a.messages + b.messages,
  sizeBytes: a.sizeBytes + b.sizeBytes,
  oldestAt: Math.min(a.oldestAt, b.oldestAt),
  oldestDueAt: minOrNull(a.oldestDueAt, b.oldestDueAt),
  due: a.due + b.due,
  waitingForConsumer: a.waitingForConsumer + b.waitingForConsumer,
  waitingForServer: a.waitingForServer + b.waitingForServer,
  lastReply: a.lastReply ?? b.lastReply,
});

export async function readQueue(env: Env): Promise<{ summary: QueueSummary; groups: QueueGroup[]; now: number }> {
  const now = createClock(env)();
  const groups = await listGroups(env, now);
  return { summary: summarize(groups, now), groups, now };
}

/** Where outgoing mail waits, and what limits its consumers. */
export interface Waiting
  extends Pick<QueueSummary, 'waitingForConsumer' | 'waitingForServer' | 'dueLagMs' | 'diagnosis'> {
  /** Messages in the queue that no consumer has finished, as the platform counts them; null if it does not say. */
  readonly hints: number | null;
  /** Consumers that may run at the same time; null if only the platform limits them. */
  readonly consumersMax: number | null;
}

export async function readWaiting(env: Env): Promise<Waiting> {
  const [{ summary }, hints] = await Promise.all([readQueue(env), countHints(env)]);
  const { waitingForConsumer, waitingForServer, dueLagMs, diagnosis } = summary;
  const consumersMax = settingsOf(env).MAIL_CONSUMERS ?? null;
  return { waitingForConsumer, waitingForServer, dueLagMs, diagnosis, hints, consumersMax };
}

/** A failure of this count is no failure of mail, so it is only logged. */
async function countHints(env: Env): Promise<number | null> {
  try {
    return (await env.MAIL_OUTBOUND.metrics()).backlogCount;
  } catch (error) {
    logError('queue_metrics_failed', error);
    return null;
  }
}

/** Gauges of the outgoing queue, for Prometheus. */
export async function readMailGauges(env: Env) {
  const [{ summary }, hints] = await Promise.all([readQueue(env), countHints(env)]);
  const { held, queued, deferred, oldestAgeMs, dueLagMs, waitingForConsumer, waitingForServer } = summary;
  const toGauge = (name: string, help: string, samples: { labels: Record<string, string>; value: number }[]) => ({
    name,
    type: 'gauge' as const,
    help,
    samples,
  });
  return [
    toGauge(
      'tessera_mail_recipients_waiting',
      'Recipients of outgoing mail that wait, by state.',
      Object.entries({ held, queued, deferred }).map(([state, value]) => ({ labels: { state }, value })),
    ),
    toGauge('tessera_mail_oldest_age_seconds', 'Age of the oldest waiting recipient.', [
      { labels: {}, value: oldestAgeMs / 1000 },
    ]),
    toGauge(
      'tessera_mail_waiting',
      'Recipients of outgoing mail that are due and wait for a consumer, and that wait for their server.',
      Object.entries({ consumer: waitingForConsumer, server: waitingForServer }).map(([what, value]) => ({
        labels: { for: what },
        value,
      })),
    ),
    ...(hints === null
      ? []
      : [toGauge('tessera_mail_hints', 'Messages in the queue of outgoing mail.', [{ labels: {}, value: hints }])]),
    toGauge('tessera_mail_due_lag_seconds', 'How long the oldest due recipient has waited for its attempt.', [
      { labels: {}, value: dueLagMs / 1000 },
    ]),
  ];
}

export async function logQueue(env: Env): Promise<void> {
  const { summary, groups, now } = await readQueue(env);
  recordGauge(env, 'mail_oldest_age_seconds', summary.oldestAgeMs / 1000);
  if (summary.messages === 0) return;
  const { sizeBytes, oldestAgeMs, dueLagMs, waitingForConsumer, waitingForServer, ...counts } = summary;
  logInfo('mail_queue_measured', {
    ...counts,
    size_bytes: sizeBytes,
    oldest_age_ms: oldestAgeMs,
    due_lag_ms: dueLagMs,
    waiting_for_consumer: waitingForConsumer,
    waiting_for_server: waitingForServer,
  });
  for (const group of groups.slice(0, DESTINATIONS_LOGGED)) {
    const { deferred, queued, held, messages } = group;
    const { diagnosis } = summarize([group], now);
    logInfo('mail_queue_destination_measured', {
      destination: group.destination,
      messages,
      held,
      queued,
      deferred,
      diagnosis,
    });
  }
}
