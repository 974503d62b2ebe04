/**
 * The change log. A change gets its number in the transaction that makes it. Clients replay the log from the number of the last
 * change that they received.
 */

import type { Change, ChangePage } from '../contract/changes.ts';
import { first } from './store.ts';

/** Maximum age of a change in the log. A client that was offline for longer must reload everything. */
const CHANGE_AGE_MAX_MS = 30 * 24 * 3_600_000;
export const CHANGES_PER_ANSWER_MAX = 1_000;

/** @param state number of the change, above all earlier ones; by default the next one. */
export function recordChange(sql: SqlStorage, change: Change, now: number, state: number | null = null): void {
  sql.exec('INSERT INTO change (state, changed_at, body) VALUES (?, ?, ?)', state, now, JSON.stringify(change));
}

/** @returns the number of the last change; 0 before the first. */
export function readState(sql: SqlStorage): number {
  return first<{ state: number | null }>(sql, 'SELECT max(state) AS state FROM change')?.state ?? 0;
}

export function readChanges(sql: SqlStorage, since: number): ChangePage {
  const latest = readState(sql);
  const floor = first<{ floor: number }>(sql, 'SELECT state_floor AS floor FROM mailbox WHERE id = 1')?.floor ?? 0;
  if (since < floor || since > latest) return { state: String(latest), changes: [], resync: true, more: false };
  const rows = [
    ...sql.exec<{ state: number; body: string }>(
      'SELECT state, body FROM change WHERE state > ? ORDER BY state LIMIT ?',
      since,
      CHANGES_PER_ANSWER_MAX,
    ),
  ];
  const state = rows.at(-1)?.state ?? since;
  return {
    state: String(state),
    changes: rows.map((row) => JSON.parse(row.body) as Change),
    resync: false,
    more: state < latest,
  };
}

const DAY_MS = 24 * 3_600_000;
/** Age at which delivery keys of erased messages are deleted. No sender retries a delivery for that long. */
const DELIVERY_AGE_MAX_MS = 60 * DAY_MS;
/** Age at which failed mail is deleted. Until then, the operator may retry it. */
const FAILED_AGE_MAX_MS = 60 * DAY_MS;

/**
 * Query of the time at which old changes are pruned: never if there is only one change. It is a day after the oldest change may be
 * deleted, so pruning runs at most once a day.
 */
export const NEXT_PRUNE_AT = `SELECT changed_at + ${CHANGE_AGE_MAX_MS + DAY_MS} FROM change
  WHERE state < (SELECT max(state) FROM change) ORDER BY state LIMIT 1`;

/** Deletes changes, failed mail, delivery keys and JMAP submissions that have reached their maximum age. */
export function pruneLogs(sql: SqlStorage, now: number): void {
  pruneChanges(sql, now);
  sql.exec(
    'DELETE FROM outbox WHERE next_attempt_at IS NULL AND publish_at IS NULL AND queued_at < ?',
    now - FAILED_AGE_MAX_MS,
  );
  sql.exec('DELETE FROM erased_delivery WHERE erased_at < ?', now - DELIVERY_AGE_MAX_MS);
  sql.exec('DELETE FROM email_submission WHERE created_at < ?', now - CHANGE_AGE_MAX_MS);
}

/** Deletes changes older than a month. Keeps the newest, because numbering continues from it. */
export function pruneChanges(sql: SqlStorage, now: number): void {
  // Changes are in order of time, so the search ends at the first one that is young enough.
  const kept = first<{ state: number }>(
    sql,
    'SELECT state FROM change WHERE changed_at >= ? ORDER BY state LIMIT 1',
    now - CHANGE_AGE_MAX_MS,
  )?.state;
  const cut = (kept ?? readState(sql)) - 1;
  const oldest = first<{ state: number }>(sql, 'SELECT min(state) AS state FROM change')?.state ?? 0;
  if (cut < oldest) return;
  sql.exec('DELETE FROM change WHERE state <= ?', cut);
  sql.exec('UPDATE mailbox SET state_floor = ? WHERE id = 1', cut);
}
