/**
 * The search language.
 *
 * - Text: words, "phrases" and prefix*.
 * - Fields: `from:` `to:` `cc:` `bcc:` `subject:` `filename:` `list:` `header:`.
 * - Conditions: `in:` `is:` `has:attachment` `label:` `thread:` `before:` `after:` `newer_than:` `older_than:` `larger:`
 * `smaller:`.
 * - Operators: `-` or NOT, OR, and parentheses. Adjacent terms must all match. OR binds tighter, so `a b OR c` means a and (b or
 * c).
 *
 * Any other word directly before a colon and a value is an error, so that a misspelt operator is reported instead of finding
 * nothing. Times, addresses of web pages, `Re:` and quoted text are searched as text.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { toBaseSubject } from './base-subject.ts';

export type TextField = 'any' | 'sender' | 'recipients' | 'copies' | 'hidden' | 'subject' | 'files';
export type Flag =
  | 'read'
  | 'unread'
  | 'flagged'
  | 'unflagged'
  | 'draft'
  | 'answered'
  | 'unanswered'
  | 'forwarded'
  | 'snoozed'
  | 'muted';

export type SearchNode =
  | { readonly kind: 'and' | 'or'; readonly of: readonly SearchNode[] }
  | { readonly kind: 'not'; readonly of: SearchNode }
  | {
      readonly kind: 'text';
      readonly field: TextField;
      readonly text: string;
      readonly match: 'word' | 'prefix' | 'phrase';
    }
  /** Messages in a folder. The folder `any` stands for all folders, including Junk and Trash. */
  | { readonly kind: 'in'; readonly folder: string; readonly at: number }
  | { readonly kind: 'is'; readonly flag: Flag }
  | { readonly kind: 'has_attachment' }
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'thread'; readonly threadId: string }
  /** Messages with a header field whose value contains the text. The name of the field is in lower case. */
  | { readonly kind: 'header'; readonly name: string; readonly text: string }
  /** Messages by time of arrival: `before` excludes the time itself, `after` includes it. Milliseconds since 1970 UTC. */
  | { readonly kind: 'before' | 'after'; readonly time: number }
  | { readonly kind: 'larger' | 'smaller'; readonly bytes: number };

export interface QueryError {
  /** Offset in the query, in characters. */
  readonly at: number;
  readonly message: string;
}

export const QUERY_LENGTH_MAX = 1_000;
const TERMS_MAX = 50;
const DEPTH_MAX = 10;

const TEXT_FIELDS: Readonly<Record<string, TextField>> = {
  from: 'sender',
  to: 'recipients',
  cc: 'copies',
  bcc: 'hidden',
  subject: 'subject',
  filename: 'files',
};
const FLAGS: Readonly<Record<string, Flag>> = {
  read: 'read',
  seen: 'read',
  unread: 'unread',
  unseen: 'unread',
  flagged: 'flagged',
  starred: 'flagged',
  unflagged: 'unflagged',
  draft: 'draft',
  answered: 'answered',
  replied: 'answered',
  unanswered: 'unanswered',
  forwarded: 'forwarded',
  snoozed: 'snoozed',
  muted: 'muted',
};
const OPERATORS = [
  ...Object.keys(TEXT_FIELDS),
  ...['in', 'is', 'has', 'label', 'thread', 'list', 'header'],
  ...['before', 'after', 'newer_than', 'older_than', 'larger', 'smaller'],
];
/**
 * An operator that does not exist: a word directly before a colon and a value. If a second colon, a slash or a backslash follows,
 * it is text, such as `std::map` or `https://`.
 */
const UNKNOWN_OPERATOR = /^(\p{L}[\p{L}_-]*):(?=[^\s()/\\:])/u;
/** URI schemes that are written without slashes. Such a word before a colon is text, not an unknown operator. */
const SCHEMES = /^(?:mailto|tel|sms|cid|mid|urn|news|xmpp|sip|sips|magnet|geo|data|localhost)$/i;
const SPAN_MS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000, m: 30 * 86_400_000, y: 365 * 86_400_000 };

interface Token {
  readonly kind: 'open' | 'close' | 'or' | 'not' | 'term';
  readonly at: number;
  readonly operator?: string;
  readonly value?: string;
  readonly isQuoted?: boolean;
}

class Refusal extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** Parses a query. @param now milliseconds since 1970, for `newer_than:` and `older_than:`. @returns null for an empty query. */
export function parseSearch(query: string, now: number): Result<SearchNode | null, QueryError> {
  if (query.length > QUERY_LENGTH_MAX)
    return err({ at: QUERY_LENGTH_MAX, message: `A query has at most ${QUERY_LENGTH_MAX} characters.` });
  try {
    const tokens = [...tokenize(query)];
    if (tokens.filter((token) => token.kind === 'term').length > TERMS_MAX) {
      return err({ at: 0, message: `A query has at most ${TERMS_MAX} terms.` });
    }
    if (tokens.length === 0) return ok(null);
    const parser = { tokens, next: 0, end: query.length, now };
    const node = parseAll(parser, 0);
    const rest = tokens[parser.next];
    if (rest) throw new Refusal(rest.at, 'Unmatched ")".');
    return ok(node);
  } catch (error) {
    if (error instanceof Refusal) return err({ at: error.at, message: error.message });
    throw error;
  }
}

function* tokenize(query: string): Generator<Token> {
  let at = 0;
  while (at < query.length) {
    const character = query[at] ?? '';
    if (/\s/.test(character)) {
      at += 1;
    } else if (character === '(' || character === ')') {
      yield { kind: character === '(' ? 'open' : 'close', at };
      at += 1;
    } else if (/^-[^\s-]/.test(query.slice(at))) {
      yield { kind: 'not', at };
      at += 1;
    } else {
      const { token, end } = readTerm(query, at);
      yield token;
      at = end;
    }
  }
}

function readTerm(query: string, at: number): { token: Token; end: number } {
  const operator = new RegExp(`^(${OPERATORS.join('|')}):`, 'i').exec(query.slice(at))?.[1]?.toLowerCase();
  if (operator === undefined) refuseUnknown(query.slice(at), at);
  const start = operator === undefined ? at : at + operator.length + 1;
  // In `header:NAME:"text"`, the quote begins after the second colon.
  const field = operator === 'header' ? (/^[^\s()":]+:(?=")/.exec(query.slice(start))?.[0] ?? '') : '';
  if (query[start + field.length] === '"') {
    const open = start + field.length;
    const close = query.indexOf('"', open + 1);
    if (close === -1) throw new Refusal(open, 'Unmatched quotation mark.');
    const token: Token = {
      kind: 'term',
      at,
      value: field + query.slice(open + 1, close),
      isQuoted: true,
      ...(operator ? { operator } : {}),
    };
    return { token, end: close + 1 };
  }
  const value = /^[^\s()"]*/.exec(query.slice(start))?.[0] ?? '';
  const end = start + value.length;
  if (operator !== undefined) {
    if (value === '') throw new Refusal(at, `"${operator}:" needs a value.`);
    return { token: { kind: 'term', at, operator, value }, end };
  }
  if (value === 'OR' || value === '|') return { token: { kind: 'or', at }, end };
  if (value === 'NOT') return { token: { kind: 'not', at }, end };
  if (value === 'AND') return { token: { kind: 'term', at, value: '' }, end };
  return { token: { kind: 'term', at, value }, end };
}

function refuseUnknown(text: string, at: number): void {
  const word = UNKNOWN_OPERATOR.exec(text)?.[1];
  if (word === undefined || SCHEMES.test(word) || toBaseSubject(`${word}:`).isReply) return;
  throw new Refusal(at, `Unknown search word "${word}:". Quote it to search for it as text.`);
}

interface Parser {
  readonly now: number;
  readonly tokens: readonly Token[];
  next: number;
  readonly end: number;
}

function parseAll(parser: Parser, depth: number): SearchNode {
  const opened = parser.tokens[parser.next]?.at ?? parser.end;
  if (depth > DEPTH_MAX) throw new Refusal(opened, `Parentheses may be nested at most ${DEPTH_MAX} deep.`);
  const parts: SearchNode[] = [];
  let sawTerm = false;
  for (let token = parser.tokens[parser.next]; token && token.kind !== 'close'; token = parser.tokens[parser.next]) {
    sawTerm = true;
    const part = parseAlternatives(parser, depth);
    if (part) parts.push(part);
  }
  const [only] = parts;
  if (!only) throw new Refusal(opened, sawTerm ? 'The query has no term to search for.' : 'Empty parentheses.');
  return parts.length === 1 ? only : { kind: 'and', of: parts };
}

function parseAlternatives(parser: Parser, depth: number): SearchNode | null {
  const parts = [parseOne(parser, depth)];
  for (let token = parser.tokens[parser.next]; token?.kind === 'or'; token = parser.tokens[parser.next]) {
    parser.next += 1;
    const following = parser.tokens[parser.next];
    if (!following || following.kind === 'close' || following.kind === 'or')
      throw new Refusal(token.at, 'OR needs a term after it.');
    parts.push(parseOne(parser, depth));
  }
  const of = parts.filter((part) => part !== null);
  return of.length > 1 ? { kind: 'or', of } : (of[0] ?? null);
}

function parseOne(parser: Parser, depth: number): SearchNode | null {
  const token = parser.tokens[parser.next];
  if (!token || token.kind === 'close') throw new Refusal(token?.at ?? parser.end, 'A term is missing here.');
  parser.next += 1;
  if (token.kind === 'or') throw new Refusal(token.at, 'OR needs a term before it.');
  if (token.kind === 'not') {
    if (depth >= DEPTH_MAX) throw new Refusal(token.at, `Negations may be nested at most ${DEPTH_MAX} deep.`);
    const of = parseOne(parser, depth + 1);
    return of && { kind: 'not', of };
  }
  if (token.kind === 'open') {
    const node = parseAll(parser, depth + 1);
    const close = parser.tokens[parser.next];
    if (close?.kind !== 'close') throw new Refusal(token.at, 'Unmatched "(".');
    parser.next += 1;
    return node;
  }
  return toNode(token, parser.now);
}

/** Makes the node of a text term. @returns null for a term without letters or digits, such as a lone dash. */
function toNode({ operator, value = '', isQuoted = false, at }: Token, now: number): SearchNode | null {
  const field = operator === undefined ? 'any' : TEXT_FIELDS[operator];
  if (field !== undefined) {
    const isPrefix = !isQuoted && value.endsWith('*');
    const text = isPrefix ? value.slice(0, -1) : value;
    if (!/[\p{L}\p{N}\p{Co}]/u.test(text)) {
      if (operator === undefined && !isQuoted && !isPrefix) return null;
      throw new Refusal(at, 'This term has no word to search for.');
    }
    return { kind: 'text', field, text, match: isPrefix ? 'prefix' : isQuoted ? 'phrase' : 'word' };
  }
  switch (operator) {
    case 'in':
      return { kind: 'in', folder: value, at };
    case 'label':
      return { kind: 'label', label: value };
    case 'thread':
      return { kind: 'thread', threadId: value.toLowerCase() };
    case 'list':
      return { kind: 'header', name: 'list-id', text: value };
    case 'header':
      return readHeader(value, at);
    case 'is': {
      const flag = FLAGS[value.toLowerCase()];
      if (!flag) throw new Refusal(at, `"is:" takes ${Object.keys(FLAGS).join(', ')}.`);
      return { kind: 'is', flag };
    }
    case 'has':
      if (!/^attachments?$/i.test(value)) throw new Refusal(at, '"has:" takes attachment.');
      return { kind: 'has_attachment' };
    case 'before':
    case 'after':
      return { kind: operator, time: readTime(value, at) };
    case 'newer_than':
      return { kind: 'after', time: now - readSpan(value, at) };
    case 'older_than':
      return { kind: 'before', time: now - readSpan(value, at) };
    case 'larger':
    case 'smaller':
      return { kind: operator, bytes: readBytes(value, at) };
    default:
      throw new Error(`operator ${operator} has no meaning`);
  }
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
function readHeader(value: string, at: number): SearchNode {
  const [, name, text = ''] = /^([!-9;-~]{1,76})(?::(.*))?$/s.exec(value) ?? [];
  if (name === undefined) throw new Refusal(at, 'Write a header as header:x-mailer or header:x-mailer:text.');
  return { kind: 'header', name: name.toLowerCase(), text };
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
