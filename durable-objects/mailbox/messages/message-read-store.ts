/** Reads messages: summaries for lists, and single messages in full. */

import type { FolderRole, MailAddress } from '../contract/delivered-message.ts';
import { first, type Row } from '../database/store.ts';
import { type DeliveryState, readDelivery } from './delivery-state-store.ts';
import { type FolderRow, isView } from './folder-store.ts';
import { formatThreadId } from './thread-store.ts';

export interface MessageSummary {
  readonly position: number;
  readonly messageId: string;
  readonly threadId: string;
  readonly folderId: string;
  readonly folderRole: FolderRole | null;
  readonly origin: string;
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly subject: string;
  readonly preview: string;
  readonly sentAt: number | null;
  readonly receivedAt: number;
  readonly sizeBytes: number;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly hasAttachment: boolean;
  readonly labels: readonly string[];
}

export interface AttachmentRow {
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly isInline: boolean;
  readonly contentId: string | null;
  readonly r2Key: string;
}

export interface TextRow {
  readonly value: string | null;
  readonly r2Key: string | null;
}

export interface MessageDetail extends MessageSummary {
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly headerMessageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  /** JSON of the verdicts, as `storeMessage` received it. */
  readonly authentication: string | null;
  readonly spam: string | null;
  readonly text: TextRow;
  readonly html: TextRow | null;
  readonly attachments: readonly AttachmentRow[];
  readonly rawKey: string | null;
  /** The state of each recipient; empty unless the message was sent. */
  readonly delivery: readonly DeliveryState[];
}

interface SummaryRow extends Row {
  position: number;
  message_id: string;
  thread: number;
  folder_id: string;
  role: FolderRole | null;
  origin: string;
  sender: string;
  to_list: string;
  subject: string;
  preview: string;
  sent_at: number | null;
  received_at: number;
  size_bytes: number;
  is_read: number;
  is_flagged: number;
  has_attachment: number;
  labels: string;
}

/** To be read from `message AS m JOIN folder AS f ON f.folder = m.folder`. */
const SUMMARY_COLUMNS = `m.position, m.message_id, m.thread, f.folder_id, f.role, m.origin, m.sender, m.to_list, m.subject,
  m.preview, m.sent_at, m.received_at, m.size_bytes, m.is_read, m.is_flagged, m.has_attachment,
  (SELECT json_group_array(l.label) FROM message_label AS l WHERE l.position = m.position) AS labels`;

const toSummary = (row: SummaryRow): MessageSummary => ({
  position: row.position,
  messageId: row.message_id,
  threadId: formatThreadId(row.thread),
  folderId: row.folder_id,
  folderRole: row.role,
  origin: row.origin,
  from: JSON.parse(row.sender) as MailAddress | null,
  to: JSON.parse(row.to_list) as MailAddress[],
  subject: row.subject,
  preview: row.preview,
  sentAt: row.sent_at,
  receivedAt: row.received_at,
  sizeBytes: row.size_bytes,
  isRead: row.is_read === 1,
  isFlagged: row.is_flagged === 1,
  hasAttachment: row.has_attachment === 1,
  labels: (JSON.parse(row.labels) as string[]).sort(),
});

/** The start of a list page: before a position (exclusive), or after a number of the newest messages. */
export type ListPlace = { readonly before: number } | { readonly offset: number };

/** Skips messages by counting in the narrow index; their rows are not read. @returns a position, exclusive. */
function findOffset(sql: SqlStorage, source: string, offset: number): number {
  if (offset === 0) return Number.MAX_SAFE_INTEGER;
  const query = `SELECT m.position FROM ${source} ORDER BY m.position DESC LIMIT 1 OFFSET ?`;
  const begin = first<{ position: number }>(sql, query, offset);
  return begin === null ? 0 : begin.position + 1;
}

/** Lists messages newest first. Every folder and view has an index in that order. */
export function listMessages(sql: SqlStorage, folder: FolderRow, place: ListPlace, limit: number): MessageSummary[] {
  const where = isView(folder)
    ? folder.role === 'all'
      ? 'm.is_visible = 1'
      : 'm.is_flagged = 1 AND m.is_visible = 1'
    : `m.folder = ${folder.folder}`;
  const index = isView(folder) ? (folder.role === 'all' ? 'message_visible' : 'message_flagged') : 'message_folder';
  const from = `message AS m INDEXED BY ${index}`;
  const before = 'before' in place ? place.before : findOffset(sql, `${from} WHERE ${where}`, place.offset);
  const rows = sql.exec<SummaryRow>(
    `SELECT ${SUMMARY_COLUMNS} FROM ${from} CROSS JOIN folder AS f ON f.folder = m.folder
     WHERE ${where} AND m.position < ? ORDER BY m.position DESC LIMIT ?`,
    before,
    limit,
  );
  return [...rows].map(toSummary);
}

/** @returns summaries in the order of the positions, without erased messages. */
export function readSummaries(sql: SqlStorage, positions: readonly number[]): MessageSummary[] {
  const rows = sql.exec<SummaryRow>(
    `SELECT ${SUMMARY_COLUMNS} FROM json_each(?) AS j CROSS JOIN message AS m ON m.position = j.value
     CROSS JOIN folder AS f ON f.folder = m.folder ORDER BY j.key`,
    JSON.stringify(positions),
  );
  return [...rows].map(toSummary);
}

/** Characters of text per result; an RPC result has at most 32 MiB. */
const THREAD_TEXT_LENGTH_MAX = 4_000_000;

export interface ThreadPage {
  readonly messages: readonly MessageDetail[];
  readonly hasMore: boolean;
}

/** @returns messages oldest first, after a position (exclusive); at least one, however long it is. */
export function readThreadMessages(sql: SqlStorage, thread: number, after: number, limit: number): ThreadPage {
  const messages: MessageDetail[] = [];
  let length = 0;
  for (const { position } of sql.exec<{ position: number }>(
    'SELECT position FROM message WHERE thread = ? AND position > ? ORDER BY position LIMIT ?',
    thread,
    after,
    limit + 1,
  )) {
    if (messages.length === limit || length > THREAD_TEXT_LENGTH_MAX) return { messages, hasMore: true };
    const message = readMessage(sql, position);
    if (!message) continue;
    messages.push(message);
    length += (message.text.value?.length ?? 0) + (message.html?.value?.length ?? 0);
  }
  return { messages, hasMore: false };
}

interface DetailRow extends Row {
  cc_list: string;
  bcc_list: string;
  reply_to_list: string;
  header_message_id: string | null;
  in_reply_to: string | null;
  reference_list: string;
  authentication: string | null;
  spam: string | null;
  raw_key: string | null;
}

export function readMessage(sql: SqlStorage, position: number): MessageDetail | null {
  const [summary] = readSummaries(sql, [position]);
  const row = first<DetailRow>(
    sql,
    `SELECT cc_list, bcc_list, reply_to_list, header_message_id, in_reply_to, reference_list, authentication, spam, raw_key
     FROM message WHERE position = ?`,
    position,
  );
  if (!summary || !row) return null;
  const parts = new Map(
    [
      ...sql.exec<{ kind: string; value: string | null; r2_key: string | null }>(
        "SELECT kind, value, r2_key FROM message_part WHERE position = ? AND kind IN ('text', 'html')",
        position,
      ),
    ].map((part) => [part.kind, { value: part.value, r2Key: part.r2_key }]),
  );
  return {
    ...summary,
    cc: JSON.parse(row.cc_list) as MailAddress[],
    bcc: JSON.parse(row.bcc_list) as MailAddress[],
    replyTo: JSON.parse(row.reply_to_list) as MailAddress[],
    headerMessageId: row.header_message_id,
    inReplyTo: row.in_reply_to,
    references: JSON.parse(row.reference_list) as string[],
    authentication: row.authentication,
    spam: row.spam,
    text: parts.get('text') ?? { value: '', r2Key: null },
    html: parts.get('html') ?? null,
    attachments: listAttachments(sql, position),
    rawKey: row.raw_key,
    delivery: summary.origin === 'sent' ? readDelivery(sql, summary.messageId) : [],
  };
}

export function listAttachments(sql: SqlStorage, position: number): AttachmentRow[] {
  const rows = sql.exec<{
    file_name: string;
    content_type: string;
    size_bytes: number;
    is_inline: number;
    content_id: string | null;
    r2_key: string;
  }>(
    `SELECT file_name, content_type, size_bytes, is_inline, content_id, r2_key FROM attachment
     WHERE position = ? ORDER BY ordinal`,
    position,
  );
  return [...rows].map((row) => ({
    fileName: row.file_name,
    contentType: row.content_type,
    sizeBytes: row.size_bytes,
    isInline: row.is_inline === 1,
    contentId: row.content_id,
    r2Key: row.r2_key,
  }));
}
