/** The hourly sending limit of an account. */
import { execute, statement } from '../../../workers/shared/statement.ts';

const HOUR_MS = 3_600_000;

/**
 * The limit counts messages submitted and forwarding codes mailed. Forwards have their own limit (`readForwardTurn`), so that
 * incoming mail does not keep a user from sending.
 */
const countSent = statement<{ since: number }, { count: number; oldest_at: number | null }>(
  `SELECT count(*) AS count, min(at) AS oldest_at FROM (
     SELECT queued_at AS at FROM outbox WHERE queued_at > :since AND kind = 'message'
     UNION ALL SELECT created_at FROM forward_invitation WHERE created_at > :since)`,
);

/** @returns milliseconds until another message may be sent; 0 for now. */
export function readSendWait(sql: SqlStorage, limitPerHour: number, now: number): number {
  const { count, oldest_at } = execute(sql, countSent, { since: now - HOUR_MS }).one();
  return count < limitPerHour || oldest_at === null ? 0 : Math.max(1, oldest_at + HOUR_MS - now);
}
