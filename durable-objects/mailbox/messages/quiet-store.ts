/** Snoozed messages, which leave the Inbox until a chosen time, and muted threads, whose new messages skip the Inbox. */
import { recordChange } from '../database/change-store.ts';
import { first } from '../database/store.ts';
import { findFolder } from './folder-store.ts';
import { foldersOf, type MessageState, patchMessage, STATE_COLUMNS } from './message-store.ts';
import { formatThreadId, muteThread } from './thread-store.ts';

/** Messages per transaction. The alarm continues with the rest. */
const WOKEN_PER_ROUND = 200;
/** Limit of messages of a muted thread that leave the Inbox. */
const MUTED_MESSAGES_MAX = 1_000;

export const nextSnoozeEnd = (sql: SqlStorage): number | null =>
  first<{ at: number | null }>(
    sql,
    'SELECT min(snoozed_until) AS at FROM message INDEXED BY message_snoozed WHERE snoozed_until IS NOT NULL',
  )?.at ?? null;

/** Returns messages to the Inbox, unread, once their time has come. */
export function endSnoozes(sql: SqlStorage, now: number): void {
  const inbox = findFolder(sql, 'inbox');
  if (!inbox) throw new Error('the mailbox has no Inbox');
  const due = sql.exec<MessageState>(
    `SELECT ${STATE_COLUMNS} FROM message INDEXED BY message_snoozed
     WHERE snoozed_until IS NOT NULL AND snoozed_until <= ? ORDER BY snoozed_until LIMIT ?`,
    now,
    WOKEN_PER_ROUND,
  );
  for (const message of [...due]) patchMessage(sql, message, { folder: inbox, isRead: false, snoozedUntil: null }, now);
}

/** Mutes a thread and archives its messages in the Inbox, or unmutes it. */
export function setMuted(sql: SqlStorage, thread: number, isMuted: boolean, now: number): void {
  if (!muteThread(sql, thread, isMuted, now)) return;
  recordChange(sql, { type: 'thread_updated', thread_id: formatThreadId(thread), is_muted: isMuted }, now);
  if (!isMuted) return;
  const messages = sql.exec<MessageState>(
    `SELECT ${STATE_COLUMNS} FROM message WHERE thread = ? ORDER BY position DESC LIMIT ?`,
    thread,
    MUTED_MESSAGES_MAX,
  );
  for (const message of [...messages]) hush(sql, message, now);
}

/** Archives a message as read, if it is in the Inbox. @returns whether it was. */
export function hush(sql: SqlStorage, message: MessageState, now: number): boolean {
  const [inbox, archive] = [findFolder(sql, 'inbox'), findFolder(sql, 'archive')];
  if (!inbox || !archive || !foldersOf(message).includes(inbox.folder)) return false;
  return patchMessage(sql, message, { folder: archive, isRead: true }, now);
}
