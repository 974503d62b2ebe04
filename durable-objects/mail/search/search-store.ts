/**
 * Search. The newest hits are ranked by where the words occur: subject, sender, elsewhere. Hits of equal rank are in order of time,
 * newest first. Older hits follow, newest first. Without words in the query, all hits are newest first. FTS5's own ranking, bm25(),
 * is not used: it first counts every row with a word, so a word in every message would cost 200,000 rows.
 *
 * The work per page is bounded (`search-walk-store.ts`). So a page may have fewer hits than requested, even none, although there is
 * a next page.
 */

import { VISIBLE } from '../../../workers/mail/domain/email-filter.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { CompileError, SearchAnswer, SearchPage, SearchRequest } from '../contract/search.ts';
import { first, readRows } from '../database/store.ts';
import { parseSearch, type QueryError } from '../domain/search-query.ts';
import { countNeedles, makeSnippet, type Needles, toNeedles } from '../domain/snippet.ts';
import { findNamedFolder } from '../messages/folder-store.ts';
import { readListEntries } from '../messages/message-read-store.ts';
import { type CompiledSearch, compileSearch } from './search-sql.ts';
import { walk } from './search-walk-store.ts';

/** Maximum of hits that are ranked: the newest ones. */
const RANKED_HITS_MAX = 200;
/** Maximum work per page, as `effort` of `walk`. It is less for the first page, which must be quick, than for later pages. */
const FIRST_PAGE_EFFORT = 1;
const NEXT_PAGE_EFFORT = 8;
const SNIPPET_TEXT_LENGTH_MAX = 100_000;
const SUBJECT_WEIGHT = 8;
const SENDER_WEIGHT = 5;
const END_OF_TIME = Number.MAX_SAFE_INTEGER;

export function search(sql: SqlStorage, request: SearchRequest, now: number): Result<SearchAnswer, CompileError> {
  const parsed = parseSearch(request.query, { now, findFolder: (name) => findNamedFolder(sql, name) });
  if (!parsed.ok) return err(toQueryFault('q', parsed.error));
  const compiled = compileSearch(sql, parsed.value ?? VISIBLE);
  const isRanked = compiled.texts.length > 0 && request.sort === 'relevance';
  const page = request.page ?? { top: END_OF_TIME, offset: isRanked ? 0 : null, before: END_OF_TIME };
  const needles = toNeedles(parsed.value);
  const found =
    page.offset === null || !isRanked
      ? readNewest(sql, compiled, page, request.limit)
      : readRanked(sql, compiled, needles, { ...page, offset: page.offset }, request.limit);
  return ok({ hits: toHits(sql, found.positions, needles), next: found.next });
}

/** Converts a syntax error of a query. @param path the member of the request that has the query. */
export const toQueryFault = (path: string, { at, message }: QueryError): CompileError => ({
  kind: 'bad_request',
  path,
  message: `At character ${at + 1}: ${message}`,
});

interface Found {
  readonly positions: readonly number[];
  readonly next: SearchPage | null;
}

function readNewest(sql: SqlStorage, compiled: CompiledSearch, page: SearchPage, limit: number): Found {
  const effort = page.before === END_OF_TIME ? FIRST_PAGE_EFFORT : NEXT_PAGE_EFFORT;
  // One more hit than requested tells whether there is a next page.
  const found = walk(sql, compiled, page.before, limit + 1, effort);
  const positions = found.positions.slice(0, limit);
  const floor = found.positions.length > limit ? (positions.at(-1) ?? null) : found.floor;
  return { positions, next: floor === null ? null : { ...page, offset: null, before: floor } };
}

function readRanked(
  sql: SqlStorage,
  compiled: CompiledSearch,
  needles: Needles,
  page: SearchPage & { offset: number },
  limit: number,
): Found {
  const top = page.top === END_OF_TIME ? newestPosition(sql) + 1 : page.top;
  const newest = walk(sql, compiled, top, RANKED_HITS_MAX, FIRST_PAGE_EFFORT);
  const ranked = rank(sql, newest.positions, needles);
  const positions = ranked.slice(page.offset, page.offset + limit);
  const offset = page.offset + positions.length;
  if (offset < ranked.length) return { positions, next: { top, offset, before: END_OF_TIME } };
  return { positions, next: newest.floor === null ? null : { top, offset: null, before: newest.floor } };
}

/** Sorts hits by rank, the best first. Hits of equal rank stay newest first. */
function rank(sql: SqlStorage, positions: readonly number[], needles: Needles): number[] {
  const rows = sql.exec<{ position: number; subject: string; sender: string }>(
    `SELECT m.position, m.subject, m.sender FROM json_each(?) AS j CROSS JOIN message AS m ON m.position = j.value`,
    JSON.stringify(positions),
  );
  const scores = new Map(
    [...readRows(rows)].map((row) => [
      row.position,
      SUBJECT_WEIGHT * countNeedles(row.subject, needles) + SENDER_WEIGHT * countNeedles(row.sender, needles),
    ]),
  );
  return [...positions].sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0) || b - a);
}

const newestPosition = (sql: SqlStorage) =>
  first<{ last: number | null }>(sql, 'SELECT max(position) AS last FROM message')?.last ?? 0;

function toHits(sql: SqlStorage, positions: readonly number[], needles: Needles): SearchAnswer['hits'] {
  const isPlain = needles.words.size + needles.pieces.length === 0;
  const snippets = isPlain ? new Map<number, string>() : makeSnippets(sql, positions, needles);
  return readListEntries(sql, positions).map((message) => ({
    message,
    snippet: snippets.get(message.position) ?? message.preview,
  }));
}

/** Reads the texts one after another: together they may be too much for the memory of an isolate. */
function makeSnippets(sql: SqlStorage, positions: readonly number[], needles: Needles): Map<number, string> {
  const texts = sql.exec<{ position: number; text: string }>(
    `SELECT c.position, substr(c.text, 1, ?) AS text
     FROM json_each(?) AS j CROSS JOIN message_content AS c ON c.position = j.value`,
    SNIPPET_TEXT_LENGTH_MAX,
    JSON.stringify(positions),
  );
  const snippets = new Map<number, string>();
  for (const { position, text } of readRows(texts)) {
    const snippet = makeSnippet(text, needles);
    if (snippet !== null) snippets.set(position, snippet);
  }
  return snippets;
}
