/** Rows of the list: one per conversation, at the position of its newest message. Pure. */
import type { Summary } from './api.ts';

export interface Row {
  threadId: string;
  /** Messages of the conversation in this list, newest first. The first one decides where the row is. */
  messages: Summary[];
  isUnread: boolean;
  isFlagged: boolean;
  /** Labels of all messages of the row. */
  labels: string[];
}

export function groupByThread(messages: readonly Summary[]): Row[] {
  const rows = new Map<string, Row>();
  for (const message of messages) {
    const row = rows.get(message.thread_id);
    if (row) {
      row.messages.push(message);
      row.isUnread ||= !message.is_read;
      row.isFlagged ||= message.is_flagged;
      for (const label of message.labels) if (!row.labels.includes(label)) row.labels.push(label);
    } else {
      rows.set(message.thread_id, {
        threadId: message.thread_id,
        messages: [message],
        isUnread: !message.is_read,
        isFlagged: message.is_flagged,
        labels: [...message.labels],
      });
    }
  }
  return [...rows.values()];
}

/** Row positions by thread. Built once per list and reused while the list grows. */
const indexes = new WeakMap<readonly Row[], Map<string, number>>();

function indexOf(rows: readonly Row[]): Map<string, number> {
  const known = indexes.get(rows);
  if (known) return known;
  const made = new Map(rows.map((row, at) => [row.threadId, at]));
  indexes.set(rows, made);
  return made;
}

/** Appends older messages to the rows. Groups only their conversations again. `added` must not repeat messages of `rows`. */
export function appendToRows(rows: readonly Row[], added: readonly Summary[]): Row[] {
  const next = [...rows];
  const index = indexOf(rows);
  for (const row of groupByThread(added)) {
    const at = index.get(row.threadId);
    const known = at === undefined ? undefined : next[at];
    if (at === undefined || !known) {
      index.set(row.threadId, next.length);
      next.push(row);
    } else next[at] = groupByThread([...known.messages, ...row.messages])[0] ?? known;
  }
  indexes.delete(rows);
  indexes.set(next, index);
  return next;
}

/**
 * Rebuilds the rows of some conversations and keeps all others.
 * @param messages all messages of the list, newest first.
 * @returns null if a row changes its position. In that case the caller must group all messages again.
 */
export function patchRows(
  rows: readonly Row[],
  threads: ReadonlySet<string>,
  messages: readonly Summary[],
): Row[] | null {
  const fresh = new Map(
    groupByThread(messages.filter((message) => threads.has(message.thread_id))).map((row) => [row.threadId, row]),
  );
  const next: Row[] = [];
  for (const row of rows) {
    if (!threads.has(row.threadId)) next.push(row);
    else {
      const changed = fresh.get(row.threadId);
      if (!changed) continue;
      if (changed.messages[0]?.id !== row.messages[0]?.id) return null;
      next.push(changed);
    }
  }
  return next;
}

/** Puts removed messages back where they were: before the next message that is still in the list. */
export function restoreRemoved(now: readonly Summary[], then: readonly Summary[], ids: ReadonlySet<string>): Summary[] {
  const here = new Set(now.map((message) => message.id));
  // If another part of the list is loaded by now, the positions of the removed messages are not in it, so nothing is put back.
  if (now.length > 0 && !then.some((message) => here.has(message.id))) return [...now];
  const before = new Map<string, Summary[]>();
  let next = '';
  for (const message of then.toReversed()) {
    if (here.has(message.id)) next = message.id;
    else if (ids.has(message.id)) before.set(next, [message, ...(before.get(next) ?? [])]);
  }
  return [...now.flatMap((message) => [...(before.get(message.id) ?? []), message]), ...(before.get('') ?? [])];
}

/** The loaded part of a list. `start` messages are above it, which make about `firstRow` rows. */
export interface Piece {
  readonly rows: readonly Row[];
  readonly messages: readonly Summary[];
  readonly start: number;
  readonly firstRow: number;
  /** Cursor of the next page; null at the end of the list. */
  readonly cursor: string | null;
}

/** Estimates how many rows a folder of `total` messages has, from its loaded part. */
export function rowCount({ rows, messages, start, firstRow, cursor }: Piece, total: number): number {
  const below = cursor === null ? 0 : Math.max(0, total - start - messages.length);
  return firstRow + rows.length + Math.round(messages.length === 0 ? 0 : (below * rows.length) / messages.length);
}

/** Estimates how many messages are above a row outside the loaded part. */
export function toMessageOffset(piece: Piece, total: number, row: number): number {
  const { rows, messages, start, firstRow } = piece;
  if (row < firstRow) return Math.floor((row * start) / firstRow);
  const end = firstRow + rows.length;
  const known = start + messages.length;
  return known + Math.floor(((row - end) * (total - known)) / Math.max(1, rowCount(piece, total) - end));
}

/** The number of places by which rows moved down between two states of the list, measured at the first row that both share. */
export function findRowShift(before: readonly Row[], after: readonly Row[]): number {
  const positions = new Map(after.map((row, at) => [row.messages[0]?.id, at]));
  for (const [at, row] of before.entries()) {
    const position = positions.get(row.messages[0]?.id);
    if (position !== undefined) return position - at;
  }
  return 0;
}
