/** Reads messages: summaries for lists, and single messages in full. */

import type { HeaderField } from '../../../workers/mail/domain/written-fields.ts';
import { measureJson } from '../../../workers/shared/pure/request-budget.ts';
import type { RowOf } from '../../../workers/shared/stores/statement.ts';
import type { MailAddress, StoredAttachment } from '../contract/delivered-message.ts';
import type { FolderRow } from '../contract/folders.ts';
import type { ListPlace, MessageDetail, MessageSummary, ThreadPage } from '../contract/messages.ts';
import { first, readRows } from '../database/store.ts';
import { readDelivery } from './delivery-state-store.ts';
import {
  LABELS_SQL,
  LISTED_COLUMNS,
  type ListedRow,
  type MessageRow,
  OPENED_COLUMNS,
  type OpenedRow,
  toListed,
  toOpened,
} from './message-row-store.ts';
import type { folder, messageContent } from './schema.ts';
import { isThreadMuted } from './thread-store.ts';

type SummaryRow = ListedRow &
  Pick<MessageRow, 'position' | 'message_id'> &
  Pick<RowOf<typeof folder>, 'folder_id' | 'role'> & { labels: string };

/** SQL columns of a summary, for a query of `message AS m JOIN folder AS f ON f.folder = m.folder`. */
const SUMMARY_COLUMNS = `m.position, m.message_id, f.folder_id, f.role, ${LISTED_COLUMNS}, ${LABELS_SQL} AS labels`;

const toSummary = (row: SummaryRow): MessageSummary => ({
  ...toListed(row),
  position: row.position,
  messageId: row.message_id,
  folderId: row.folder_id,
  folderRole: row.role,
  origin: row.origin,
  snoozedUntil: row.snoozed_until,
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
  return readListEntries(
    sql,
    [...rows].map(({ position }) => position),
  );
}

/**
 * Maximum of characters of a subject and of a name in a list, and of all recipients of a message there. The header of a hostile message
 * may have a megabyte, so that a page of them would exceed the memory of an isolate. A message that is read alone is complete.
 */
const LISTED_TEXT_LENGTH_MAX = 1_000;
const LISTED_RECIPIENTS_LENGTH_MAX = 16_000;

/** @returns the summaries of messages for a list, in the order of the positions. Long fields are cut. */
export const readListEntries = (sql: SqlStorage, positions: readonly number[]): MessageSummary[] =>
  readSummaries(sql, positions).map((summary) => ({
    ...summary,
    subject: summary.subject.slice(0, LISTED_TEXT_LENGTH_MAX),
    from: summary.from && cutAddress(summary.from),
    to: cutAddresses(summary.to),
  }));

const cutAddress = ({ name, email }: MailAddress): MailAddress => ({
  name: name.slice(0, LISTED_TEXT_LENGTH_MAX),
  email: email.slice(0, LISTED_TEXT_LENGTH_MAX),
});

function cutAddresses(addresses: readonly MailAddress[]): MailAddress[] {
  let left = LISTED_RECIPIENTS_LENGTH_MAX;
  const kept: MailAddress[] = [];
  for (const address of addresses) {
    const cut = cutAddress(address);
    left -= cut.name.length + cut.email.length;
    if (left < 0) break;
    kept.push(cut);
  }
  return kept;
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
  return [...readRows(rows)].map(toSummary);
}

/**
 * Maximum of bytes of the messages of a page of a thread, as JSON, if it has more than one. The platform limits an RPC result to 32 MiB,
 * and an answer has at most `ANSWER_BYTES_MAX`.
 */
const THREAD_BYTES_MAX = 4_000_000;

/**
 * @returns messages after a position (exclusive), oldest first: at least one, however long it is. A message with a text in R2 is alone
 * on its page.
 */
export function readThreadMessages(sql: SqlStorage, thread: number, after: number, limit: number): ThreadPage {
  const messages: MessageDetail[] = [];
  const isMuted = isThreadMuted(sql, thread);
  let leftBytes = THREAD_BYTES_MAX;
  for (const { position } of sql.exec<{ position: number }>(
    'SELECT position FROM message WHERE thread = ? AND position > ? ORDER BY position LIMIT ?',
    thread,
    after,
    limit + 1,
  )) {
    if (messages.length === limit) return { messages, isMuted, hasMore: true };
    const message = readMessage(sql, position);
    if (!message) continue;
    const isLong = message.text.r2Key !== null || (message.html?.r2Key ?? null) !== null;
    const bytes = isLong ? null : measureJson(message, leftBytes);
    if (bytes === null && messages.length > 0) return { messages, isMuted, hasMore: true };
    messages.push(message);
    leftBytes -= bytes ?? leftBytes;
  }
  return { messages, isMuted, hasMore: false };
}

type DetailRow = OpenedRow &
  Pick<MessageRow, 'authentication' | 'spam'> &
  Omit<RowOf<typeof messageContent>, 'position'>;

export const readMessageId = (sql: SqlStorage, position: number): string | null =>
  first<{ id: string }>(sql, 'SELECT message_id AS id FROM message WHERE position = ?', position)?.id ?? null;

export function readMessage(sql: SqlStorage, position: number): MessageDetail | null {
  const [summary] = readSummaries(sql, [position]);
  const row = first<DetailRow>(
    sql,
    `SELECT ${OPENED_COLUMNS}, m.authentication, m.spam, c.attachments, c.headers, c.text_key, c.html_key, c.text, c.html
     FROM message AS m CROSS JOIN message_content AS c ON c.position = m.position WHERE m.position = ?`,
    position,
  );
  if (!summary || !row) return null;
  return {
    ...summary,
    ...toOpened(row),
    headers: JSON.parse(row.headers) as HeaderField[],
    authentication: row.authentication,
    spam: row.spam,
    text: { value: row.text_key === null ? row.text : null, r2Key: row.text_key },
    html: row.html === null && row.html_key === null ? null : { value: row.html, r2Key: row.html_key },
    attachments: JSON.parse(row.attachments) as StoredAttachment[],
    delivery: summary.origin === 'sent' ? readDelivery(sql, position) : [],
  };
}
