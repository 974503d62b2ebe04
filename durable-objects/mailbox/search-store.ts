/**
 * Search. The newest hits are ranked by where the words stand: in the subject, in the sender, elsewhere; equals newest first.
 * Older hits follow newest first, and so does every hit of a query without words. (FTS5's own bm25() first counts every row
 * that has a word, so that a word in every message would cost 200,000 rows.)
 *
 * What drives is chosen by probing: whichever condition with an index has few rows is walked, and the others are checked on
 * each; else the full-text index is walked from the newest, else the messages themselves.
 */

import { parseSearch } from '../../workers/mail/domain/search-query.ts';
import { countNeedles, makeSnippet, type Needles, toNeedles } from '../../workers/mail/domain/snippet.ts';
import { ok, type Result } from '../../workers/shared/result.ts';
import { type MessageSummary, readSummaries } from './message-read-store.ts';
import { type CompiledSearch, type CompileError, type Condition, compileSearch, type Driver } from './search-sql.ts';
import { first } from './store.ts';

/** Hits that are ranked against each other. */
const RANKED_HITS_MAX = 200;
/** A condition with no more rows than this is worth walking. */
const FEW_ROWS = 500;
const SNIPPET_TEXT_LENGTH_MAX = 100_000;
const SUBJECT_WEIGHT = 8;
const SENDER_WEIGHT = 5;
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
  const needles = toNeedles(parsed.value);
  const found =
    page.offset === null || !isRanked
      ? readNewest(sql, compiled.value, page, request.limit)
      : readRanked(sql, compiled.value, needles, { ...page, offset: page.offset }, request.limit);
  return ok({ hits: toHits(sql, found.positions, needles), next: found.next });
}

interface Found {
  readonly positions: readonly number[];
  readonly next: SearchPage | null;
}

function readNewest(sql: SqlStorage, compiled: CompiledSearch, page: SearchPage, limit: number): Found {
  const rows = run(sql, compiled, page.before, limit + 1);
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
  needles: Needles,
  page: SearchPage & { offset: number },
  limit: number,
): Found {
  const top = page.top === END_OF_TIME ? newestPosition(sql) + 1 : page.top;
  const window = run(sql, compiled, top, RANKED_HITS_MAX);
  const ranked = rank(sql, window, needles);
  const positions = ranked.slice(page.offset, page.offset + limit);
  const offset = page.offset + positions.length;
  if (offset < window.length) return { positions, next: { top, offset, before: END_OF_TIME } };
  const isWhole = window.length < RANKED_HITS_MAX;
  return { positions, next: isWhole ? null : { top, offset: null, before: window.at(-1) ?? 0 } };
}

/** Best first; the order given, newest first, decides between equals. */
function rank(sql: SqlStorage, positions: readonly number[], needles: Needles): number[] {
  const rows = sql.exec<{ position: number; subject: string; sender: string }>(
    `SELECT m.position, m.subject, m.sender FROM json_each(?) AS j CROSS JOIN message AS m ON m.position = j.value`,
    JSON.stringify(positions),
  );
  const scores = new Map(
    [...rows].map((row) => [
      row.position,
      SUBJECT_WEIGHT * countNeedles(row.subject, needles) + SENDER_WEIGHT * countNeedles(row.sender, needles),
    ]),
  );
  return [...positions].sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0) || b - a);
}

const newestPosition = (sql: SqlStorage) =>
  first<{ last: number | null }>(sql, 'SELECT max(position) AS last FROM message')?.last ?? 0;

/** Positions of the newest hits before a position, newest first. */
function run(sql: SqlStorage, compiled: CompiledSearch, before: number, limit: number): number[] {
  const { match, absent, conditions } = compiled;
  const where = conditions.map((condition) => condition.sql);
  const values = conditions.flatMap((condition) => condition.values);
  const few = findSmallDriver(sql, compiled);
  if (few) return runFew(sql, few, compiled, before, limit);
  if (match === null) {
    const query = `SELECT m.position FROM ${pickScan(where)} WHERE m.position < ? ${where.map((each) => `AND ${each}`).join(' ')}
      ORDER BY m.position DESC LIMIT ?`;
    if (absent === null) return readPositions(sql, query, [before, ...values, limit]);
    return readWithout(sql, sql.exec<PositionRow>(query, before, ...values, -1), absent, before, limit);
  }
  const query = `SELECT s.rowid AS position FROM message_search AS s CROSS JOIN message AS m ON m.position = s.rowid
    WHERE message_search MATCH ? AND s.rowid < ? ${where.map((each) => `AND ${each}`).join(' ')}
    ORDER BY s.rowid DESC LIMIT ?`;
  return readPositions(sql, query, [match, before, ...values, limit]);
}

/** Walks the few rows of a driver; text is asked of the index row by row. */
function runFew(
  sql: SqlStorage,
  driver: Driver,
  { match, absent, conditions }: CompiledSearch,
  before: number,
  limit: number,
): number[] {
  const where = [driver.where, ...conditions].map((condition) => condition.sql).join(' AND ');
  const values = [driver.where, ...conditions].flatMap((condition) => condition.values);
  // Materialised first, because the driver's index need not be in the order of positions.
  const candidates = `SELECT m.position AS position FROM ${driver.from} WHERE ${where} AND m.position < ?`;
  if (match === null) {
    const query = `SELECT position FROM (${candidates}) ORDER BY position DESC LIMIT ?`;
    if (absent === null) return readPositions(sql, query, [...values, before, limit]);
    return readWithout(sql, sql.exec<PositionRow>(query, ...values, before, -1), absent, before, limit);
  }
  const query = `WITH c AS MATERIALIZED (${candidates} ORDER BY m.position DESC)
    SELECT c.position AS position FROM c CROSS JOIN message_search ON message_search.rowid = c.position
    WHERE message_search MATCH ? LIMIT ?`;
  return readPositions(sql, query, [...values, before, match, limit]);
}

type PositionRow = { position: number };

/** Two cursors side by side, both newest first: what the index finds is left out. Reads no further than it must. */
function readWithout(
  sql: SqlStorage,
  candidates: Iterable<PositionRow>,
  absent: string,
  before: number,
  limit: number,
): number[] {
  const excluded = sql
    .exec<PositionRow>(
      'SELECT rowid AS position FROM message_search WHERE message_search MATCH ? AND rowid < ? ORDER BY rowid DESC',
      absent,
      before,
    )
    [Symbol.iterator]();
  let next = excluded.next();
  const positions: number[] = [];
  for (const { position } of candidates) {
    while (!next.done && next.value.position > position) next = excluded.next();
    if (!next.done && next.value.position === position) continue;
    positions.push(position);
    if (positions.length === limit) break;
  }
  return positions;
}

function readPositions(sql: SqlStorage, query: string, values: readonly SqlStorageValue[]): number[] {
  return [...sql.exec<PositionRow>(query, ...values)].map((row) => row.position);
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

function toHits(sql: SqlStorage, positions: readonly number[], needles: Needles): SearchAnswer['hits'] {
  const isPlain = needles.words.size + needles.pieces.length === 0;
  return readSummaries(sql, positions).map((message) => ({
    message,
    snippet: (isPlain ? null : makeSnippet(readText(sql, message.position), needles)) ?? message.preview,
  }));
}

function readText(sql: SqlStorage, position: number): string {
  const row = first<{ text: string | null }>(
    sql,
    "SELECT substr(value, 1, ?) AS text FROM message_part WHERE position = ? AND kind = 'text'",
    SNIPPET_TEXT_LENGTH_MAX,
    position,
  );
  return row?.text ?? '';
}
