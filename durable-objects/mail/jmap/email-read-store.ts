/** Reads emails (RFC 8621 §4.1.1) and threads (§3) for JMAP: only the properties that need no bytes of the message. */
import { parseEmailId } from '../../../workers/mail/domain/email-id.ts';
import { measureJson } from '../../../workers/shared/pure/request-budget.ts';
import { execute, statement } from '../../../workers/shared/stores/statement.ts';
import type { EmailRecord, EmailText, ThreadRecord } from '../contract/jmap.ts';
import { readRows } from '../database/store.ts';
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
import { toPosition } from '../messages/position-store.ts';
import { findThread } from '../messages/thread-store.ts';

/**
 * Finds a message by the id of its email. An id of an earlier save of a draft finds nothing, because each save changes the email
 * id.
 */
export function findEmail(sql: SqlStorage, emailId: string): MessageState | null {
  const found = findMessage(sql, parseEmailId(emailId)?.messageId ?? '');
  return found && readEmailId(sql, found) === emailId.toLowerCase() ? found : null;
}

type EmailRow = ListedRow & OpenedRow & { at: number; email_id: string; folder_ids: string; labels: string };

const listRows = statement<{ positions: string }, EmailRow>(
  `SELECT j.key AS at, ${EMAIL_ID} AS email_id, ${LISTED_COLUMNS}, ${OPENED_COLUMNS}, ${LABELS_SQL} AS labels,
     (SELECT json_group_array(f.folder_id) FROM folder AS f WHERE f.folder = m.folder OR f.folder IN
        (SELECT value FROM json_each(m.also_in))) AS folder_ids
   FROM json_each(:positions) AS j CROSS JOIN message AS m ON m.position = j.value`,
);

/** The positions at which messages with these email ids would be, as JSON. */
const toPositions = (ids: readonly string[]): string =>
  JSON.stringify(ids.map((id) => toPosition(parseEmailId(id)?.messageId ?? '')));

/**
 * Reads the rows one by one, so that no more of them are in memory than fit. SQLite does not sort them for the same reason.
 * @returns those of the given messages that exist, in the order of the ids; null if two or more exceed `bytesMax` as JSON.
 */
export function readEmails(sql: SqlStorage, ids: readonly string[], bytesMax: number): EmailRecord[] | null {
  const emails: { readonly at: number; readonly email: EmailRecord }[] = [];
  let leftBytes = bytesMax;
  for (const row of readRows(execute(sql, listRows, { positions: toPositions(ids) }))) {
    // An id of an earlier save of a draft finds nothing.
    if (row.email_id !== ids[row.at]?.toLowerCase()) continue;
    const email = toRecord(row);
    emails.push({ at: row.at, email });
    const bytes = measureJson(email, leftBytes);
    if (bytes === null && emails.length > 1) return null;
    leftBytes -= bytes ?? leftBytes;
  }
  return emails.sort((a, b) => a.at - b.at).map(({ email }) => email);
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
