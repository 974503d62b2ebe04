/** Stores messages that mail programs put into folders (APPEND). Runs in the caller's transaction. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { StoreMessageError } from '../contract/delivered-message.ts';
import type { ImapAppend, ImapAppended, ImapSource } from '../contract/imap.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { storeMessage } from '../incoming/arrival-store.ts';
import { findFolderByNumber } from '../messages/folder-store.ts';
import { findMessage, foldersOf, patchMessage } from '../messages/message-store.ts';
import { findImapFolder, readImapSources, readImapState } from './imap-read-store.ts';
import { markInFolder } from './imap-write-store.ts';
import { readUid } from './uid-store.ts';

/**
 * Stores a message, or puts the message with these bytes into the folder too if the mailbox has it. So a repeated request changes
 * nothing. The raw bytes must be in a quorum of the locations before the call.
 */
export function appendMessage(
  sql: SqlStorage,
  mailbox: MailboxRow,
  { folderKey, marks, input }: ImapAppend,
  now: number,
): Result<ImapAppended, StoreMessageError> {
  const place = findImapFolder(sql, folderKey);
  if (!place) return err({ kind: 'no_folder' });
  const stored = storeMessage(sql, mailbox, { ...input, folder: place.folder_id }, now);
  if (!stored.ok) return stored;
  const { messageId } = stored.value;
  const message = findMessage(sql, messageId);
  if (!message) return err({ kind: 'no_folder' });
  const folders = foldersOf(message);
  if (!folders.includes(place.folder)) {
    const others = folders.map((folder) => findFolderByNumber(sql, folder));
    patchMessage(sql, message, { folders: [...others, place] }, now);
  }
  markInFolder(sql, place, { messageIds: [messageId], marks, unchangedSince: null }, now);
  return ok({ ...readImapState(sql), uid: readUid(sql, place.folder, message.position) ?? 0, messageId });
}

/** Sent messages with a Message-ID. The table of references leads to their thread without an index on the Message-ID. */
const listSent = statement<{ headerMessageId: string }, { message_id: string }>(
  `SELECT m.message_id FROM thread_reference AS r CROSS JOIN message AS m ON m.thread = r.thread
   WHERE r.reference = :headerMessageId AND m.header_message_id = :headerMessageId AND m.origin = 'sent' LIMIT 5`,
);

/** @returns the messages with a Message-ID that were submitted here. */
export const findSentSources = (sql: SqlStorage, headerMessageId: string): ImapSource[] =>
  readImapSources(
    sql,
    [...execute(sql, listSent, { headerMessageId })].map((row) => row.message_id),
  );
