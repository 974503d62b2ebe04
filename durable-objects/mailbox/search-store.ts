/**
 * Search. Words rank by BM25 among the newest hits (a window, so that a word in every message costs no more than a rare one),
 * older hits follow newest first; a query without words is newest first throughout.
 *
 * What drives is chosen by probing: whichever condition with an index has few rows is walked, and the others are checked on
 * each; else the full-text index is walked from the newest, else the messages themselves.
 */

import { parseSearch, type SearchNode } from '../../workers/mail/domain/search-query.ts';
import { makeSnippet, toNeedles } from '../../workers/mail/domain/snippet.ts';
import { ok, type Result } from '../../workers/shared/result.ts';
import { type MessageSummary, readSummaries } from './message-read-store.ts';
import { type CompiledSearch, type CompileError, type Condition, compileSearch, type Driver } from './search-sql.ts';
import { first } from './store.ts';

/** Hits that are ranked against each other. */
const RANKED_HITS_MAX = 500;
/** A condition with no more rows than this is worth walking. */
const FEW_ROWS = 500;
const SNIPPET_TEXT_LENGTH_MAX = 100_000;
/** Weights of sender, recipients, copies, subject, body, files. */
const BM25 = 'bm25(message_search, 5.0, 2.0, 1.0, 8.0, 1.0, 3.0)';
const END_OF_TIME = Number.MAX_SAFE_INTEGER;

export interface SearchPage {
  /** Positions from here up came after the first page was read. */
  readonly top: number;
  /** How many ranked hits were shown; null once the ranked ones are over. */
  readonly offset: number | null;
  /** Newest first from here, exclusive. */
  readonly before: number;
}

export interface SearchAnswer {
  readonly hits: readonly { readonly message: MessageSummary; readonly snippet: string }[];
  readonly next: SearchPage | null;
}

export interface SearchRequest {
  readonly query: string;
  readonly sort: 'relevance' | 'newest';
  readonly page: SearchPage | null;
  readonly limit: number;
}

export function search(sql: SqlStorage, request: SearchRequest): Result<SearchAnswer, CompileError> {
  const parsed = parseSearch(request.query);
  if (!parsed.ok) {
    const message = `At character ${parsed.error.at + 1}: ${parsed.error.message}`;
    return { ok: false, error: { kind: 'bad_request', path: 'q', message } };
  }
  const compiled = compileSearch(sql, parsed.value);
  if (!compiled.ok) return compiled;
  const isRanked = compiled.value.match !== null && request.sort === 'relevance';
  const page = request.page ?? { top: END_OF_TIME, offset: isRanked ? 0 : null, before: END_OF_TIME };
  const found =
    page.offset === null || !isRanked
      ? readNewest(sql, compiled.value, page, request.limit)
      : readRanked(sql, compiled.value, { ...page, offset: page.offset }, request.limit);
  return ok({ hits: toHits(sql, found.positions, parsed.value), next: found.next });
}

interface Found {
  readonly positions: readonly number[];
  readonly next: SearchPage | null;
}

function readNewest(sql: SqlStorage, compiled: CompiledSearch, page: SearchPage, limit: number): Found {
  const rows = run(sql, compiled, page.before, limit + 1, false).map((hit) => hit.position);
  const positions = rows.slice(0, limit);
  const last = positions.at(-1);
  return {
    positions,
    next: rows.length > limit && last !== undefined ? { ...page, offset: null, before: last } : null,
  };
}

function readRanked(
  sql: SqlStorage,
  compiled: CompiledSearch,
  page: SearchPage & { offset: number },
  limit: number,
): Found {
  const top = page.top === END_OF_TIME ? newestPosition(sql) + 1 : page.top;
  const window = run(sql, compiled, top, RANKED_HITS_MAX, true);
  const oldest = window.at(-1)?.position ?? 0;
  const isWhole = window.length < RANKED_HITS_MAX;
  window.sort((a, b) => a.score - b.score || b.position - a.position);
  const positions = window.slice(page.offset, page.offset + limit).map((hit) => hit.position);
  const offset = page.offset + positions.length;
  if (offset < window.length) return { positions, next: { top, offset, before: END_OF_TIME } };
  return { positions, next: isWhole ? null : { top, offset: null, before: oldest } };
}

const newestPosition = (sql: SqlStorage) =>
  first<{ last: number | null }>(sql, 'SELECT max(position) AS last FROM message')?.last ?? 0;

interface Hit {
  readonly position: number;
  readonly score: number;
}

/** The newest hits before a position, newest first. */
function run(sql: SqlStorage, compiled: CompiledSearch, before: number, limit: number, isScored: boolean): Hit[] {
  const { match, conditions } = compiled;
  const where = conditions.map((condition) => condition.sql);
  const values = conditions.flatMap((condition) => condition.values);
  const few = findSmallDriver(sql, compiled);
  if (few) return runFew(sql, few, compiled, before, limit, isScored);
  if (match === null) {
    const from = pickScan(where);
    const query = `SELECT m.position, 0 AS score FROM ${from} WHERE m.position < ? ${where.map((each) => `AND ${each}`).join(' ')}
      ORDER BY m.position DESC LIMIT ?`;
    return readHits(sql, query, [before, ...values, limit]);
  }
  const query = `SELECT s.rowid AS position, ${isScored ? BM25 : '0'} AS score
    FROM message_search AS s CROSS JOIN message AS m ON m.position = s.rowid
    WHERE message_search MATCH ? AND s.rowid < ? ${where.map((each) => `AND ${each}`).join(' ')}
    ORDER BY s.rowid DESC LIMIT ?`;
  return readHits(sql, query, [match, before, ...values, limit]);
}

/** Walks the few rows of a driver; text is asked of the index row by row. */
function runFew(
  sql: SqlStorage,
  driver: Driver,
  { match, conditions }: CompiledSearch,
  before: number,
  limit: number,
  isScored: boolean,
): Hit[] {
  const where = [driver.where, ...conditions].map((condition) => condition.sql).join(' AND ');
  const values = [driver.where, ...conditions].flatMap((condition) => condition.values);
  // Materialised first, because the driver's index need not be in the order of positions.
  const candidates = `SELECT m.position AS position FROM ${driver.from} WHERE ${where} AND m.position < ?`;
  if (match === null) {
    return readHits(sql, `SELECT position, 0 AS score FROM (${candidates}) ORDER BY position DESC LIMIT ?`, [
      ...values,
      before,
      limit,
    ]);
  }
  const query = `WITH c AS MATERIALIZED (${candidates} ORDER BY m.position DESC)
    SELECT c.position AS position, ${isScored ? BM25 : '0'} AS score FROM c CROSS JOIN message_search ON message_search.rowid = c.position
    WHERE message_search MATCH ? LIMIT ?`;
  return readHits(sql, query, [...values, before, match, limit]);
}

function readHits(sql: SqlStorage, query: string, values: readonly SqlStorageValue[]): Hit[] {
  return [...sql.exec<{ position: number; score: number }>(query, ...values)];
}

/** The first condition that leaves few rows, when the text does not leave few itself. */
function findSmallDriver(sql: SqlStorage, { match, drivers }: CompiledSearch): Driver | null {
  if (drivers.length === 0) return null;
  if (match !== null) {
    const text = { from: 'message_search', where: { sql: 'message_search MATCH ?', values: [match] } };
    if (hasFewRows(sql, text.from, text.where)) return null;
  }
  return drivers.find((driver) => hasFewRows(sql, driver.from, driver.where)) ?? null;
}

function hasFewRows(sql: SqlStorage, from: string, where: Condition): boolean {
  const query = `SELECT count(*) AS count FROM (SELECT 1 FROM ${from} WHERE ${where.sql} LIMIT ${FEW_ROWS + 1})`;
  return (first<{ count: number }>(sql, query, ...where.values)?.count ?? 0) <= FEW_ROWS;
}

/** The index whose order is newest first and which leaves the most out. */
function pickScan(where: readonly string[]): string {
  if (where.includes('m.folder = ?'))
    return `message AS m INDEXED BY ${where.includes('m.is_read = 0') ? 'message_unread' : 'message_folder'}`;
  if (where.includes('m.is_flagged = 1')) return 'message AS m INDEXED BY message_flagged';
  if (where.includes('m.is_read = 0')) return 'message AS m INDEXED BY message_unread_all';
  if (where.includes('m.has_attachment = 1')) return 'message AS m INDEXED BY message_attachment';
  if (where.includes('m.is_visible = 1')) return 'message AS m INDEXED BY message_visible';
  return 'message AS m';
}

function toHits(sql: SqlStorage, positions: readonly number[], node: SearchNode | null): SearchAnswer['hits'] {
  const needles = toNeedles(node);
  return readSummaries(sql, positions).map((message) => {
    const text = first<{ text: string | null }>(
      sql,
      "SELECT substr(value, 1, ?) AS text FROM message_part WHERE position = ? AND kind = 'text'",
      SNIPPET_TEXT_LENGTH_MAX,
      message.position,
    )?.text;
    return { message, snippet: makeSnippet(text ?? '', needles) ?? message.preview };
  });
}
