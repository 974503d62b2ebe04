/**
 * The outbox of event notifications: rows that are written with the change that they report, and deleted once they are sent.
 *
 * Their ids ascend in the order of the commits of a shard. They begin with the database's clock, so that they also ascend
 * when a slot moves to another shard.
 */
import { prepare, type RowOf, readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import type { EventFacts, EventKind, StoredEvent } from '../../domain/notifications.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { event } from './schema.ts';

/** An event to insert in the batch of its change. */
export interface NewEvent {
  readonly kind: EventKind;
  readonly facts: EventFacts;
}

const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const NEXT_EVENT = `MAX(COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0) + 1, ${NOW_MS} * 1000)`;

/** SQL that inserts events. @param from SQL of a FROM clause that has the row of the bucket as `b`. */
export const insertEventsSql = (
  { key, name, kind, facts }: Readonly<Record<'key' | 'name' | 'kind' | 'facts', string>>,
  from: string,
): string => `INSERT INTO event(id, bucket, name, kind, occurred_at, facts, due_at)
  SELECT ${NEXT_EVENT} + ${key}, b.n, ${name}, ${kind}, ${NOW_MS}, ${facts}, 0 FROM ${from}`;

export interface DueEvent extends StoredEvent {
  readonly id: number;
  readonly bucketId: string;
  readonly attempts: number;
}

type EventRow = Pick<RowOf<typeof event>, 'id' | 'kind' | 'occurred_at' | 'facts' | 'attempts'> & {
  readonly bucket: string;
  readonly bucket_id: string;
  readonly name: string;
};

// An event is not listed while an earlier event of its name waits for a retry, so that the events of a name are sent in order.
const listDue = statement<{ nowMs: number; limit: number }, EventRow>(
  `SELECT e.id, b.name AS bucket, b.bucket_id, CAST(e.name AS TEXT) AS name, e.kind, e.occurred_at, e.facts, e.attempts
   FROM event e CROSS JOIN bucket b WHERE b.n = e.bucket AND e.due_at <= :nowMs AND NOT EXISTS (SELECT 1 FROM event x
     WHERE x.bucket = e.bucket AND x.name = e.name AND x.id < e.id AND x.due_at > :nowMs) ORDER BY e.id LIMIT :limit`,
);

const SEQUENCER_DIGITS = 16;

export async function selectDueEvents(context: EngineContext, shard: number, limit: number): Promise<DueEvent[]> {
  const rows = await readAll(databaseOf(context, shard), listDue, { nowMs: Math.trunc(context.now()), limit });
  return rows.map((row) => ({
    id: row.id,
    bucketId: row.bucket_id,
    attempts: row.attempts,
    kind: row.kind,
    bucket: row.bucket,
    name: row.name,
    occurredAt: row.occurred_at,
    sequencer: row.id.toString(16).toUpperCase().padStart(SEQUENCER_DIGITS, '0'),
    facts: JSON.parse(row.facts) as EventFacts,
  }));
}

const findDue = statement<{ nowMs: number }, { id: number }>('SELECT id FROM event WHERE due_at <= :nowMs LIMIT 1');

export const hasDueEvents = async (context: EngineContext, shard: number): Promise<boolean> =>
  (await readFirst(databaseOf(context, shard), findDue, { nowMs: Math.trunc(context.now()) })) !== null;

const remove = statement<{ ids: string }>('DELETE FROM event WHERE id IN (SELECT value FROM json_each(:ids))');
const postpone = statement<{ failed: string }>(
  `UPDATE event SET attempts = attempts + 1, due_at = (SELECT a.value->>1 FROM json_each(:failed) a WHERE a.value->>0 = event.id)
   WHERE id IN (SELECT a.value->>0 FROM json_each(:failed) a)`,
);

/** Deletes sent events and postpones failed ones. @param failed id of each failed event and the time of its next attempt. */
export async function settleEvents(
  context: EngineContext,
  shard: number,
  done: readonly number[],
  failed: readonly (readonly [id: number, dueAt: number])[],
): Promise<void> {
  const database = databaseOf(context, shard);
  await database.batch([
    prepare(database, remove, { ids: JSON.stringify(done) }),
    prepare(database, postpone, { failed: JSON.stringify(failed) }),
  ]);
}
