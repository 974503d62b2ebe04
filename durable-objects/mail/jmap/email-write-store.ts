/** Writes of `Email/set` (RFC 8621 §4.6): changes keywords and folders, and erases messages. Runs in the caller's transaction. */
import type { FlagPatch } from '../../../workers/mail/domain/message-flags.ts';
import { ANSWER_BYTES_MAX } from '../../../workers/shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { StoreMessageError, StoreMessageInput } from '../contract/delivered-message.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { EmailPatch, EmailRecord, EmailSetFailure } from '../contract/jmap.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import { storeMessage } from '../incoming/arrival-store.ts';
import { learnFromMove } from '../messages/batch-store.ts';
import { findFolder, findFolderByNumber, isView } from '../messages/folder-store.ts';
import { DRAFT_LABEL, listLabels } from '../messages/label-store.ts';
import { eraseMessage, findMessage, foldersOf, patchMessage } from '../messages/message-store.ts';
import { findEmail, readEmails } from './email-read-store.ts';

export const FOLDERS_PER_EMAIL_MAX = 50;

/** Updates keywords and folders of an email. @returns null on success. */
export function updateEmail(sql: SqlStorage, id: string, patch: EmailPatch, now: number): EmailSetFailure | null {
  const message = findEmail(sql, id);
  if (!message) return { kind: 'not_found' };
  const before = foldersOf(message).map((folder) => findFolderByNumber(sql, folder));
  const folders = decideFolders(sql, before, patch);
  if (!folders.ok) return folders.error;
  const { marks } = patch;
  if (message.origin === 'draft' && marks?.isDraft === false) return { kind: 'draft_fixed' };
  const { labels = {}, replacesLabels = false, isDraft, ...flags } = marks ?? {};
  const known = listLabels(sql, message.position);
  const isKept = (label: string) =>
    labels[label] ?? (label === DRAFT_LABEL ? isDraft !== false && known.includes(label) : !replacesLabels);
  const kept = known.filter(isKept);
  const added = Object.keys(labels).filter((label) => labels[label]);
  const draft = isDraft === true && message.origin !== 'draft' ? [DRAFT_LABEL] : [];
  patchMessage(
    sql,
    message,
    { ...flags, folders: folders.value, labels: [...new Set([...kept, ...added, ...draft])] },
    now,
  );
  const [main] = folders.value;
  if (main && main.folder !== message.folder) learnFromMove(sql, message, main, now);
  return null;
}

function decideFolders(
  sql: SqlStorage,
  before: readonly FolderRow[],
  { folders, replacesFolders }: EmailPatch,
): Result<FolderRow[], EmailSetFailure> {
  const kept = replacesFolders ? [] : before.filter((folder) => folders[folder.folder_id] !== false);
  const after = new Map(kept.map((folder) => [folder.folder, folder]));
  for (const [folderId, isIn] of Object.entries(folders)) {
    const folder = findFolder(sql, folderId);
    if (!isIn) continue;
    if (!folder || isView(folder) || folder.folder_id !== folderId) return err({ kind: 'bad_folder', folderId });
    after.set(folder.folder, folder);
  }
  if (after.size === 0) return err({ kind: 'no_folder_left' });
  return after.size > FOLDERS_PER_EMAIL_MAX ? err({ kind: 'too_many_folders' }) : ok([...after.values()]);
}

/** Erases a message from all its folders. @returns false if it does not exist. */
export function destroyEmail(sql: SqlStorage, id: string, now: number): boolean {
  const message = findEmail(sql, id);
  if (!message) return false;
  eraseMessage(sql, message, now);
  return true;
}

/** Stores a message that a JMAP client created, in all of its folders. */
export function createEmail(
  sql: SqlStorage,
  mailbox: MailboxRow,
  input: StoreMessageInput,
  folderIds: readonly string[],
  flags: FlagPatch,
  now: number,
): Result<{ email: EmailRecord; duplicate: boolean }, StoreMessageError | EmailSetFailure> {
  const folders = decideFolders(sql, [], {
    marks: null,
    folders: Object.fromEntries(folderIds.map((id) => [id, true])),
    replacesFolders: true,
  });
  if (!folders.ok) return folders;
  const [first] = folders.value;
  const alsoIn = folders.value.slice(1).map((folder) => folder.folder_id);
  const stored = storeMessage(sql, mailbox, { ...input, folder: first?.folder_id ?? '', alsoIn }, now);
  if (!stored.ok) return stored;
  const { messageId, duplicate } = stored.value;
  const message = findMessage(sql, messageId);
  if (message && !duplicate) patchMessage(sql, message, flags, now);
  const [email] = readEmails(sql, [messageId], ANSWER_BYTES_MAX) ?? [];
  return email ? ok({ email, duplicate }) : err({ kind: 'not_found' });
}
