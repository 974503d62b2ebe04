/** The hourly sending limit of an account. */
import { first } from '../database/store.ts';

const HOUR_MS = 3_600_000;

/**
 * Messages submitted and forwarding codes mailed since a time (at most a day ago): what the sending limit counts. Forwards
 * have their own limit (`readForwardTurn`), so that incoming mail does not keep a user from sending.
 */
function countSubmitted(sql: SqlStorage, since: number): { count: number; oldestAt: number | null } {
  const row = first<{ count: number; oldest: number | null }>(
    sql,
    `SELECT count(*) AS count, min(at) AS oldest FROM (
       SELECT queued_at AS at FROM outbox WHERE queued_at > ?1 AND kind = 'message'
       UNION ALL SELECT created_at FROM forward_invitation WHERE created_at > ?1)`,
    since,
  );
  return { count: row?.count ?? 0, oldestAt: row?.oldest ?? null };
}

/** @returns milliseconds until another message may be sent; 0 for now. */
export function readSendWait(sql: SqlStorage, limitPerHour: number, now: number): number {
  const { count, oldestAt } = countSubmitted(sql, now - HOUR_MS);
  return count < limitPerHour || oldestAt === null ? 0 : Math.max(1, oldestAt + HOUR_MS - now);
}
