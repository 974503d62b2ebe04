/** Rows of the list: one a conversation, at the place of its newest message. Pure. */
import type { Summary } from './api.ts';

export interface Row {
  threadId: string;
  /** Newest first; the first one names the row. */
  messages: Summary[];
  isUnread: boolean;
  isFlagged: boolean;
  /** Of any of its messages. */
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

/** Places of rows by their thread; made once for a list and carried along while it grows. */
const indexes = new WeakMap<readonly Row[], Map<string, number>>();

function indexOf(rows: readonly Row[]): Map<string, number> {
  const known = indexes.get(rows);
  if (known) return known;
  const made = new Map(rows.map((row, at) => [row.threadId, at]));
  indexes.set(rows, made);
  return made;
}

/** The rows with older messages after them, in a time that depends on these alone. `added` are none of the rows' messages. */
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
 * The rows after some conversations changed, all others as they are.
 * @param messages all of the list, newest first. @returns null when a row moves to another place: then group anew.
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

/** Messages that left a list, back where they stood in it: before what came after them then and is still there. */
export function putBack(now: readonly Summary[], then: readonly Summary[], ids: ReadonlySet<string>): Summary[] {
  const here = new Set(now.map((message) => message.id));
  // Another piece of the list is known by now: they stood in none of it.
  if (now.length > 0 && !then.some((message) => here.has(message.id))) return [...now];
  const before = new Map<string, Summary[]>();
  let next = '';
  for (const message of then.toReversed()) {
    if (here.has(message.id)) next = message.id;
    else if (ids.has(message.id)) before.set(next, [message, ...(before.get(next) ?? [])]);
  }
  return [...now.flatMap((message) => [...(before.get(message.id) ?? []), message]), ...(before.get('') ?? [])];
}

/** The known piece of a list: so many messages stand above it, and about so many rows. */
export interface Piece {
  readonly rows: readonly Row[];
  readonly messages: readonly Summary[];
  readonly start: number;
  readonly firstRow: number;
  /** Null at the end of the list. */
  readonly cursor: string | null;
}

/** How many rows a folder of `total` messages will have, by the piece of it that is known. */
export function rowCount({ rows, messages, start, firstRow, cursor }: Piece, total: number): number {
  const below = cursor === null ? 0 : Math.max(0, total - start - messages.length);
  return firstRow + rows.length + Math.round(messages.length === 0 ? 0 : (below * rows.length) / messages.length);
}

/** About how many messages stand above a row that is outside of the known piece. */
export function toMessageOffset(piece: Piece, total: number, row: number): number {
  const { rows, messages, start, firstRow } = piece;
  if (row < firstRow) return Math.floor((row * start) / firstRow);
  const end = firstRow + rows.length;
  const known = start + messages.length;
  return known + Math.floor(((row - end) * (total - known)) / Math.max(1, rowCount(piece, total) - end));
}

/** By how many places the first row moved down that is named by the same message as before. */
export function moveOfRows(before: readonly Row[], after: readonly Row[]): number {
  const places = new Map(after.map((row, at) => [row.messages[0]?.id, at]));
  for (const [at, row] of before.entries()) {
    const place = places.get(row.messages[0]?.id);
    if (place !== undefined) return place - at;
  }
  return 0;
}

/** Which rows of equal height are to be drawn, with some above and below. */
export function visibleRange(scrollTop: number, viewHeight: number, rowHeight: number, count: number, extra = 6) {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - extra);
  const last = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + extra);
  return { first, last: Math.max(first, last) };
}
