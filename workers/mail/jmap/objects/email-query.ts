/** Reads filters and sorts of messages (RFC 8621 §4.4). */
import { z } from '@hono/zod-openapi';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import {
  type EmailFilter,
  type EmailQuery,
  type EmailSort,
  type KeywordTest,
  NO_MESSAGE,
  not,
  type TextFilter,
  type TextPlace,
} from '../../domain/email-filter.ts';
import { DRAFT_KEYWORD, FLAG_KEYWORDS, toLabel } from '../../domain/keywords.ts';
import { toPhrase } from '../../domain/search-text.ts';
import { idSchema, uintSchema, utcDateSchema } from '../protocol/arguments.ts';
import { type FilterTree, readFilter } from '../protocol/filter.ts';
import { OBJECTS_PER_GET_MAX } from '../protocol/limits.ts';
import { type Arguments, invalidArguments, type MethodError } from '../protocol/method.ts';

const keywordSchema = z.string().min(1).max(255);
const conditionSchema = z.strictObject({
  inMailbox: idSchema.nullable().optional(),
  inMailboxOtherThan: z.array(idSchema).max(OBJECTS_PER_GET_MAX).nullable().optional(),
  before: utcDateSchema.nullable().optional(),
  after: utcDateSchema.nullable().optional(),
  minSize: uintSchema.nullable().optional(),
  maxSize: uintSchema.nullable().optional(),
  allInThreadHaveKeyword: keywordSchema.nullable().optional(),
  someInThreadHaveKeyword: keywordSchema.nullable().optional(),
  noneInThreadHaveKeyword: keywordSchema.nullable().optional(),
  hasKeyword: keywordSchema.nullable().optional(),
  notKeyword: keywordSchema.nullable().optional(),
  hasAttachment: z.boolean().nullable().optional(),
  text: z.string().nullable().optional(),
  from: z.string().nullable().optional(),
  to: z.string().nullable().optional(),
  cc: z.string().nullable().optional(),
  bcc: z.string().nullable().optional(),
  subject: z.string().nullable().optional(),
  body: z.string().nullable().optional(),
  header: z
    .union([z.tuple([z.string()]), z.tuple([z.string(), z.string().nullable()])])
    .nullable()
    .optional(),
});
type Condition = z.output<typeof conditionSchema>;

export const EMAIL_SORT_OPTIONS = [
  'receivedAt',
  'sentAt',
  'size',
  'from',
  'to',
  'subject',
  'hasKeyword',
  'allInThreadHaveKeyword',
  'someInThreadHaveKeyword',
] as const;
const COLLATIONS: readonly unknown[] = [undefined, null, 'i;unicode-casemap', 'i;ascii-casemap'];

interface QueryArguments {
  readonly filter: Arguments | null;
  readonly sort: readonly Arguments[] | null;
  readonly collapseThreads: boolean;
}

export function readEmailQuery({ filter, sort, collapseThreads }: QueryArguments): Result<EmailQuery, MethodError> {
  const tree = readFilter(filter, conditionSchema);
  if (!tree.ok) return tree;
  const sorts: EmailSort[] = [];
  for (const comparator of sort ?? []) {
    const read = readSort(comparator);
    if (!read.ok) return read;
    sorts.push(read.value);
  }
  return ok({ filter: tree.value && toFilter(tree.value), sort: sorts, collapseThreads });
}

function toFilter(tree: FilterTree<Condition>): EmailFilter {
  if (tree.kind === 'condition') return toCondition(tree.condition);
  const of = tree.of.map(toFilter);
  return { kind: tree.operator === 'AND' ? 'and' : tree.operator === 'OR' ? 'or' : 'none', of };
}

const TEXT_PLACES = {
  text: 'any',
  from: 'from',
  to: 'to',
  cc: 'cc',
  bcc: 'bcc',
  subject: 'subject',
  body: 'body',
} as const satisfies Partial<Record<keyof Condition, TextPlace>>;
const THREAD_SCOPES = {
  allInThreadHaveKeyword: 'all',
  someInThreadHaveKeyword: 'some',
  noneInThreadHaveKeyword: 'none',
} as const;

function toCondition(condition: Condition): EmailFilter {
  const of: EmailFilter[] = [];
  const { inMailbox, inMailboxOtherThan, before, after, minSize, maxSize, hasKeyword, notKeyword, hasAttachment } =
    condition;
  if (inMailbox) of.push({ kind: 'in', folderId: inMailbox });
  if (inMailboxOtherThan) of.push({ kind: 'in_other_than', folderIds: inMailboxOtherThan });
  if (before) of.push({ kind: 'before', time: Date.parse(before) });
  if (after) of.push({ kind: 'after', time: Date.parse(after) });
  if (typeof minSize === 'number') of.push({ kind: 'min_size', bytes: minSize });
  if (typeof maxSize === 'number') of.push({ kind: 'max_size', bytes: maxSize });
  if (hasKeyword) of.push({ kind: 'keyword', test: toTest(hasKeyword), scope: 'message' });
  if (notKeyword) of.push(not({ kind: 'keyword', test: toTest(notKeyword), scope: 'message' }));
  for (const [name, scope] of Object.entries(THREAD_SCOPES)) {
    const keyword = condition[name as keyof typeof THREAD_SCOPES];
    if (keyword) of.push({ kind: 'keyword', test: toTest(keyword), scope });
  }
  if (typeof hasAttachment === 'boolean') of.push({ kind: 'has_attachment', value: hasAttachment });
  for (const [name, place] of Object.entries(TEXT_PLACES)) {
    const text = condition[name as keyof typeof TEXT_PLACES];
    if (text) of.push(toTextFilter(place, text));
  }
  if (condition.header) of.push({ kind: 'header', name: condition.header[0], text: condition.header[1] ?? null });
  return { kind: 'and', of };
}

/** Splits a text into words and quoted phrases (RFC 8621 §4.4.1). */
export function splitPhrases(text: string): Pick<TextFilter, 'text' | 'match'>[] {
  const found = text.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g);
  return [...found].map(([, double, single, word = '']) => ({
    text: (double ?? single ?? word).replace(/\\(.)/g, '$1'),
    match: double === undefined && single === undefined ? 'word' : 'phrase',
  }));
}

/** Reads words and quoted phrases, which must all match. A text without a word matches no message. */
function toTextFilter(place: TextPlace, text: string): EmailFilter {
  const of = splitPhrases(text)
    .filter((phrase) => toPhrase(phrase.text).length > 0)
    .map((phrase) => ({ kind: 'text', place, ...phrase }) as const);
  return of.length === 0 ? NO_MESSAGE : { kind: 'and', of };
}

const FLAGS = new Map<string, KeywordTest>([
  ...Object.entries(FLAG_KEYWORDS).map(([keyword, flag]): [string, KeywordTest] => [keyword, { kind: 'flag', flag }]),
  [DRAFT_KEYWORD, { kind: 'flag', flag: 'isDraft' }],
]);

/** A filter for a keyword that is not valid searches for the empty label, which no message has. */
const toTest = (keyword: string): KeywordTest =>
  FLAGS.get(keyword.toLowerCase()) ?? { kind: 'label', label: toLabel(keyword) ?? '' };

const PLAIN_SORTS = ['receivedAt', 'sentAt', 'size', 'from', 'to', 'subject'] as const;
const KEYWORD_SORTS = {
  hasKeyword: 'message',
  allInThreadHaveKeyword: 'all',
  someInThreadHaveKeyword: 'some',
} as const;

function readSort(comparator: Arguments): Result<EmailSort, MethodError> {
  const { property, collation, keyword } = comparator;
  const isAscending = comparator.isAscending !== false;
  if (!COLLATIONS.includes(collation)) return err({ type: 'unsupportedSort', description: 'Unknown collation.' });
  const plain = PLAIN_SORTS.find((name) => name === property);
  if (plain) return ok({ by: plain, isAscending });
  if (typeof property !== 'string' || !Object.hasOwn(KEYWORD_SORTS, property))
    return err({
      type: 'unsupportedSort',
      description: `Messages cannot be sorted by ${String(property).slice(0, 100)}.`,
    });
  if (typeof keyword !== 'string') return err(invalidArguments(`sort: ${property} needs a keyword.`));
  const scope = KEYWORD_SORTS[property as keyof typeof KEYWORD_SORTS];
  return ok({ by: 'keyword', isAscending, keyword: { test: toTest(keyword), scope } });
}
