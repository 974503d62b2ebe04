/** Writes, changes and erases a message's rows. Each function runs inside the caller's transaction. `arrival-store.ts` decides on arrival. */
import { formatTimeuuid, parseTimeuuid, toTicks } from '../../../workers/shared/timeuuid.ts';
import type { ParsedMessage } from '../contract/delivered-message.ts';
import { recordChange } from '../database/change-store.ts';
import { indexMessage, unindexMessage } from '../database/search-index-store.ts';
import { addGarbage, addUsedBytes, first, type Row, scheduleWake } from '../database/store.ts';
import { addToCounts, addToFlaggedCounts, type FolderRow, findFolderByNumber, isHidden } from './folder-store.ts';
import { insertLabel, type LabelPatch, listLabels, patchLabels } from './label-store.ts';
import { assignThread, formatThreadId, releaseThread } from './thread-store.ts';
import { countHeldBytes } from './upload-store.ts';

export const HIDDEN_MAIL_AGE_MAX_MS = 30 * 24 * 3_600_000;
const PREVIEW_LENGTH_MAX = 200;
const UNIX_EPOCH_TICKS = toTicks(0);

/** @returns microseconds since 1970: the time of arrival, or the next free one after it. */
export function mintPosition(sql: SqlStorage, receivedAt: number): number {
  let from = Math.max(0, Math.trunc(receivedAt)) * 1_000;
  for (;;) {
    const taken = first<{ last: number | null }>(
      sql,
      'SELECT max(position) AS last FROM message WHERE position >= ? AND position < ?',
      from,
      from + 1_000,
    )?.last;
    if (taken === null || taken === undefined) return from;
    if (taken + 1 < from + 1_000) return taken + 1;
    from += 1_000;
  }
}

export function mintMessageId(position: number): string {
  return formatTimeuuid(UNIX_EPOCH_TICKS + BigInt(position) * 10n, crypto.getRandomValues(new Uint8Array(8)));
}

/** The columns that decide how a change is applied. */
export interface MessageState extends Row {
  position: number;
  message_id: string;
  folder: number;
  thread: number;
  origin: string;
  is_read: number;
  is_flagged: number;
  is_visible: number;
  size_bytes: number;
}
const STATE_COLUMNS = 'position, message_id, folder, thread, origin, is_read, is_flagged, is_visible, size_bytes';

/** Finds a message by its public id, whose time is its row id. */
export function findMessage(sql: SqlStorage, messageId: string): MessageState | null {
  const ticks = parseTimeuuid(messageId);
  if (ticks === null || ticks < UNIX_EPOCH_TICKS) return null;
  return first<MessageState>(
    sql,
    `SELECT ${STATE_COLUMNS} FROM message WHERE position = ? AND message_id = ?`,
    Number((ticks - UNIX_EPOCH_TICKS) / 10n),
    messageId.toLowerCase(),
  );
}

export interface NewMessage {
  readonly position: number;
  readonly messageId: string;
  readonly folder: FolderRow;
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
}

/** @returns the thread's number. */
export function insertMessage(sql: SqlStorage, message: NewMessage, now: number): number {
  const { parsed, position, folder } = message;
  const thread = assignThread(sql, parsed, message.receivedAt, now);
  const hidden = isHidden(folder);
  const expiresAt = hidden ? now + HIDDEN_MAIL_AGE_MAX_MS : null;
  sql.exec(
    `INSERT INTO message (position, message_id, folder, thread, origin, is_read, is_flagged, is_visible, has_attachment,
       expires_at, size_bytes, raw_key, raw_sha256, received_at, sent_at, sender, to_list, cc_list, bcc_list, reply_to_list,
       subject, preview, header_message_id, in_reply_to, reference_list, authentication, spam)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    position,
    message.messageId,
    folder.folder,
    thread,
    message.origin,
    Number(message.isRead),
    Number(message.isFlagged),
    Number(!hidden),
    Number(parsed.attachments.some((attachment) => !attachment.isInline)),
    expiresAt,
    message.sizeBytes,
    message.rawKey,
    message.rawSha256,
    message.receivedAt,
    parsed.sentAt,
    JSON.stringify(parsed.from),
    JSON.stringify(parsed.to),
    JSON.stringify(parsed.cc),
    JSON.stringify(parsed.bcc),
    JSON.stringify(parsed.replyTo),
    parsed.subject,
    toPreview(parsed.text.value),
    parsed.messageId,
    parsed.inReplyTo,
    JSON.stringify(parsed.references),
    message.authentication,
    message.spam,
  );
  if (expiresAt !== null) scheduleWake(sql, 'expire', expiresAt);
  insertContent(sql, position, parsed);
  for (const label of message.labels) insertLabel(sql, position, label);
  addToCounts(sql, folder.folder, 1, Number(!message.isRead));
  if (message.isFlagged && !hidden) addToFlaggedCounts(sql, 1, Number(!message.isRead));
  addUsedBytes(sql, message.sizeBytes);
  recordChange(
    sql,
    {
      type: 'message_created',
      message_id: message.messageId,
      folder_id: folder.folder_id,
      thread_id: formatThreadId(thread),
      is_read: message.isRead,
      is_flagged: message.isFlagged,
      labels: listLabels(sql, position),
    },
    now,
  );
  return thread;
}

export const toPreview = (text: string): string =>
  text
    .slice(0, PREVIEW_LENGTH_MAX * 4)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, PREVIEW_LENGTH_MAX);

/** Inserts bodies, attachments and search terms. */
export function insertContent(sql: SqlStorage, position: number, parsed: ParsedMessage): void {
  const parts = {
    text: parsed.text,
    html: parsed.html,
    headers: { value: JSON.stringify(parsed.headers), r2Key: null },
  };
  for (const [kind, part] of Object.entries(parts)) {
    if (part === null) continue;
    sql.exec(
      'INSERT INTO message_part (position, kind, value, r2_key) VALUES (?, ?, ?, ?)',
      position,
      kind,
      part.r2Key === null ? part.value : null,
      part.r2Key,
    );
  }
  for (const [ordinal, attachment] of parsed.attachments.entries()) {
    sql.exec(
      `INSERT INTO attachment (position, ordinal, file_name, content_type, size_bytes, is_inline, content_id, r2_key)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      position,
      ordinal,
      attachment.fileName,
      attachment.contentType,
      attachment.sizeBytes,
      Number(attachment.isInline),
      attachment.contentId,
      attachment.r2Key,
    );
  }
  indexMessage(sql, position, {
    ...parsed,
    text: parsed.text.value,
    fileNames: parsed.attachments.map((attachment) => attachment.fileName),
  });
}

/** Deletes the rows that `insertContent` wrote. The caller deletes their R2 objects. */
export function clearContent(sql: SqlStorage, position: number): void {
  unindexMessage(sql, position);
  sql.exec('DELETE FROM message_part WHERE position = ?', position);
  sql.exec('DELETE FROM attachment WHERE position = ?', position);
}

export interface MessagePatch extends LabelPatch {
  readonly isRead?: boolean | undefined;
  readonly isFlagged?: boolean | undefined;
  readonly folder?: FolderRow | undefined;
}

/** Changes a message's folder, flags or labels, and updates counts, views and the change log. @returns false if nothing changed. */
export function patchMessage(sql: SqlStorage, before: MessageState, patch: MessagePatch, now: number): boolean {
  const from = findFolderByNumber(sql, before.folder);
  const to = patch.folder ?? from;
  const isRead = Number(patch.isRead ?? before.is_read === 1);
  const isFlagged = Number(patch.isFlagged ?? before.is_flagged === 1);
  const isVisible = Number(!isHidden(to));
  const labelsChanged = patchLabels(sql, before.position, patch);
  const isMoved = to.folder !== from.folder;
  if (!isMoved && isRead === before.is_read && isFlagged === before.is_flagged && !labelsChanged) return false;
  if (isMoved || isRead !== before.is_read || isFlagged !== before.is_flagged) {
    sql.exec(
      'UPDATE message SET folder = ?, is_read = ?, is_flagged = ?, is_visible = ? WHERE position = ?',
      to.folder,
      isRead,
      isFlagged,
      isVisible,
      before.position,
    );
    const unreadBefore = 1 - before.is_read;
    addToCounts(sql, from.folder, -1, -unreadBefore);
    addToCounts(sql, to.folder, 1, 1 - isRead);
    if (before.is_flagged && before.is_visible) addToFlaggedCounts(sql, -1, -unreadBefore);
    if (isFlagged && isVisible) addToFlaggedCounts(sql, 1, 1 - isRead);
  }
  if (isMoved) {
    const expiresAt = isVisible ? null : now + HIDDEN_MAIL_AGE_MAX_MS;
    sql.exec('UPDATE message SET expires_at = ? WHERE position = ?', expiresAt, before.position);
    if (expiresAt !== null) scheduleWake(sql, 'expire', expiresAt);
  }
  recordChange(
    sql,
    {
      type: 'message_updated',
      message_id: before.message_id,
      folder_id: to.folder_id,
      thread_id: formatThreadId(before.thread),
      is_read: isRead === 1,
      is_flagged: isFlagged === 1,
      labels: listLabels(sql, before.position),
    },
    now,
  );
  return true;
}

/** @returns every R2 key that a message's rows name. */
export const listStoredKeys = (sql: SqlStorage, position: number): string[] =>
  [
    ...sql.exec<{ r2_key: string }>(
      `SELECT raw_key AS r2_key FROM message WHERE position = ?1 AND raw_key IS NOT NULL
       UNION ALL SELECT r2_key FROM message_part WHERE position = ?1 AND r2_key IS NOT NULL
       UNION ALL SELECT r2_key FROM attachment WHERE position = ?1
       UNION ALL SELECT r2_key FROM upload WHERE draft_position = ?1`,
      position,
    ),
  ].map((row) => row.r2_key);

/** Erases a message: rows, search terms, counts, quota. Its R2 objects become garbage. */
export function eraseMessage(sql: SqlStorage, message: MessageState, now: number): void {
  const { position } = message;
  const folder = findFolderByNumber(sql, message.folder);
  addGarbage(sql, listStoredKeys(sql, position), now);
  const uploadBytes = countHeldBytes(sql, position);
  unindexMessage(sql, position);
  sql.exec('DELETE FROM upload WHERE draft_position = ?', position);
  for (const table of ['message_label', 'attachment', 'message_part', 'draft', 'message']) {
    sql.exec(`DELETE FROM ${table} WHERE position = ?`, position);
  }
  const unread = 1 - message.is_read;
  addToCounts(sql, folder.folder, -1, -unread);
  if (message.is_flagged && message.is_visible) addToFlaggedCounts(sql, -1, -unread);
  addUsedBytes(sql, -message.size_bytes - uploadBytes);
  releaseThread(sql, message.thread);
  recordChange(
    sql,
    {
      type: 'message_deleted',
      message_id: message.message_id,
      folder_id: folder.folder_id,
      thread_id: formatThreadId(message.thread),
    },
    now,
  );
}
