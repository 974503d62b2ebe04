/** Marks messages as answered or forwarded when the user sends an answer or a forward. */
import { first } from '../database/store.ts';
import { type MessageState, STATE_COLUMNS } from './message-row-store.ts';
import { findMessage, patchMessage } from './message-store.ts';

/** Maximum of copies of one message that are marked. A message may have several copies, such as one by mail and one by a list. */
const COPIES_MAX = 20;

/**
 * Marks the messages with a given Message-ID as answered, or removes the mark if no sent message answers them.
 * @param parentId the Message-ID: In-Reply-To of the answer.
 */
export function markAnswered(sql: SqlStorage, parentId: string | null, isAnswered: boolean, now: number): void {
  if (parentId === null) return;
  const thread = first<{ thread: number }>(
    sql,
    'SELECT thread FROM thread_reference WHERE reference = ?',
    parentId.slice(0, 500),
  )?.thread;
  if (thread === undefined || (!isAnswered && isStillAnswered(sql, thread, parentId))) return;
  const parents = sql.exec<MessageState>(
    `SELECT ${STATE_COLUMNS} FROM message WHERE thread = ? AND header_message_id = ? LIMIT ?`,
    thread,
    parentId,
    COPIES_MAX,
  );
  for (const parent of [...parents]) patchMessage(sql, parent, { isAnswered }, now);
}

const isStillAnswered = (sql: SqlStorage, thread: number, parentId: string): boolean =>
  first(
    sql,
    "SELECT 1 AS found FROM message WHERE thread = ? AND origin = 'sent' AND in_reply_to = ? LIMIT 1",
    thread,
    parentId,
  ) !== null;

/** Marks a message as forwarded. @param messageId nothing is marked if it is null or the message was erased. */
export function markForwarded(sql: SqlStorage, messageId: string | null, now: number): void {
  const message = messageId === null ? null : findMessage(sql, messageId);
  if (message) patchMessage(sql, message, { isForwarded: true }, now);
}
