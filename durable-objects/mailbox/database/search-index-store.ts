/**
 * The full-text index: FTS5, keyed by a message's position. It holds terms only (contentless): `domain/search-text.ts` makes the terms,
 * and snippets come from the message.
 */
import { toIndexText } from '../../../workers/mail/domain/search-text.ts';
import type { MailAddress } from '../contract/delivered-message.ts';

/** Searchable characters per body. */
const INDEXED_TEXT_LENGTH_MAX = 1_000_000;

/** Column filters of the query language name these. */
export const SEARCH_COLUMNS = ['sender', 'recipients', 'copies', 'hidden', 'subject', 'body', 'files'] as const;
export type SearchColumn = (typeof SEARCH_COLUMNS)[number];

/**
 * The last column holds the time of arrival as one term per period, so that a search in a window of time ends there. A range of
 * rowids does not stop FTS5: it reads on to its next hit. A required term that no later message has does.
 */
const PERIOD_BITS = 39;
/** The term starts with a private-use character, which ordinary text does not contain. */
const PERIOD_MARK = 0xe000;
/** A window that spans more periods is searched without period terms. */
const PERIODS_MAX = 64;

const toPeriod = (position: number): number => Math.floor(position / 2 ** PERIOD_BITS);
const toPeriodTerm = (period: number): string => String.fromCharCode(PERIOD_MARK) + period;
/** SQL expression for the period of a message `m`, as an FTS5 string. */
export const PERIOD_TERM_SQL = `'"' || char(${PERIOD_MARK}) || (m.position >> ${PERIOD_BITS}) || '"'`;

/** @returns an FTS5 expression that matches every message of the window and few others; null if it would be too long. */
export function toPeriodsExpression(from: number, before: number): string | null {
  const [first, last] = [toPeriod(from), toPeriod(before - 1)];
  if (last - first >= PERIODS_MAX) return null;
  const terms = Array.from({ length: last - first + 1 }, (_, at) => `"${toPeriodTerm(first + at)}"`);
  return `(${terms.join(' OR ')})`;
}

/**
 * Prefixes of two, three and five characters have their own indexes (`prefix`). Such an index also serves prefixes one character shorter, at
 * the cost of reading every message with such a word. Longer prefixes match few words.
 */
export function createSearchIndex(sql: SqlStorage): void {
  sql.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS message_search USING fts5(
       ${SEARCH_COLUMNS.join(', ')}, period, content='', contentless_delete=1, prefix='2 3 5', tokenize="unicode61 remove_diacritics 0")`,
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

/** Indexes a message, replacing its old entry. */
export function indexMessage(sql: SqlStorage, position: number, message: SearchableMessage): void {
  sql.exec(
    `INSERT OR REPLACE INTO message_search (rowid, ${SEARCH_COLUMNS.join(', ')}, period) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    position,
    toPeopleText(message.from ? [message.from] : []),
    toPeopleText(message.to),
    toPeopleText(message.cc),
    toPeopleText(message.bcc),
    toIndexText(message.subject),
    toIndexText(message.text.slice(0, INDEXED_TEXT_LENGTH_MAX)),
    toIndexText(message.fileNames.join(' ')),
    toPeriodTerm(toPeriod(position)),
  );
}

export function unindexMessage(sql: SqlStorage, position: number): void {
  sql.exec('DELETE FROM message_search WHERE rowid = ?', position);
}
