/**
 * The full-text index: FTS5, keyed by a message's position. It holds terms only (contentless), because terms are made by
 * `domain/search-text.ts` and snippets come from the message itself.
 */
import { toIndexText } from '../../workers/mail/domain/search-text.ts';
import type { MailAddress } from './delivered-message.ts';

/** Characters of a body that are searchable. */
const INDEXED_TEXT_LENGTH_MAX = 1_000_000;

/** Column filters of the query language name these. */
export const SEARCH_COLUMNS = ['sender', 'recipients', 'copies', 'subject', 'body', 'files'] as const;
export type SearchColumn = (typeof SEARCH_COLUMNS)[number];

/** Beginnings of two and three letters, which many words share, have an index of their own (`prefix`). */
export function createSearchIndex(sql: SqlStorage): void {
  sql.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS message_search USING fts5(
       ${SEARCH_COLUMNS.join(', ')}, content='', contentless_delete=1, prefix='2 3', tokenize="unicode61 remove_diacritics 0")`,
  );
}

export interface SearchableMessage {
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly subject: string;
  readonly text: string;
  readonly fileNames: readonly string[];
}

const toPeopleText = (people: readonly MailAddress[]) =>
  toIndexText(people.map(({ name, email }) => `${name} ${email}`).join(' , '));

/** Adds a message, in place of what was there. */
export function indexMessage(sql: SqlStorage, position: number, message: SearchableMessage): void {
  sql.exec(
    `INSERT OR REPLACE INTO message_search (rowid, ${SEARCH_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    position,
    toPeopleText(message.from ? [message.from] : []),
    toPeopleText(message.to),
    toPeopleText([...message.cc, ...message.bcc]),
    toIndexText(message.subject),
    toIndexText(message.text.slice(0, INDEXED_TEXT_LENGTH_MAX)),
    toIndexText(message.fileNames.join(' ')),
  );
}

export function unindexMessage(sql: SqlStorage, position: number): void {
  sql.exec('DELETE FROM message_search WHERE rowid = ?', position);
}
