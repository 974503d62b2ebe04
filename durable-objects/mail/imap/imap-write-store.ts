/** Writes of mail programs: marks, copies, moves and removals of messages in a folder. Runs in the caller's transaction. */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { ImapCopied, ImapExpunged, ImapMarked, ImapMarks } from '../contract/imap.ts';
import { executeFirst } from '../database/store.ts';
import { learnFromMove } from '../messages/batch-store.ts';
import { findFolder, findFolderByNumber } from '../messages/folder-store.ts';
import { DRAFT_LABEL } from '../messages/label-store.ts';
import { type MessageState, STATE_COLUMNS } from '../messages/message-row-store.ts';
import { eraseMessage, findMessage, foldersOf, patchMessage, visibleFirst } from '../messages/message-store.ts';
import { listChangedSince, readImapMessages, readImapState } from './imap-read-store.ts';
import { readUid } from './uid-store.ts';

/** Maximum of folders that a message may be in. */
export const FOLDERS_PER_MESSAGE_MAX = 50;

type Placing = { folder: number; position: number };
const findMark = statement<Placing, { is_deleted: number }>(
  'SELECT is_deleted FROM message_folder WHERE folder = :folder AND position = :position',
);
const setMark = statement<Placing & { isDeleted: number }>(
  'UPDATE message_folder SET is_deleted = :isDeleted WHERE folder = :folder AND position = :position',
);

/** @returns a message if it is in the folder; null if not. */
function findIn(sql: SqlStorage, { folder }: FolderRow, messageId: string): MessageState | null {
  const message = findMessage(sql, messageId);
  return message && foldersOf(message).includes(folder) ? message : null;
}

export interface Marking {
  readonly messageIds: readonly string[];
  readonly marks: ImapMarks;
  /** Leaves messages alone that changed after this state (RFC 7162 §3.1.3); null changes all. */
  readonly unchangedSince: number | null;
}

export function markInFolder(
  sql: SqlStorage,
  place: FolderRow,
  { messageIds, marks, unchangedSince }: Marking,
  now: number,
): ImapMarked {
  const changed = unchangedSince === null ? new Set<string>() : listChangedSince(sql, unchangedSince);
  const isModified = (id: string) => changed === null || changed.has(id.toLowerCase());
  const done = messageIds.filter((id) => !isModified(id));
  for (const id of done) {
    const message = findIn(sql, place, id);
    if (message) markOne(sql, { folder: place.folder, message, marks }, now);
  }
  return {
    ...readImapState(sql),
    messages: readImapMessages(sql, place, done),
    modified: messageIds.filter(isModified),
  };
}

interface MarkedMessage {
  readonly folder: number;
  readonly message: MessageState;
  readonly marks: ImapMarks;
}

function markOne(sql: SqlStorage, { folder, message, marks }: MarkedMessage, now: number): void {
  const { isDeleted, isDraft, addLabels, removeLabels, ...flags } = marks;
  const { position } = message;
  const before = executeFirst(sql, findMark, { folder, position })?.is_deleted === 1;
  const isMarked = isDeleted !== undefined && isDeleted !== before;
  if (isMarked) execute(sql, setMark, { folder, position, isDeleted: Number(isDeleted) });
  // A draft of the web app is a draft whatever its labels say.
  const draft = message.origin === 'draft' || isDraft === undefined ? [] : [DRAFT_LABEL];
  const patch = {
    ...flags,
    addLabels: [...addLabels, ...(isDraft ? draft : [])],
    removeLabels: [...removeLabels, ...(isDraft ? [] : draft)],
  };
  patchMessage(sql, message, { ...patch, isMarked }, now);
}

export type CopyError = { readonly kind: 'too_many_folders'; readonly max: number };

/**
 * Copies messages to another folder, or moves them there. A message that is there already keeps its UID.
 * @returns the messages that were in the first folder, with their UIDs in both.
 */
export function copyToFolder(
  sql: SqlStorage,
  { from, to, isMove }: { readonly from: FolderRow; readonly to: FolderRow; readonly isMove: boolean },
  messageIds: readonly string[],
  now: number,
): Result<ImapCopied, CopyError> {
  const messages = [...new Set(messageIds)].flatMap((id) => findIn(sql, from, id) ?? []);
  const isFull = (message: MessageState) =>
    !isMove && foldersOf(message).length >= FOLDERS_PER_MESSAGE_MAX && !foldersOf(message).includes(to.folder);
  if (messages.some(isFull)) return err({ kind: 'too_many_folders', max: FOLDERS_PER_MESSAGE_MAX });
  const copied = messages.map((message): readonly [string, number, number] => {
    const { position } = message;
    const oldUid = readUid(sql, from.folder, position) ?? 0;
    const kept = foldersOf(message).filter((folder) => !isMove || folder !== from.folder);
    replaceFolders(sql, message, [...kept.map((folder) => findFolderByNumber(sql, folder)), to], now);
    return [message.message_id, oldUid, readUid(sql, to.folder, position) ?? 0];
  });
  return ok({ ...readImapState(sql), copied });
}

/** Puts a message into these folders only. Learns from it if its first folder becomes Junk, or was Junk. */
function replaceFolders(sql: SqlStorage, message: MessageState, folders: readonly FolderRow[], now: number): void {
  const [main] = visibleFirst(folders);
  if (!main || !patchMessage(sql, message, { folders }, now)) return;
  if (main.folder !== message.folder) learnFromMove(sql, message, main, now);
}

/** Messages removed per transaction. */
export const EXPUNGED_PER_ROUND = 500;

const listMarked = statement<{ folder: number; limit: number }, MessageState>(
  `SELECT ${STATE_COLUMNS} FROM message WHERE position IN
     (SELECT position FROM message_folder WHERE folder = :folder AND is_deleted = 1) ORDER BY position LIMIT :limit`,
);

/**
 * Removes messages that are marked for removal from a folder. The last folder of a message is replaced by Trash, but a message that is
 * only in Trash, Junk or Drafts is erased.
 * @param messageIds null for the first 500 marked messages. Call it again if it removed as many.
 */
export function expungeFolder(
  sql: SqlStorage,
  place: FolderRow,
  messageIds: readonly string[] | null,
  now: number,
): ImapExpunged {
  const isMarked = ({ position }: MessageState) =>
    executeFirst(sql, findMark, { folder: place.folder, position })?.is_deleted === 1;
  const messages =
    messageIds === null
      ? [...execute(sql, listMarked, { folder: place.folder, limit: EXPUNGED_PER_ROUND })]
      : [...new Set(messageIds)].flatMap((id) => findIn(sql, place, id) ?? []).filter(isMarked);
  const gone = messages.map((message): readonly [string, number] => {
    const uid = readUid(sql, place.folder, message.position) ?? 0;
    removeFrom(sql, place, message, now);
    return [message.message_id, uid];
  });
  return { ...readImapState(sql), gone };
}

const ERASING_ROLES: readonly (string | null)[] = ['trash', 'junk', 'drafts'];

function removeFrom(sql: SqlStorage, place: FolderRow, message: MessageState, now: number): void {
  const others = foldersOf(message)
    .filter((folder) => folder !== place.folder)
    .map((folder) => findFolderByNumber(sql, folder));
  const trash = findFolder(sql, 'trash');
  if (others.length > 0) replaceFolders(sql, message, others, now);
  else if (ERASING_ROLES.includes(place.role) || !trash) eraseMessage(sql, message, now);
  else patchMessage(sql, message, { folder: trash }, now);
}
