/** The terms of the search language: operators with their values, and the filters that they stand for. Pure. */
import {
  type EmailFilter,
  EVERY_MESSAGE,
  type KeywordTest,
  not,
  type TextPlace,
  VISIBLE,
} from '../../../workers/mail/domain/email-filter.ts';

/** A word or phrase of a query, with the operator before its colon. */
export interface Term {
  /** Offset in the query, in characters. */
  readonly at: number;
  readonly operator?: string;
  readonly value?: string;
  readonly isQuoted?: boolean;
}

/** Rejects a query. */
export class Refusal extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

export interface QueryContext {
  /** Milliseconds since 1970, for `newer_than:` and `older_than:`. */
  readonly now: number;
  /** Finds the folder that `in:` names by its role, its name or its id; null if there is none. */
  readonly findFolder: (name: string) => { readonly folder_id: string; readonly role: string | null } | null;
}

const TEXT_PLACES: Readonly<Record<string, TextPlace>> = {
  from: 'from',
  to: 'to',
  cc: 'cc',
  bcc: 'bcc',
  subject: 'subject',
  filename: 'files',
};
const keyword = (flag: Extract<KeywordTest, { kind: 'flag' }>['flag']): EmailFilter => ({
  kind: 'keyword',
  test: { kind: 'flag', flag },
  scope: 'message',
});
/** Values of `is:`. */
const STATES: Readonly<Record<string, EmailFilter>> = {
  read: keyword('isRead'),
  seen: keyword('isRead'),
  unread: not(keyword('isRead')),
  unseen: not(keyword('isRead')),
  flagged: keyword('isFlagged'),
  starred: keyword('isFlagged'),
  unflagged: not(keyword('isFlagged')),
  draft: keyword('isDraft'),
  answered: keyword('isAnswered'),
  replied: keyword('isAnswered'),
  unanswered: not(keyword('isAnswered')),
  forwarded: keyword('isForwarded'),
  snoozed: { kind: 'snoozed' },
  muted: { kind: 'muted' },
};
export const OPERATORS = [
  ...Object.keys(TEXT_PLACES),
  ...['in', 'is', 'has', 'label', 'thread', 'list', 'header'],
  ...['before', 'after', 'newer_than', 'older_than', 'larger', 'smaller'],
];
const SPAN_MS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000, m: 30 * 86_400_000, y: 365 * 86_400_000 };

/** Makes the filter of a term. @returns null for a term without letters or digits, such as a lone dash. */
export function toFilter(
  { operator, value = '', isQuoted = false, at }: Term,
  context: QueryContext,
): EmailFilter | null {
  const place = operator === undefined ? 'any' : TEXT_PLACES[operator];
  if (place !== undefined) {
    const isPrefix = !isQuoted && value.endsWith('*');
    const text = isPrefix ? value.slice(0, -1) : value;
    if (!/[\p{L}\p{N}\p{Co}]/u.test(text)) {
      if (operator === undefined && !isQuoted && !isPrefix) return null;
      throw new Refusal(at, 'This term has no word to search for.');
    }
    return { kind: 'text', place, text, match: isPrefix ? 'prefix' : isQuoted ? 'phrase' : 'word' };
  }
  switch (operator) {
    case 'in':
      return toFolderFilter(value, at, context);
    case 'label':
      return { kind: 'keyword', test: { kind: 'label', label: value }, scope: 'message' };
    case 'thread':
      return { kind: 'thread', threadId: value.toLowerCase() };
    case 'list':
      return { kind: 'header', name: 'list-id', text: value };
    case 'header':
      return readHeader(value, at);
    case 'is': {
      const name = value.toLowerCase();
      const state = Object.hasOwn(STATES, name) ? STATES[name] : undefined;
      if (!state) throw new Refusal(at, `"is:" takes ${Object.keys(STATES).join(', ')}.`);
      return state;
    }
    case 'has':
      if (!/^attachments?$/i.test(value)) throw new Refusal(at, '"has:" takes attachment.');
      return { kind: 'has_attachment', value: true };
    case 'before':
    case 'after':
      return { kind: operator, time: readTime(value, at) };
    case 'newer_than':
      return { kind: 'after', time: context.now - readSpan(value, at) };
    case 'older_than':
      return { kind: 'before', time: context.now - readSpan(value, at) };
    case 'larger':
      return { kind: 'min_size', bytes: readBytes(value, at) + 1 };
    case 'smaller':
      return { kind: 'max_size', bytes: readBytes(value, at) };
    default:
      throw new Error(`operator ${operator} has no meaning`);
  }
}

/** Makes the filter of `in:`. The folder `any` stands for all folders, including Junk and Trash. */
function toFolderFilter(name: string, at: number, { findFolder }: QueryContext): EmailFilter {
  if (/^(?:any|anywhere)$/i.test(name)) return EVERY_MESSAGE;
  const folder = findFolder(name);
  if (!folder) throw new Refusal(at, `there is no folder "${name}".`);
  if (folder.role === 'all') return VISIBLE;
  if (folder.role === 'flagged') return { kind: 'and', of: [keyword('isFlagged'), VISIBLE] };
  return { kind: 'in', folderId: folder.folder_id };
}

/** Parses a day, a month, a year, or a time of RFC 3339. All are in UTC. */
function readTime(value: string, at: number): number {
  const day = /^(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?$/.exec(value);
  if (day) {
    const [year, month, date] = [Number(day[1]), Number(day[2] ?? 1), Number(day[3] ?? 1)];
    const time = Date.UTC(year, month - 1, date);
    // `Date.UTC` converts a day or month that does not exist to another date; such values are rejected.
    if (new Date(time).getUTCMonth() === month - 1) return time;
  } else if (/^\d{4}-\d\d-\d\dT/.test(value)) {
    const time = Date.parse(value);
    if (!Number.isNaN(time)) return time;
  }
  throw new Refusal(at, 'Write a date as 2026-01-31.');
}

/** Parses the value of `header:`: `NAME` or `NAME:text`. */
function readHeader(value: string, at: number): EmailFilter {
  const [, name, text = ''] = /^([!-9;-~]{1,76})(?::(.*))?$/s.exec(value) ?? [];
  if (name === undefined) throw new Refusal(at, 'Write a header as header:x-mailer or header:x-mailer:text.');
  return { kind: 'header', name: name.toLowerCase(), text: text === '' ? null : text };
}

/** Parses a time span. A month counts as 30 days, a year as 365. @returns milliseconds. */
function readSpan(value: string, at: number): number {
  const match = /^(\d{1,5})([hdwmy])$/i.exec(value);
  if (!match) throw new Refusal(at, 'Write an age as 12h, 2d, 3w, 6m or 1y.');
  return Number(match[1]) * SPAN_MS[(match[2] ?? 'd').toLowerCase() as keyof typeof SPAN_MS];
}

function readBytes(value: string, at: number): number {
  const match = /^(\d{1,12}(?:\.\d{1,3})?)([kmg]?)i?b?$/i.exec(value);
  if (!match) throw new Refusal(at, 'Write a size as 500, 10K, 5M or 1G.');
  const power = ['', 'k', 'm', 'g'].indexOf((match[2] ?? '').toLowerCase());
  return Math.trunc(Number(match[1]) * 1024 ** power);
}
