/** Positions, ids and UIDs of new messages. */
import { formatTimeuuid, parseTimeuuid, toTicks } from '../../../workers/shared/pure/timeuuid.ts';
import { readState } from '../database/change-store.ts';
import { first } from '../database/store.ts';
import { isThread } from './thread-store.ts';

const UNIX_EPOCH_TICKS = toTicks(0);

/**
 * Chooses the position of a new message.
 * @returns microseconds since 1970: the time of arrival, or the next microsecond that is neither a position nor the number of a
 * thread.
 */
export function mintPosition(sql: SqlStorage, receivedAt: number): number {
  let at = Math.max(0, Math.trunc(receivedAt)) * 1_000;
  for (;;) {
    const end = at - (at % 1_000) + 1_000;
    const taken = first<{ last: number | null }>(
      sql,
      'SELECT max(position) AS last FROM message WHERE position >= ? AND position < ?',
      at,
      end,
    )?.last;
    if (taken !== null && taken !== undefined) at = taken + 1;
    while (at < end && isThread(sql, at)) at++;
    if (at < end) return at;
    at = end;
  }
}

export function mintMessageId(position: number): string {
  return formatTimeuuid(UNIX_EPOCH_TICKS + BigInt(position) * 10n, crypto.getRandomValues(new Uint8Array(8)));
}

/** @returns the position that a message's id contains; -1 if the text is not such an id. */
export function toPosition(messageId: string): number {
  const ticks = parseTimeuuid(messageId);
  return ticks === null || ticks < UNIX_EPOCH_TICKS ? -1 : Number((ticks - UNIX_EPOCH_TICKS) / 10n);
}

/**
 * @returns the UID of a message that is being placed in a folder: the number of the change that will record it. It grows with each
 * placing, and no UID is used twice in a mailbox.
 */
export const mintUid = (sql: SqlStorage): number => readState(sql) + 1;
