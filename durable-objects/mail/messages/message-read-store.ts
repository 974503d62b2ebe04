/** Reads messages: summaries for lists, and single messages in full. */

import type { HeaderField } from '../../../workers/mail/domain/written-fields.ts';
import type { MailAddress, StoredAttachment } from '../contract/delivered-message.ts';
import type { FolderRole, FolderRow } from '../contract/folders.ts';
import type { ListPlace, MessageDetail, MessageSummary, ThreadPage } from '../contract/messages.ts';
import { first, type Row } from '../database/store.ts';
import { readDelivery } from './delivery-state-store.ts';
import { formatThreadId, isThreadMuted } from './thread-store.ts';

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
  is_answered: number;
  is_forwarded: number;
  snoozed_until: number | null;
  has_attachment: number;
  labels: string;
}

/** SQL columns of a summary, for a query of `message AS m JOIN folder AS f ON f.folder = m.folder`. */
const SUMMARY_COLUMNS = `m.position, m.message_id, m.thread, f.folder_id, f.role, m.origin, m.sender, m.to_list, m.subject,
  m.preview, m.sent_at, m.received_at, m.size_bytes, m.is_read, m.is_flagged, m.is_answered, m.is_forwarded, m.snoozed_until, m.has_attachment,
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
  isAnswered: row.is_answered === 1,
  isForwarded: row.is_forwarded === 1,
  snoozedUntil: row.snoozed_until,
  hasAttachment: row.has_attachment === 1,
  labels: (JSON.parse(row.labels) as string[]).sort(),
});

/**
 * Finds the position that follows the newest `offset` messages. Counts in a narrow index, without reading their rows.
 * @returns a position, exclusive.
 */
function findOffset(sql: SqlStorage, source: string, offset: number): number {
  if (offset === 0) return Number.MAX_SAFE_INTEGER;
  const query = `SELECT m.position FROM ${source} ORDER BY m.position DESC LIMIT 1 OFFSET ?`;
  const begin = first<{ position: number }>(sql, query, offset);
  return begin === null ? 0 : begin.position + 1;
}

/** Lists messages newest first. Every folder and view has an index in this order. */
export function listMessages(sql: SqlStorage, folder: FolderRow, place: ListPlace, limit: number): MessageSummary[] {
  const [index, where] = toListIndex(folder);
  const before = 'before' in place ? place.before : findOffset(sql, `${index} WHERE ${where}`, place.offset);
  const rows = sql.exec<{ position: number }>(
    `SELECT m.position FROM ${index} WHERE ${where} AND m.position < ? ORDER BY m.position DESC LIMIT ?`,
    before,
    limit,
  );
  return readSummaries(
    sql,
    [...rows].map(({ position }) => position),
  );
}

function toListIndex({ role, folder }: FolderRow): readonly [from: string, where: string] {
  if (role === 'all') return ['message AS m INDEXED BY message_visible', 'm.is_visible = 1'];
  if (role === 'flagged') return ['message AS m INDEXED BY message_flagged', 'm.is_flagged = 1 AND m.is_visible = 1'];
  return ['message_folder AS m', `m.folder = ${folder}`];
}

/** @returns the summaries of messages in the order of the positions. Erased messages are omitted. */
export function readSummaries(sql: SqlStorage, positions: readonly number[]): MessageSummary[] {
  const rows = sql.exec<SummaryRow>(
    `SELECT ${SUMMARY_COLUMNS} FROM json_each(?) AS j CROSS JOIN message AS m ON m.position = j.value
     CROSS JOIN folder AS f ON f.folder = m.folder ORDER BY j.key`,
    JSON.stringify(positions),
  );
  return [...rows].map(toSummary);
}

/** Maximum of characters of text and headers per result. The platform limits an RPC result to 32 MiB. */
const THREAD_TEXT_LENGTH_MAX = 4_000_000;

/** @returns messages after a position (exclusive), oldest first: at least one, however long it is. */
export function readThreadMessages(sql: SqlStorage, thread: number, after: number, limit: number): ThreadPage {
  const messages: MessageDetail[] = [];
  const isMuted = isThreadMuted(sql, thread);
  let length = 0;
  for (const { position } of sql.exec<{ position: number }>(
    'SELECT position FROM message WHERE thread = ? AND position > ? ORDER BY position LIMIT ?',
    thread,
    after,
    limit + 1,
  )) {
    if (messages.length === limit || length > THREAD_TEXT_LENGTH_MAX) return { messages, isMuted, hasMore: true };
    const message = readMessage(sql, position);
    if (!message) continue;
    messages.push(message);
    length += message.headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
    length += (message.text.value?.length ?? 0) + (message.html?.value?.length ?? 0);
  }
  return { messages, isMuted, hasMore: false };
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
  attachments: string;
  headers: string;
  text_key: string | null;
  html_key: string | null;
  text: string;
  html: string | null;
}

export const readMessageId = (sql: SqlStorage, position: number): string | null =>
  first<{ id: string }>(sql, 'SELECT message_id AS id FROM message WHERE position = ?', position)?.id ?? null;

export function readMessage(sql: SqlStorage, position: number): MessageDetail | null {
  const [summary] = readSummaries(sql, [position]);
  const row = first<DetailRow>(
    sql,
    `SELECT m.cc_list, m.bcc_list, m.reply_to_list, m.header_message_id, m.in_reply_to, m.reference_list, m.authentication,
       m.spam, m.raw_key, c.attachments, c.headers, c.text_key, c.html_key, c.text, c.html
     FROM message AS m CROSS JOIN message_content AS c ON c.position = m.position WHERE m.position = ?`,
    position,
  );
  if (!summary || !row) return null;
  return {
    ...summary,
    cc: JSON.parse(row.cc_list) as MailAddress[],
    bcc: JSON.parse(row.bcc_list) as MailAddress[],
    replyTo: JSON.parse(row.reply_to_list) as MailAddress[],
    headerMessageId: row.header_message_id,
    inReplyTo: row.in_reply_to,
    references: JSON.parse(row.reference_list) as string[],
    headers: JSON.parse(row.headers) as HeaderField[],
    authentication: row.authentication,
    spam: row.spam,
    text: { value: row.text_key === null ? row.text : null, r2Key: row.text_key },
    html: row.html === null && row.html_key === null ? null : { value: row.html, r2Key: row.html_key },
    attachments: JSON.parse(row.attachments) as StoredAttachment[],
    rawKey: row.raw_key,
    delivery: summary.origin === 'sent' ? readDelivery(sql, position) : [],
  };
}
