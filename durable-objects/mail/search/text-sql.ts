/** Compiles the texts of a filter to expressions of the full-text index (FTS5). */
import type { EmailFilter, TextFilter, TextPlace } from '../../../workers/mail/domain/email-filter.ts';
import { toInflections, toSearchPhrase } from '../../../workers/mail/domain/search-text.ts';
import { PERIOD_TERM_SQL, PREFIX_LENGTHS } from '../database/search-index-store.ts';

export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlStorageValue[];
}

/** A text that must match, as an FTS5 expression. */
export interface TextTest {
  readonly expression: string;
  /** True for one term or its inflections, which is cheap to test on a single message. */
  readonly isOneTerm: boolean;
  /**
   * FTS5 expressions for parts of the text. Each matches at least the messages that the whole text matches, so its row count
   * shows how selective the text is.
   */
  readonly probes: readonly string[];
}

/**
 * How texts are tested: all messages of the window at once, or each message alone. The window is of positions: before `before`
 * (exclusive), from `floor`. `periods` is an FTS5 expression that narrows the full-text index to the window.
 */
export interface TextScope {
  readonly kind: 'window' | 'message';
  readonly before: number;
  readonly floor: number;
  readonly periods: string | null;
}

const COLUMN_OF: Readonly<Record<Exclude<TextPlace, 'any'>, string>> = {
  from: 'sender',
  to: 'recipients',
  cc: 'copies',
  bcc: 'hidden',
  subject: 'subject',
  body: 'body',
  files: 'files',
};

const inColumn = (place: TextPlace, expression: string): string =>
  place === 'any' ? expression : `{${COLUMN_OF[place]}} : ${expression}`;

/** Terms contain only letters, digits and marks, so quotes need no escaping. */
const quote = (terms: readonly string[], isPrefix = false): string => `"${terms.join(' ')}"${isPrefix ? '*' : ''}`;

/** @returns the FTS5 expression of a text; null if folding leaves no term of it. */
function toTextExpression(filter: TextFilter): string | null {
  const { place, match } = filter;
  const parts = toSearchPhrase(filter);
  const [only] = parts;
  if (!only) return null;
  const terms = parts.map((part) => part.term);
  const forms = [quote(terms, parts.at(-1)?.isPrefix)];
  if (match === 'word' && parts.length === 1)
    for (const form of toInflections(only.term))
      if (!only.isPrefix || !form.startsWith(only.term)) forms.push(quote([form]));
  return inColumn(place, forms.length === 1 ? forms.join('') : `(${forms.join(' OR ')})`);
}

/**
 * @returns the FTS5 expression of a filter. Null if the filter has conditions other than text, or is a lone negation, which FTS5
 * cannot express.
 */
export function toMatch(filter: EmailFilter): string | null {
  switch (filter.kind) {
    case 'text':
      return toTextExpression(filter);
    case 'or': {
      const parts = filter.of.map(toMatch);
      return parts.length === 0 || parts.includes(null) ? null : `(${parts.join(' OR ')})`;
    }
    case 'and': {
      const positive = filter.of.filter((part) => part.kind !== 'none').map(toMatch);
      const negative = filter.of.flatMap((part) => (part.kind === 'none' ? part.of : [])).map(toMatch);
      if (positive.length === 0 || positive.includes(null) || negative.includes(null)) return null;
      const base = positive.join(' AND ');
      return negative.length === 0 ? `(${base})` : `((${base}) NOT (${negative.join(' OR ')}))`;
    }
    default:
      return null;
  }
}

/** @param filters texts that must match: `toMatch` is not null for any of them. */
export function toTextTests(filters: readonly EmailFilter[]): TextTest[] {
  const tests = filters.map(toTextTest);
  if (tests.length <= TESTS_MAX) return tests;
  const others = tests.slice(TESTS_MAX - 1).map(({ expression }) => `(${expression})`);
  return [...tests.slice(0, TESTS_MAX - 1), { expression: others.join(' AND '), isOneTerm: false, probes: [] }];
}

/** Maximum of texts that are tested each alone. A statement takes at most 100 values; further texts are tested as one. */
const TESTS_MAX = 16;

function toTextTest(filter: EmailFilter): TextTest {
  const expression = toMatch(filter) ?? '';
  if (filter.kind !== 'text') return { expression, isOneTerm: false, probes: [] };
  const parts = toSearchPhrase(filter);
  if (parts.length === 1) return { expression, isOneTerm: true, probes: [expression] };
  const probes = parts.map(({ term, isPrefix }) => inColumn(filter.place, quote([term], isPrefix)));
  return { expression, isOneTerm: false, probes };
}

/**
 * Whether an expression has a prefix of a length that is not indexed. FTS5 then collects all messages with such a word before its
 * first answer, so it must not be asked about each message alone.
 */
export const isScannedPrefix = (expression: string): boolean =>
  [...expression.matchAll(/([^" ]+)"\*/g)].some(([, term = '']) => !PREFIX_LENGTHS.includes([...term].length));

/** @returns the SQL condition that a message has a text. @param expression the text as an FTS5 expression. */
export function toTextCondition(expression: string, isOneTerm: boolean, scope: TextScope): Condition {
  if (scope.kind === 'window' || isScannedPrefix(expression)) {
    // LIMIT keeps the order of the subquery. FTS5 ends quickly at the window's end only if it reads the newest message first.
    return {
      sql: `m.position IN (SELECT rowid FROM message_search WHERE rowid < ${scope.before} AND rowid >= ${scope.floor}
        AND message_search MATCH ? ORDER BY rowid DESC LIMIT -1)`,
      values: [scope.periods === null ? expression : `${scope.periods} AND (${expression})`],
    };
  }
  // Without a hit, FTS5 searches on to the next hit, however far away. Requiring the message's period term stops it.
  const asked = isOneTerm ? '?' : `${PERIOD_TERM_SQL} || ' AND (' || ? || ')'`;
  return {
    sql: `EXISTS (SELECT 1 FROM message_search WHERE message_search.rowid = m.position AND message_search MATCH ${asked})`,
    values: [expression],
  };
}
