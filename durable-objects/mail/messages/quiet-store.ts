/** Snoozed messages leave the Inbox until a chosen time. New messages of muted threads skip the Inbox. */
import { recordChange } from '../database/change-store.ts';
import { findFolder } from './folder-store.ts';
import { type MessageState, STATE_COLUMNS } from './message-row-store.ts';
import { foldersOf, patchMessage } from './message-store.ts';
import { formatThreadId, muteThread } from './thread-store.ts';

/** Snoozed messages that return per transaction. The alarm continues with the next ones. */
const WOKEN_PER_ROUND = 200;
/** Maximum of messages that leave the Inbox when their thread is muted. */
const MUTED_MESSAGES_MAX = 1_000;

export const NEXT_SNOOZE_END =
  'SELECT min(snoozed_until) FROM message INDEXED BY message_snoozed WHERE snoozed_until IS NOT NULL';

/** Moves snoozed messages whose time has come back to the Inbox, as unread. */
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

/** Mutes or unmutes a thread. Muting also archives its messages in the Inbox. */
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

/** Archives a message as read, if it is in the Inbox. @returns whether it was in the Inbox. */
export function hush(sql: SqlStorage, message: MessageState, now: number): boolean {
  const [inbox, archive] = [findFolder(sql, 'inbox'), findFolder(sql, 'archive')];
  if (!inbox || !archive || !foldersOf(message).includes(inbox.folder)) return false;
  return patchMessage(sql, message, { folder: archive, isRead: true }, now);
}
