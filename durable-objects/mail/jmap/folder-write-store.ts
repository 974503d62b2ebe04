/** Changes of folders that only JMAP makes: order, subscription, and deleting a folder with its messages. */
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { Arrangement, DestroyRound } from '../contract/jmap.ts';
import { recordChange } from '../database/change-store.ts';
import { findFolder, findFolderByNumber, removeFolder } from '../messages/folder-store.ts';
import { type MessageState, STATE_COLUMNS } from '../messages/message-row-store.ts';
import { eraseMessage, foldersOf, patchMessage } from '../messages/message-store.ts';

const arrange = statement<{ folder: number; sortOrder: number | null; isSubscribed: number | null }>(
  `UPDATE folder SET sort_order = ifnull(:sortOrder, sort_order), is_subscribed = ifnull(:isSubscribed, is_subscribed)
   WHERE folder = :folder`,
);

/** Changes a folder's order and subscription. @returns false if the folder does not exist. */
export function arrangeFolder(sql: SqlStorage, folderId: string, arrangement: Arrangement, now: number): boolean {
  const folder = findFolder(sql, folderId);
  if (!folder) return false;
  const { sortOrder, isSubscribed } = arrangement;
  execute(sql, arrange, {
    folder: folder.folder,
    sortOrder: sortOrder ?? null,
    isSubscribed: isSubscribed === undefined ? null : Number(isSubscribed),
  });
  recordChange(sql, { type: 'folder_updated', folder_id: folder.folder_id }, now);
  return true;
}

/** Messages removed per transaction. */
const REMOVED_PER_ROUND = 500;

const listIn = statement<{ folder: number; limit: number }, MessageState>(
  `SELECT ${STATE_COLUMNS} FROM message WHERE position IN
     (SELECT position FROM message_folder WHERE folder = :folder LIMIT :limit)`,
);

/**
 * Removes a folder that has no subfolders, one round of messages at a time. Messages that are in no other folder are erased. Call
 * it again while it returns `more`.
 */
export function destroyFolder(sql: SqlStorage, folderId: string, removeEmails: boolean, now: number): DestroyRound {
  const folder = findFolder(sql, folderId);
  if (!folder || folder.role !== null) return 'not_found';
  if (folder.total > 0 && !removeEmails) return 'has_mail';
  const messages = [...execute(sql, listIn, { folder: folder.folder, limit: REMOVED_PER_ROUND })];
  for (const message of messages) leaveFolder(sql, message, folder, now);
  if (messages.length > 0) return 'more';
  removeFolder(sql, folder, now);
  return 'done';
}

function leaveFolder(sql: SqlStorage, message: MessageState, folder: FolderRow, now: number): void {
  const others = foldersOf(message)
    .filter((each) => each !== folder.folder)
    .map((each) => findFolderByNumber(sql, each));
  if (others.length === 0) eraseMessage(sql, message, now);
  else patchMessage(sql, message, { folders: others }, now);
}
