/** Changes to many messages in one transaction: patches, deletion, erasing expired messages, emptying a folder. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { FolderError, FolderRow } from '../contract/folders.ts';
import type { BatchPatch, BatchResult } from '../contract/messages.ts';
import { findFolder, findFolderByNumber, isView, listSubtree, removeFolder } from './folder-store.ts';
import { type MessageState, STATE_COLUMNS } from './message-row-store.ts';
import { eraseMessage, findMessage, foldersOf, patchMessage } from './message-store.ts';
import { learnSender, readSenderFacts } from './sender-store.ts';
import { addLesson, decideLesson } from './spam-lesson-store.ts';

/** Origins of messages that train the spam model. Mail that the user wrote says nothing about mail from others. */
const TEACHING_ORIGINS = new Set(['received', 'imported']);
/** Messages erased per transaction. The alarm continues with the next ones. */
const ERASED_PER_ROUND = 500;
/** Messages moved per transaction when their folder is deleted. */
const MOVED_PER_ROUND = 1_000;

export function patchMessages(
  sql: SqlStorage,
  ids: readonly string[],
  patch: BatchPatch,
  now: number,
): Result<BatchResult[], FolderError> {
  const { folderKey, ...rest } = patch;
  // A snoozed message is in the Archive until it returns to the Inbox.
  const key = folderKey ?? (rest.snoozedUntil ? 'archive' : undefined);
  const folder = key === undefined ? undefined : findFolder(sql, key);
  if (folder === null || (folder && isView(folder))) return err({ kind: 'no_folder' });
  return ok(
    ids.map((id) => {
      const message = findMessage(sql, id);
      if (!message) return { id, status: 'not_found' };
      if (!patchMessage(sql, message, { ...rest, folder }, now)) return { id, status: 'unchanged' };
      if (folder) learnFromMove(sql, message, folder, now);
      return { id, status: 'updated' };
    }),
  );
}

/** Learns from a move that was made. @param message its state before the move. @param to its first folder after the move. */
export function learnFromMove(sql: SqlStorage, message: MessageState, to: FolderRow, now: number): void {
  const lesson = decideLesson(findFolderByNumber(sql, message.folder), to);
  if (lesson && TEACHING_ORIGINS.has(message.origin)) learn(sql, message, lesson, now);
}

/**
 * Learns from a move into or out of Junk. The move first decides whether the sender is trusted or blocked. It trains the spam model
 * on the words only if no sender is proven, or if it undoes an earlier move by the user, which had trained the words.
 */
function learn(sql: SqlStorage, message: MessageState, label: 'junk' | 'ham', now: number): void {
  const facts = readSenderFacts(sql, message.position);
  const isLearned = learnSender(sql, label, facts, facts.proven, now);
  const undoesOwnMove = label === 'ham' && !facts.arrivedAsJunk;
  if (!isLearned || undoesOwnMove) addLesson(sql, message.message_id, label);
}

/** Moves messages to Trash, and erases those that are in Trash already. An id that is given twice counts once. */
export function deleteMessages(sql: SqlStorage, ids: readonly string[], now: number): BatchResult[] {
  const trash = findFolder(sql, 'trash');
  if (!trash) throw new Error('the mailbox has no Trash');
  const moved = new Set<number>();
  return ids.map((id) => {
    const message = findMessage(sql, id);
    if (!message) return { id, status: 'not_found' };
    if (moved.has(message.position)) return { id, status: 'deleted' };
    moved.add(message.position);
    if (foldersOf(message).every((folder) => folder === trash.folder)) eraseMessage(sql, message, now);
    else patchMessage(sql, message, { folder: trash }, now);
    return { id, status: 'deleted' };
  });
}

/**
 * Moves the messages of a folder and its subfolders to Trash, one round at a time. The last round removes the folders.
 * @returns how many messages were moved. Call it again until it returns 0.
 */
export function deleteFolder(sql: SqlStorage, key: string, now: number): Result<number, FolderError> {
  const folder = findFolder(sql, key);
  const trash = findFolder(sql, 'trash');
  if (!folder || !trash) return err({ kind: 'no_folder' });
  if (folder.role !== null) return err({ kind: 'folder_fixed' });
  const subtree = listSubtree(sql, folder);
  for (const each of subtree) {
    const messages = listInFolder(sql, each, MOVED_PER_ROUND);
    for (const message of messages) leaveFolder(sql, message, each, trash, now);
    if (messages.length > 0) return ok(messages.length);
  }
  for (const each of subtree) removeFolder(sql, each, now);
  return ok(0);
}

const listInFolder = (sql: SqlStorage, { folder }: FolderRow, limit: number): MessageState[] => [
  ...sql.exec<MessageState>(
    `SELECT ${STATE_COLUMNS} FROM message WHERE position IN (SELECT position FROM message_folder WHERE folder = ? LIMIT ?)`,
    folder,
    limit,
  ),
];

/** Removes a message from a folder. If the message is in no other folder, moves it to the folder `last`. */
function leaveFolder(sql: SqlStorage, message: MessageState, from: FolderRow, last: FolderRow, now: number): void {
  const others = foldersOf(message).filter((folder) => folder !== from.folder);
  const folders = others.map((folder) => findFolderByNumber(sql, folder));
  patchMessage(sql, message, { folders: folders.length > 0 ? folders : [last] }, now);
}

/** Erases messages that have been in Junk or Trash for 30 days. */
export function eraseExpired(sql: SqlStorage, now: number): void {
  const due = [
    ...sql.exec<MessageState>(
      `SELECT ${STATE_COLUMNS} FROM message WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
      now,
      ERASED_PER_ROUND,
    ),
  ];
  for (const message of due) eraseMessage(sql, message, now);
}

export const NEXT_EXPIRY_AT = 'SELECT min(expires_at) FROM message WHERE expires_at IS NOT NULL';

/**
 * Erases one round of messages of Junk or Trash. A message that is also in another folder only leaves this one.
 * @returns how many messages left the folder. Call it again until it returns 0.
 */
export function emptyFolder(sql: SqlStorage, folder: FolderRow, now: number): number {
  const messages = listInFolder(sql, folder, ERASED_PER_ROUND);
  for (const message of messages) {
    if (foldersOf(message).length === 1) eraseMessage(sql, message, now);
    else leaveFolder(sql, message, folder, folder, now);
  }
  return messages.length;
}
