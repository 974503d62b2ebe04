/** Reads emails (RFC 8621 §4.1.1) and threads (§3) for JMAP: only the properties that need no bytes of the message. */
import { parseEmailId } from '../../../workers/mail/domain/email-id.ts';
import { measureJson } from '../../../workers/shared/pure/request-budget.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { EmailRecord, EmailText, ThreadRecord } from '../contract/jmap.ts';
import { EMAIL_ID, readEmailId } from '../messages/email-id-store.ts';
import {
  LABELS_SQL,
  LISTED_COLUMNS,
  type ListedRow,
  type MessageState,
  OPENED_COLUMNS,
  type OpenedRow,
  toListed,
  toOpened,
} from '../messages/message-row-store.ts';
import { findMessage } from '../messages/message-store.ts';
import { findThread } from '../messages/thread-store.ts';

/**
 * Finds a message by the id of its email. An id of an earlier save of a draft finds nothing, because each save changes the email
 * id.
 */
export function findEmail(sql: SqlStorage, emailId: string): MessageState | null {
  const found = findMessage(sql, parseEmailId(emailId)?.messageId ?? '');
  return found && readEmailId(sql, found) === emailId.toLowerCase() ? found : null;
}

type EmailRow = ListedRow & OpenedRow & { email_id: string; folder_ids: string; labels: string };

const readRow = statement<{ position: number }, EmailRow>(
  `SELECT ${EMAIL_ID} AS email_id, ${LISTED_COLUMNS}, ${OPENED_COLUMNS}, ${LABELS_SQL} AS labels,
     (SELECT json_group_array(f.folder_id) FROM folder AS f WHERE f.folder = m.folder OR f.folder IN
        (SELECT value FROM json_each(m.also_in))) AS folder_ids
   FROM message AS m WHERE m.position = :position`,
);

/** @returns those of the given messages that exist, in the order of the ids. */
export const readEmails = (sql: SqlStorage, ids: readonly string[]): EmailRecord[] =>
  ids.flatMap((id) => {
    const found = findEmail(sql, id);
    return found ? [toRecord(execute(sql, readRow, { position: found.position }).one())] : [];
  });

/** @returns those of the given messages that exist; null if two or more exceed `bytesMax` as JSON. */
export function readEmailsWithin(sql: SqlStorage, ids: readonly string[], bytesMax: number): EmailRecord[] | null {
  const emails: EmailRecord[] = [];
  let leftBytes = bytesMax;
  for (const id of ids) {
    for (const email of readEmails(sql, [id])) {
      emails.push(email);
      const bytes = measureJson(email, leftBytes);
      if (bytes === null && emails.length > 1) return null;
      leftBytes -= bytes ?? leftBytes;
    }
  }
  return emails;
}

function toRecord(row: EmailRow): EmailRecord {
  const { headerMessageId, ...opened } = toOpened(row);
  return {
    ...toListed(row),
    ...opened,
    id: row.email_id,
    messageId: headerMessageId,
    folderIds: JSON.parse(row.folder_ids) as string[],
    isDraft: row.origin === 'draft',
    labels: JSON.parse(row.labels) as string[],
  };
}

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
