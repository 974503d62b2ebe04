/** Reads emails (RFC 8621 §4.1.1) and threads (§3) for JMAP: only the properties that need no bytes of the message. */
import { parseEmailId } from '../../../workers/mail/domain/email-id.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { MailAddress } from '../contract/delivered-message.ts';
import type { EmailRecord, EmailText, ThreadRecord } from '../contract/jmap.ts';
import { EMAIL_ID, readEmailId } from '../messages/email-id-store.ts';
import { findMessage, type MessageState } from '../messages/message-store.ts';
import { findThread, formatThreadId } from '../messages/thread-store.ts';

/**
 * Finds a message by the id of its email. An id of an earlier save of a draft finds nothing, because each save changes the email
 * id.
 */
export function findEmail(sql: SqlStorage, emailId: string): MessageState | null {
  const found = findMessage(sql, parseEmailId(emailId)?.messageId ?? '');
  return found && readEmailId(sql, found) === emailId.toLowerCase() ? found : null;
}

interface EmailRow {
  readonly email_id: string;
  readonly thread: number;
  readonly folder_ids: string;
  readonly origin: string;
  readonly is_read: number;
  readonly is_flagged: number;
  readonly is_answered: number;
  readonly is_forwarded: number;
  readonly labels: string;
  readonly has_attachment: number;
  readonly size_bytes: number;
  readonly received_at: number;
  readonly sent_at: number | null;
  readonly sender: string;
  readonly to_list: string;
  readonly cc_list: string;
  readonly bcc_list: string;
  readonly reply_to_list: string;
  readonly subject: string;
  readonly preview: string;
  readonly header_message_id: string | null;
  readonly in_reply_to: string | null;
  readonly reference_list: string;
  readonly raw_key: string | null;
}

const readRow = statement<{ position: number }, EmailRow & Record<string, SqlStorageValue>>(
  `SELECT ${EMAIL_ID} AS email_id, m.thread, m.origin, m.is_read, m.is_flagged, m.is_answered, m.is_forwarded, m.has_attachment,
     m.size_bytes, m.received_at, m.sent_at, m.sender, m.to_list, m.cc_list, m.bcc_list, m.reply_to_list, m.subject, m.preview,
     m.header_message_id, m.in_reply_to, m.reference_list, m.raw_key,
     (SELECT json_group_array(f.folder_id) FROM folder AS f WHERE f.folder = m.folder OR f.folder IN
        (SELECT value FROM json_each(m.also_in))) AS folder_ids,
     (SELECT json_group_array(l.label) FROM message_label AS l WHERE l.position = m.position) AS labels
   FROM message AS m WHERE m.position = :position`,
);

/** @returns those of the given messages that exist, in the order of the ids. */
export const readEmails = (sql: SqlStorage, ids: readonly string[]): EmailRecord[] =>
  ids.flatMap((id) => {
    const found = findEmail(sql, id);
    return found ? [toRecord(execute(sql, readRow, { position: found.position }).one())] : [];
  });

const toRecord = (row: EmailRow): EmailRecord => ({
  id: row.email_id,
  threadId: formatThreadId(row.thread),
  folderIds: JSON.parse(row.folder_ids) as string[],
  isDraft: row.origin === 'draft',
  isRead: row.is_read === 1,
  isFlagged: row.is_flagged === 1,
  isAnswered: row.is_answered === 1,
  isForwarded: row.is_forwarded === 1,
  labels: JSON.parse(row.labels) as string[],
  hasAttachment: row.has_attachment === 1,
  sizeBytes: row.size_bytes,
  receivedAt: row.received_at,
  sentAt: row.sent_at,
  from: JSON.parse(row.sender) as MailAddress | null,
  to: JSON.parse(row.to_list) as MailAddress[],
  cc: JSON.parse(row.cc_list) as MailAddress[],
  bcc: JSON.parse(row.bcc_list) as MailAddress[],
  replyTo: JSON.parse(row.reply_to_list) as MailAddress[],
  subject: row.subject,
  preview: row.preview,
  messageId: row.header_message_id,
  inReplyTo: row.in_reply_to,
  references: JSON.parse(row.reference_list) as string[],
  rawKey: row.raw_key,
});

const listThread = statement<{ thread: number }, { email_id: string }>(
  `SELECT ${EMAIL_ID} AS email_id FROM message AS m WHERE m.thread = :thread ORDER BY m.position`,
);

/** @returns those of the given threads that exist, in the order of the ids. */
export const readThreads = (sql: SqlStorage, ids: readonly string[]): ThreadRecord[] =>
  ids.flatMap((id) => {
    const thread = findThread(sql, id);
    const emailIds = thread === null ? [] : [...execute(sql, listThread, { thread })].map((row) => row.email_id);
    return emailIds.length > 0 ? [{ id, emailIds }] : [];
  });

/** Characters of a text that are searched for the snippet's words. */
const SNIPPET_TEXT_LENGTH_MAX = 100_000;

const readText = statement<{ position: number; length: number }, { subject: string; text: string | null }>(
  `SELECT m.subject, substr(c.text, 1, :length) AS text FROM message AS m LEFT JOIN message_content AS c ON c.position = m.position
   WHERE m.position = :position`,
);

/** @returns the texts of those of the given messages that exist. */
export const readEmailTexts = (sql: SqlStorage, ids: readonly string[]): EmailText[] =>
  ids.flatMap((id) => {
    const found = findEmail(sql, id);
    if (!found) return [];
    const row = execute(sql, readText, { position: found.position, length: SNIPPET_TEXT_LENGTH_MAX }).one();
    return [{ id, subject: row.subject, text: row.text ?? '' }];
  });

const listNewest = statement<{ limit: number }, { email_id: string }>(
  `SELECT ${EMAIL_ID} AS email_id FROM message AS m ORDER BY m.position DESC LIMIT :limit`,
);

export const listEmailIds = (sql: SqlStorage, limit: number): string[] =>
  [...execute(sql, listNewest, { limit })].map((row) => row.email_id);
