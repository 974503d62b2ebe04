/**
 * The search language.
 *
 * - Text: words, "phrases" and prefix*. Words of three characters also match longer words that begin with them.
 * - Fields: `from:` `to:` `cc:` `bcc:` `subject:` `filename:` `list:` `header:`.
 * - Conditions: `in:` `is:` `has:attachment` `label:` `thread:` `before:` `after:` `newer_than:` `older_than:` `larger:`
 * `smaller:`.
 * - Operators: `-` or NOT, OR, and parentheses. Adjacent terms must all match. OR binds tighter, so `a b OR c` means a and (b or
 * c).
 *
 * Any other word directly before a colon and a value is an error, so that a misspelt operator is reported instead of finding
 * nothing. Times, addresses of web pages, `Re:` and quoted text are searched as text.
 *
 * A query that names no folder finds messages outside Junk and Trash.
 */
import { type EmailFilter, EVERY_MESSAGE, not, VISIBLE } from '../../../workers/mail/domain/email-filter.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { toBaseSubject } from './base-subject.ts';
import { OPERATORS, type QueryContext, Refusal, type Term, toFilter } from './search-term.ts';

export interface QueryError {
  /** Offset in the query, in characters. */
  readonly at: number;
  readonly message: string;
}

export const QUERY_LENGTH_MAX = 1_000;
const TERMS_MAX = 50;
const DEPTH_MAX = 10;

/**
 * An operator that does not exist: a word directly before a colon and a value. If a second colon, a slash or a backslash follows,
 * it is text, such as `std::map` or `https://`.
 */
const UNKNOWN_OPERATOR = /^(\p{L}[\p{L}_-]*):(?=[^\s()/\\:])/u;
/** URI schemes that are written without slashes. Such a word before a colon is text, not an unknown operator. */
const SCHEMES = /^(?:mailto|tel|sms|cid|mid|urn|news|xmpp|sip|sips|magnet|geo|data|localhost)$/i;

interface Token extends Term {
  readonly kind: 'open' | 'close' | 'or' | 'not' | 'term';
}

/** Parses a query. @returns the filter; null for a query without a term. */
export function parseSearch(query: string, context: QueryContext): Result<EmailFilter | null, QueryError> {
  if (query.length > QUERY_LENGTH_MAX)
    return err({ at: QUERY_LENGTH_MAX, message: `A query has at most ${QUERY_LENGTH_MAX} characters.` });
  try {
    const tokens = [...tokenize(query)];
    if (tokens.filter((token) => token.kind === 'term').length > TERMS_MAX) {
      return err({ at: 0, message: `A query has at most ${TERMS_MAX} terms.` });
    }
    if (tokens.length === 0) return ok(null);
    const parser = { tokens, next: 0, end: query.length, context };
    const { filter, namesFolder } = parseAll(parser, 0);
    const rest = tokens[parser.next];
    if (rest) throw new Refusal(rest.at, 'Unmatched ")".');
    return ok(namesFolder ? filter : joinAll([filter, VISIBLE]));
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
  readonly context: QueryContext;
  readonly tokens: readonly Token[];
  next: number;
  readonly end: number;
}

interface Part {
  readonly filter: EmailFilter;
  /** Whether the part has an `in:` that is not negated. */
  readonly namesFolder: boolean;
}

/** Joins filters that must all match. The members of an `and` become members of the result. */
function joinAll(filters: readonly EmailFilter[]): EmailFilter {
  const of = filters.flatMap((filter) => (filter.kind === 'and' ? filter.of : [filter]));
  return of.length === 1 ? (of[0] ?? EVERY_MESSAGE) : { kind: 'and', of };
}

function parseAll(parser: Parser, depth: number): Part {
  const opened = parser.tokens[parser.next]?.at ?? parser.end;
  if (depth > DEPTH_MAX) throw new Refusal(opened, `Parentheses may be nested at most ${DEPTH_MAX} deep.`);
  const parts: Part[] = [];
  let sawTerm = false;
  for (let token = parser.tokens[parser.next]; token && token.kind !== 'close'; token = parser.tokens[parser.next]) {
    sawTerm = true;
    const part = parseAlternatives(parser, depth);
    if (part) parts.push(part);
  }
  if (parts.length === 0)
    throw new Refusal(opened, sawTerm ? 'The query has no term to search for.' : 'Empty parentheses.');
  return { filter: joinAll(parts.map((part) => part.filter)), namesFolder: parts.some((part) => part.namesFolder) };
}

function parseAlternatives(parser: Parser, depth: number): Part | null {
  const parts = [parseOne(parser, depth)];
  for (let token = parser.tokens[parser.next]; token?.kind === 'or'; token = parser.tokens[parser.next]) {
    parser.next += 1;
    const following = parser.tokens[parser.next];
    if (!following || following.kind === 'close' || following.kind === 'or')
      throw new Refusal(token.at, 'OR needs a term after it.');
    parts.push(parseOne(parser, depth));
  }
  const of = parts.filter((part) => part !== null);
  if (of.length < 2) return of[0] ?? null;
  const namesFolder = of.some((part) => part.namesFolder);
  return { filter: { kind: 'or', of: of.map((part) => part.filter) }, namesFolder };
}

function parseOne(parser: Parser, depth: number): Part | null {
  const token = parser.tokens[parser.next];
  if (!token || token.kind === 'close') throw new Refusal(token?.at ?? parser.end, 'A term is missing here.');
  parser.next += 1;
  if (token.kind === 'or') throw new Refusal(token.at, 'OR needs a term before it.');
  if (token.kind === 'not') {
    if (depth >= DEPTH_MAX) throw new Refusal(token.at, `Negations may be nested at most ${DEPTH_MAX} deep.`);
    const part = parseOne(parser, depth + 1);
    return part && { filter: not(part.filter), namesFolder: false };
  }
  if (token.kind === 'open') {
    const part = parseAll(parser, depth + 1);
    const close = parser.tokens[parser.next];
    if (close?.kind !== 'close') throw new Refusal(token.at, 'Unmatched "(".');
    parser.next += 1;
    return part;
  }
  const filter = toFilter(token, parser.context);
  return filter && { filter, namesFolder: token.operator === 'in' };
}
