/**
 * The full-text index (FTS5). Its row ids are positions of messages. It stores only terms (a contentless table):
 * `workers/mail/domain/search-text.ts` makes them, and snippets are made from the stored message.
 */
import { toIndexText } from '../../../workers/mail/domain/search-text.ts';
import type { MailAddress } from '../contract/delivered-message.ts';

/** Characters of a body that are indexed. */
const INDEXED_TEXT_LENGTH_MAX = 1_000_000;

/** Columns of the index that can be searched alone. */
export const SEARCH_COLUMNS = ['sender', 'recipients', 'copies', 'hidden', 'subject', 'body', 'files'] as const;

/**
 * Size of a period, as a power of two in microseconds. The last column of the index has one term for the period in which the
 * message arrived. A search in a window of time requires the terms of the window's periods, so it ends there. A range of row ids
 * would not end it: FTS5 reads on to its next hit, even outside the range.
 */
const PERIOD_BITS = 39;
/** First character of a period's term. It is a private-use character, which ordinary text does not contain. */
const PERIOD_MARK = 0xe000;
/** Maximum of period terms per search. A longer window is searched without them. */
const PERIODS_MAX = 64;

const toPeriod = (position: number): number => Math.floor(position / 2 ** PERIOD_BITS);
const toPeriodTerm = (period: number): string => String.fromCharCode(PERIOD_MARK) + period;
/** SQL expression that makes the period term of a message `m`, quoted for FTS5. */
export const PERIOD_TERM_SQL = `'"' || char(${PERIOD_MARK}) || (m.position >> ${PERIOD_BITS}) || '"'`;

/** @returns an FTS5 expression that matches every message in a window of positions and few others; null if it would be too long. */
export function toPeriodsExpression(from: number, before: number): string | null {
  const [first, last] = [toPeriod(from), toPeriod(before - 1)];
  if (last - first >= PERIODS_MAX) return null;
  const terms = Array.from({ length: last - first + 1 }, (_, at) => `"${toPeriodTerm(first + at)}"`);
  return `(${terms.join(' OR ')})`;
}

/** Lengths of indexed prefixes. A prefix of another length is a scan of the index. */
export const PREFIX_LENGTHS: readonly number[] = [2, 3, 5];

/**
 * Creates the index. Prefixes of two, three and five characters are indexed (`prefix`). Such an index also serves prefixes that are
 * one character shorter, at the cost of reading every message with such a word. Longer prefixes match few words.
 */
export function createSearchIndex(sql: SqlStorage): void {
  sql.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS message_search USING fts5(
       ${SEARCH_COLUMNS.join(', ')}, period, content='', contentless_delete=1, prefix='${PREFIX_LENGTHS.join(' ')}', tokenize="unicode61 remove_diacritics 0")`,
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

/** Indexes a message, and replaces its old entry if it has one. */
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
