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

/** Which rows of equal height are to be drawn, with some above and below. */
export function visibleRange(scrollTop: number, viewHeight: number, rowHeight: number, count: number, extra = 6) {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - extra);
  const last = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + extra);
  return { first, last: Math.max(first, last) };
}
