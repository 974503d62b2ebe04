/**
 * Writes, changes and erases a message's rows. Each function runs inside the caller's transaction. `arrival-store.ts` decides the
 * folder and marks of an arriving message.
 */

import {
  FLAG_COLUMNS,
  type FlagColumn,
  toFlagColumns,
  toFlagJson,
  toFlags,
  UNMARKED,
} from '../../../workers/mail/domain/message-flags.ts';
import { insertInto } from '../../../workers/shared/stores/insert-into.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { ParsedMessage } from '../contract/delivered-message.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { BatchPatch } from '../contract/messages.ts';
import { recordChange } from '../database/change-store.ts';
import { indexMessage, unindexMessage } from '../database/search-index-store.ts';
import { addGarbage, first, run } from '../database/store.ts';
import { nameEmail } from './email-id-store.ts';
import { addToFlaggedCounts, findFolderByNumber, isHidden, type Place, updateCounts } from './folder-store.ts';

import { insertLabel, listLabels, patchLabels } from './label-store.ts';
import { type MessageState, STATE_COLUMNS } from './message-row-store.ts';
import { mintUid, toPosition } from './position-store.ts';
import { messageContent, messageFolder, message as messageTable } from './schema.ts';
import {
  assignThread,
  forgetReferences,
  formatThreadId,
  isThreadMuted,
  muteThread,
  readReferences,
} from './thread-store.ts';

export const HIDDEN_MAIL_AGE_MAX_MS = 30 * 24 * 3_600_000;
const PREVIEW_LENGTH_MAX = 200;

/** Finds a message by its public id. The id contains the message's time of arrival, which is its row id. */
export function findMessage(sql: SqlStorage, messageId: string): MessageState | null {
  const position = toPosition(messageId);
  const found = first<MessageState>(sql, `SELECT ${STATE_COLUMNS} FROM message WHERE position = ?`, position);
  return found?.message_id === messageId.toLowerCase() ? found : null;
}

export function findDraft(sql: SqlStorage, messageId: string): MessageState | null {
  const found = findMessage(sql, messageId);
  return found?.origin === 'draft' ? found : null;
}

/** @returns the folders of a message, its first folder first. */
export const foldersOf = (message: Pick<MessageState, 'folder' | 'also_in'>): number[] => [
  message.folder,
  ...(message.also_in === null ? [] : (JSON.parse(message.also_in) as number[])),
];

const placeOf = (message: MessageState): Place => ({
  folders: foldersOf(message),
  isUnread: message.is_read === 0,
  sizeBytes: message.size_bytes,
});

/**
 * Removes repeated folders, and puts Junk and Trash last. The counts of All add up first folders, so the first folder of a visible
 * message must not be Junk or Trash.
 */
export function visibleFirst(folders: readonly FolderRow[]): FolderRow[] {
  const each = [...new Map(folders.map((folder) => [folder.folder, folder])).values()];
  return [...each.filter((folder) => !isHidden(folder)), ...each.filter(isHidden)];
}

const toAlsoIn = (folders: readonly FolderRow[]): string | null =>
  folders.length === 1 ? null : JSON.stringify(folders.slice(1).map(({ folder }) => folder));

export interface NewMessage {
  readonly position: number;
  readonly messageId: string;
  readonly folder: FolderRow;
  /** The message's folders other than `folder`. */
  readonly alsoIn?: readonly FolderRow[];
  readonly deliveryKey: string | null;
  /** True for accepted mail. The operator's totals count it as delivered. */
  readonly isAccepted?: boolean;
  readonly origin: string;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly receivedAt: number;
  readonly sizeBytes: number;
  readonly rawKey: string | null;
  readonly rawSha256: string | null;
  readonly spam: string | null;
  readonly authentication: string | null;
  readonly parsed: ParsedMessage;
  /** UIDs that the message had in a lost mailbox, by folder. Default: a new UID. */
  readonly uids?: ReadonlyMap<number, number>;
}

/** Inserts all rows of a message. @returns the number of its thread. */
export function insertMessage(sql: SqlStorage, message: NewMessage, now: number): number {
  const { parsed, position, folder } = message;
  const thread = assignThread(sql, parsed, position, message.receivedAt);
  const folders = visibleFirst([folder, ...(message.alsoIn ?? [])]);
  const main = folders[0] ?? folder;
  const hidden = folders.every(isHidden);
  run(
    sql,
    insertInto(messageTable, {
      ...toParsedColumns(parsed),
      position,
      message_id: message.messageId,
      folder: main.folder,
      also_in: toAlsoIn(folders),
      thread,
      origin: message.origin,
      ...toFlagColumns(UNMARKED, message),
      is_visible: Number(!hidden),
      expires_at: hidden ? now + HIDDEN_MAIL_AGE_MAX_MS : null,
      size_bytes: message.sizeBytes,
      raw_key: message.rawKey,
      raw_sha256: message.rawSha256,
      delivery_key: message.deliveryKey,
      received_at: message.receivedAt,
      authentication: message.authentication,
      spam: message.spam,
    }),
  );
  const uids = folders.map((each) => message.uids?.get(each.folder) ?? mintUid(sql));
  for (const [at, each] of folders.entries()) insertPlace(sql, each.folder, position, uids[at] ?? mintUid(sql));
  writeContent(sql, position, parsed);
  for (const label of message.labels) insertLabel(sql, position, label);
  const { isRead, sizeBytes } = message;
  updateCounts(sql, null, {
    folders: folders.map((each) => each.folder),
    isUnread: !isRead,
    sizeBytes,
    isDelivered: message.isAccepted ?? false,
    uid: Math.max(...uids),
  });
  if (message.isFlagged && !hidden) addToFlaggedCounts(sql, 1, Number(!message.isRead));
  recordChange(
    sql,
    {
      type: 'message_created',
      message_id: message.messageId,
      folder_id: main.folder_id,
      thread_id: formatThreadId(thread),
      is_read: message.isRead,
      is_flagged: message.isFlagged,
      labels: listLabels(sql, position),
      ...(folders.length > 1 ? { folder_ids: folders.map(({ folder_id }) => folder_id) } : {}),
      ...(thread === position ? { thread: 'began' } : {}),
      ...(message.isAccepted && !hidden && !isThreadMuted(sql, thread) ? { is_delivered: true } : {}),
    },
    now,
  );
  return thread;
}

/** @returns the columns of the message row that come from its content. */
export const toParsedColumns = (parsed: ParsedMessage) => ({
  has_attachment: Number(parsed.attachments.some((attachment) => !attachment.isInline)),
  sent_at: parsed.sentAt,
  sender: JSON.stringify(parsed.from),
  to_list: JSON.stringify(parsed.to),
  cc_list: JSON.stringify(parsed.cc),
  bcc_list: JSON.stringify(parsed.bcc),
  reply_to_list: JSON.stringify(parsed.replyTo),
  subject: parsed.subject,
  preview: toPreview(parsed.text.value),
  header_message_id: parsed.messageId,
  in_reply_to: parsed.inReplyTo,
  reference_list: JSON.stringify(parsed.references),
});

const insertPlace = (sql: SqlStorage, folder: number, position: number, uid: number) =>
  run(sql, insertInto(messageFolder, { folder, position, uid }));
const deletePlace = (sql: SqlStorage, folder: number, position: number) =>
  sql.exec('DELETE FROM message_folder WHERE folder = ? AND position = ?', folder, position);

const toIsoTime = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

export const toPreview = (text: string): string =>
  text
    .slice(0, PREVIEW_LENGTH_MAX * 4)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, PREVIEW_LENGTH_MAX);

/** Writes bodies, attachments and search terms of a message. Replaces earlier ones. */
export function writeContent(sql: SqlStorage, position: number, parsed: ParsedMessage): void {
  const { text, html, headers, attachments } = parsed;
  const content = {
    position,
    attachments: JSON.stringify(attachments),
    text_key: text.r2Key,
    html_key: html?.r2Key ?? null,
    headers: JSON.stringify(headers),
    text: text.r2Key === null ? text.value : '',
    html: html === null || html.r2Key !== null ? null : html.value,
    structure: parsed.structure ?? null,
  };
  run(sql, insertInto(messageContent, content, 'REPLACE'));
  indexMessage(sql, position, {
    ...parsed,
    text: text.value,
    fileNames: attachments.map((attachment) => attachment.fileName),
  });
}

export interface MessagePatch extends Omit<BatchPatch, 'folderKey'> {
  /** The only folder of the message after the change. */
  readonly folder?: FolderRow | undefined;
  /** All folders of the message after the change, at least one. Alternative to `folder`. */
  readonly folders?: readonly FolderRow[] | undefined;
  /** True if a mark of one of the message's folders changed, which is recorded as a change of the message. */
  readonly isMarked?: boolean;
}

const updatePlaces = statement<
  Readonly<Record<FlagColumn, number>> & {
    position: number;
    folder: number;
    alsoIn: string | null;
    snoozedUntil: number | null;
    isVisible: number;
    expiresAt: number | null;
  }
>(
  `UPDATE message SET folder = :folder, also_in = :alsoIn, ${FLAG_COLUMNS.map((name) => `${name} = :${name}`).join(', ')},
     snoozed_until = :snoozedUntil, is_visible = :isVisible,
     expires_at = CASE WHEN :folder = folder AND is_visible = :isVisible THEN expires_at ELSE :expiresAt END
   WHERE position = :position`,
);

/** Changes a message's folders, flags or labels. Updates counts, views and the change log. @returns false if nothing changed. */
export function patchMessage(sql: SqlStorage, before: MessageState, patch: MessagePatch, now: number): boolean {
  const { position } = before;
  const from = foldersOf(before).map((folder) => findFolderByNumber(sql, folder));
  const to = visibleFirst(patch.folders ?? (patch.folder ? [patch.folder] : from));
  const [main] = to;
  if (!main) throw new Error('the message is in no folder');
  const flags = toFlagColumns(before, patch);
  const isVisible = Number(!to.every(isHidden));
  const labelsChanged = patchLabels(sql, position, patch);
  const isIn = (folders: readonly FolderRow[], { folder }: FolderRow) => folders.some((each) => each.folder === folder);
  const left = from.filter((each) => !isIn(to, each));
  const entered = to.filter((each) => !isIn(from, each));
  const isMoved = left.length + entered.length > 0;
  const snoozedUntil =
    patch.snoozedUntil === undefined && !isMoved ? before.snoozed_until : (patch.snoozedUntil ?? null);
  const marksChanged =
    FLAG_COLUMNS.some((column) => flags[column] !== before[column]) || snoozedUntil !== before.snoozed_until;
  if (!isMoved && !marksChanged && !labelsChanged && !patch.isMarked) return false;
  if (isMoved || marksChanged) {
    execute(sql, updatePlaces, {
      ...flags,
      position,
      folder: main.folder,
      alsoIn: toAlsoIn(to),
      snoozedUntil,
      isVisible,
      expiresAt: isVisible ? null : now + HIDDEN_MAIL_AGE_MAX_MS,
    });
    for (const { folder } of left) deletePlace(sql, folder, position);
    const uid = mintUid(sql);
    for (const { folder } of entered) insertPlace(sql, folder, position, uid);
    const place = {
      folders: to.map(({ folder }) => folder),
      isUnread: flags.is_read === 0,
      sizeBytes: before.size_bytes,
      uid,
    };
    updateCounts(sql, placeOf(before), place);
    const wasFlagged = before.is_flagged && before.is_visible ? 1 : 0;
    const nowFlagged = flags.is_flagged && isVisible ? 1 : 0;
    addToFlaggedCounts(
      sql,
      nowFlagged - wasFlagged,
      nowFlagged * (1 - flags.is_read) - wasFlagged * (1 - before.is_read),
    );
  }
  recordChange(
    sql,
    {
      type: 'message_updated',
      message_id: before.message_id,
      ...nameEmail(sql, before),
      folder_id: main.folder_id,
      thread_id: formatThreadId(before.thread),
      ...toFlagJson(toFlags(flags)),
      ...(snoozedUntil === before.snoozed_until ? {} : { snoozed_until: toIsoTime(snoozedUntil) }),
      labels: listLabels(sql, position),
      ...(to.length > 1 ? { folder_ids: to.map(({ folder_id }) => folder_id) } : {}),
      ...(left.length > 0 ? { left_folder_ids: left.map(({ folder_id }) => folder_id) } : {}),
    },
    now,
  );
  return true;
}

/** @returns all R2 keys in the rows of a message. */
export const listStoredKeys = (sql: SqlStorage, position: number): string[] =>
  [
    ...sql.exec<{ r2_key: string | null }>(
      `SELECT raw_key AS r2_key FROM message WHERE position = ?1
       UNION ALL SELECT text_key FROM message_content WHERE position = ?1
       UNION ALL SELECT html_key FROM message_content WHERE position = ?1
       UNION ALL SELECT json_extract(value, '$.r2Key') FROM message_content, json_each(attachments) WHERE position = ?1
       UNION ALL SELECT r2_key FROM upload WHERE draft_position = ?1`,
      position,
    ),
  ].flatMap((row) => row.r2_key ?? []);

/**
 * Age of a received message up to which its delivery key is kept when it is erased, so that a retry of its sender is still
 * recognised.
 */
const RETRY_AGE_MAX_MS = 30 * 24 * 3_600_000;

/** Erases a message with its search terms, counts and quota. Its R2 objects become garbage. */
export function eraseMessage(sql: SqlStorage, message: MessageState, now: number): void {
  const { position } = message;
  const folders = foldersOf(message).map((folder) => findFolderByNumber(sql, folder));
  addGarbage(sql, listStoredKeys(sql, position), now);
  unindexMessage(sql, position);
  sql.exec('DELETE FROM upload WHERE draft_position = ?', position);
  sql.exec(
    `INSERT OR IGNORE INTO erased_delivery (delivery_key, message_id, erased_at) SELECT delivery_key, message_id, ?2
     FROM message WHERE position = ?1 AND origin = 'received' AND delivery_key IS NOT NULL AND received_at > ?3`,
    position,
    now,
    now - RETRY_AGE_MAX_MS,
  );
  const email = nameEmail(sql, message);
  const ids = readReferences(sql, position);
  for (const table of ['message_label', 'message_content', 'draft', 'message'])
    sql.exec(`DELETE FROM ${table} WHERE position = ?`, position);
  for (const { folder } of folders) deletePlace(sql, folder, position);
  updateCounts(sql, placeOf(message), null);
  if (message.is_flagged && message.is_visible) addToFlaggedCounts(sql, -1, message.is_read - 1);
  const isThreadEnded = forgetReferences(sql, message.thread, ids);
  if (isThreadEnded) muteThread(sql, message.thread, false, now);
  recordChange(
    sql,
    {
      type: 'message_deleted',
      message_id: message.message_id,
      ...email,
      folder_id: folders[0]?.folder_id ?? '',
      thread_id: formatThreadId(message.thread),
      left_folder_ids: folders.map(({ folder_id }) => folder_id),
      ...(isThreadEnded ? { thread: 'ended' } : {}),
    },
    now,
  );
}
