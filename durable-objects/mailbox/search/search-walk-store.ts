/**
 * Finds hits newest first with bounded work, whatever the size of the mailbox and the query. Each step reads a bounded number of rows and
 * returns the position down to which every hit is known.
 *
 * Each step takes the cheapest of four ways, estimated on the next messages:
 * - a condition with its own index (a flag, a folder, a label …) and few rows left: those rows;
 * - a text in few messages: the full-text index, which jumps from hit to hit;
 * - a condition with an index that excludes most messages: its next rows, the text tested on each;
 * - otherwise the next thousands of messages as a whole.
 */

import { toPeriodsExpression } from '../database/search-index-store.ts';
import { first } from '../database/store.ts';
import { type CompiledSearch, type Condition, type Driver, type TextTest, toTextCondition } from './search-sql.ts';

/** Messages per step of a whole window. */
const WINDOW_MESSAGES = 2_000;
/** A text in fewer of these messages than this is followed in the full-text index. */
const SPARSE_HITS = 128;
const TEXT_ROWS = 256;
/** Rows of each further step. They are more, because looking up a term costs as much as a hundred of its rows. */
const MORE_TEXT_ROWS = 768;
/** If fewer messages than this have one text, the other texts are tested on each of them. */
const FEW_TEXT_ROWS = 32;
/** Rows of an indexed condition per step. Testing a text on one message costs as much as ten rows. */
const DRIVER_ROWS = 512;
const DRIVER_ROWS_WITH_TEXT = 64;

/** Cost of each kind of step, relative to the most expensive. */
const EFFORT = { window: 1, driver: 0.5, text: 0.25 } as const;

export interface Walk {
  /** Newest first. */
  readonly positions: readonly number[];
  /** All hits at or above this position were found; continue below it. Null if all hits were found. */
  readonly floor: number | null;
}

interface Step extends Walk {
  readonly effort: number;
  /** The text that the step followed. The next step continues with it. */
  readonly followed?: TextTest;
}

/** @param before exclusive. @param wanted stops the walk at this many hits. @param effort stops it after this much work. */
export function walk(sql: SqlStorage, search: CompiledSearch, before: number, wanted: number, effort: number): Walk {
  const positions: number[] = [];
  let at = Math.floor(Math.min(before, search.before, newestPosition(sql) + 1));
  if (at <= search.from) return { positions, floor: null };
  let followed: TextTest | undefined;
  for (let spent = 0; spent < effort; ) {
    const step = takeStep(sql, search, at, wanted - positions.length, followed);
    followed = step.followed;
    positions.push(...step.positions);
    if (step.floor === null || step.floor <= search.from) return { positions, floor: null };
    at = step.floor;
    if (positions.length >= wanted) break;
    spent += step.effort;
  }
  return { positions, floor: at };
}

const newestPosition = (sql: SqlStorage): number =>
  first<{ last: number | null }>(sql, 'SELECT max(position) AS last FROM message')?.last ?? 0;

function takeStep(
  sql: SqlStorage,
  search: CompiledSearch,
  before: number,
  wanted: number,
  followed: TextTest | undefined,
): Step {
  const driver = pickDriver(sql, search, before);
  if (driver && driver.floor === 0) return stepByDriver(sql, search, driver, before, wanted);
  if (followed) return stepByText(sql, search, followed, driver, before, wanted, MORE_TEXT_ROWS);
  const windowFloor = findNth(sql, VISIBLE, before, WINDOW_MESSAGES);
  if (windowFloor === 0) return stepByWindow(sql, search, 0, before, wanted);
  const sparse = findSparseText(sql, search, windowFloor, before);
  if (sparse) return stepByText(sql, search, sparse, driver, before, wanted, TEXT_ROWS);
  if (driver && driver.floor < windowFloor) return stepByDriver(sql, search, driver, before, wanted);
  return stepByWindow(sql, search, windowFloor, before, wanted);
}

const VISIBLE: Driver = {
  from: 'message AS m INDEXED BY message_visible',
  narrow: 'message AS m INDEXED BY message_visible',
  position: 'm.position',
  where: { sql: 'm.is_visible = 1', values: [] },
};

const ANY: Driver = {
  from: 'message AS m',
  narrow: 'message AS m',
  position: 'm.position',
  where: { sql: '1', values: [] },
};

interface ReachingDriver extends Driver {
  /** The position that a step over its rows reaches. */
  readonly floor: number;
}

/** @returns the driver whose next rows reach furthest back. */
function pickDriver(sql: SqlStorage, search: CompiledSearch, before: number): ReachingDriver | null {
  const hasText = search.texts.length > 0 || search.absent !== null;
  const rows = hasText ? DRIVER_ROWS_WITH_TEXT : DRIVER_ROWS;
  let best: ReachingDriver | null = null;
  for (const driver of search.drivers) {
    const floor = findNth(sql, driver, before, rows);
    if (best === null || floor < best.floor) best = { ...driver, floor };
  }
  return best;
}

/** @returns the position of a driver's n-th row before a position; 0 if there are fewer. */
function findNth(sql: SqlStorage, { narrow, position, where }: Driver, before: number, n: number): number {
  const query = `SELECT ${position} AS position FROM ${narrow} WHERE ${where.sql} AND ${position} < ?
    ORDER BY ${position} DESC LIMIT 1 OFFSET ?`;
  return first<{ position: number }>(sql, query, ...where.values, before, n - 1)?.position ?? 0;
}

/** @returns the text in the fewest messages of a window, if those are few. */
function findSparseText(sql: SqlStorage, search: CompiledSearch, from: number, before: number): TextTest | null {
  let [sparsest, least]: [TextTest | null, number] = [null, SPARSE_HITS];
  const periods = toPeriodsExpression(from, before);
  for (const text of search.texts) {
    for (const probe of text.probes) {
      const query = `SELECT count(*) AS count FROM (SELECT 1 FROM message_search
        WHERE rowid < ?1 AND rowid >= ?2 AND message_search MATCH ?3 ORDER BY rowid DESC LIMIT ?4)`;
      const match = periods === null ? probe : `${periods} AND (${probe})`;
      const count = first<{ count: number }>(sql, query, before, from, match, least)?.count ?? 0;
      if (count < least) [sparsest, least] = [text, count];
    }
  }
  return sparsest;
}

/** Reads all rows of a driver down to its floor. */
function stepByDriver(
  sql: SqlStorage,
  search: CompiledSearch,
  driver: ReachingDriver,
  before: number,
  wanted: number,
): Step {
  const scope = { kind: 'message' } as const;
  const where = [
    driver.where,
    ...search.conditions(scope),
    ...search.texts.map((text) => toTextCondition(text.expression, text.isOneTerm, scope)),
    ...negate(search.absent === null ? [] : [toTextCondition(search.absent, false, scope)]),
  ];
  const { from, position } = driver;
  const query = `SELECT ${position} AS position FROM ${from} WHERE ${position} < ?1 AND ${position} >= ?2
    AND ${joinConditions(where)} ORDER BY ${position} DESC LIMIT ?`;
  const floor = Math.max(driver.floor, search.from);
  const positions = readPositions(sql, query, [before, floor, ...valuesOf(where), wanted]);
  return endStep(positions, floor, wanted, EFFORT.driver);
}

/**
 * Reads the next messages that have the text and tests the rest on each. Tests a driver first, in its own narrow index, because message
 * rows are wide and few share a page.
 */
function stepByText(
  sql: SqlStorage,
  search: CompiledSearch,
  sparse: TextTest,
  driver: Driver | null,
  before: number,
  wanted: number,
  rows: number,
): Step {
  const scope = { kind: 'message' } as const;
  const readHits = (expression: string, limit: number) =>
    readPositions(
      sql,
      `SELECT rowid AS position FROM message_search WHERE rowid < ?1 AND rowid >= ?2 AND message_search MATCH ?3
        ORDER BY rowid DESC LIMIT ?4`,
      [before, search.from, expression, limit],
    );
  const isAlone = search.texts.length === 1 && search.absent === null;
  const few = isAlone ? null : readHits(sparse.expression, FEW_TEXT_ROWS);
  const isFew = few !== null && few.length < FEW_TEXT_ROWS;
  const hits = isFew ? few : readHits(toWholeExpression(search) ?? '', rows);
  const others = isFew ? search.texts.filter((text) => text !== sparse) : [];
  const { from, position, where: driven } = driver ?? ANY;
  const where = [
    driven,
    ...search.conditions(scope),
    ...others.map((text) => toTextCondition(text.expression, text.isOneTerm, scope)),
    ...negate(isFew && search.absent !== null ? [toTextCondition(search.absent, false, scope)] : []),
  ];
  const query = `SELECT ${position} AS position FROM json_each(?1) AS j CROSS JOIN ${from}
    WHERE ${position} = j.value AND ${joinConditions(where)} ORDER BY j.key LIMIT ?`;
  const positions = readPositions(sql, query, [JSON.stringify(hits), ...valuesOf(where), wanted]);
  const isOver = isFew || hits.length < rows;
  const effort = (EFFORT.text * rows) / TEXT_ROWS;
  return { ...endStep(positions, isOver ? 0 : (hits.at(-1) ?? 0), wanted, effort), followed: sparse };
}

/** Tests every message of a window. */
function stepByWindow(
  sql: SqlStorage,
  search: CompiledSearch,
  windowFloor: number,
  before: number,
  wanted: number,
): Step {
  const floor = Math.max(windowFloor, search.from);
  const periods = toPeriodsExpression(floor, before);
  const scope = { kind: 'window', periods } as const;
  const conditions = search.conditions(scope);
  const match = toWholeExpression(search, periods);
  if (match !== null) {
    const query = `SELECT s.rowid AS position FROM message_search AS s CROSS JOIN message AS m ON m.position = s.rowid
      WHERE s.rowid < ?1 AND s.rowid >= ?2 AND message_search MATCH ? AND ${joinConditions(conditions)}
      ORDER BY s.rowid DESC LIMIT ?`;
    const positions = readPositions(sql, query, [before, floor, match, ...valuesOf(conditions), wanted]);
    return endStep(positions, floor, wanted, EFFORT.window);
  }
  const where = [
    ...conditions,
    ...negate(search.absent === null ? [] : [toTextCondition(search.absent, false, scope)]),
  ];
  const query = `SELECT m.position FROM ${pickScan(conditions)} WHERE m.position < ?1 AND m.position >= ?2
    AND ${joinConditions(where)} ORDER BY m.position DESC LIMIT ?`;
  const positions = readPositions(sql, query, [before, floor, ...valuesOf(where), wanted]);
  return endStep(positions, floor, wanted, EFFORT.window);
}

/** A step that found as many hits as it wanted stopped reading at the last of them. */
function endStep(positions: readonly number[], floor: number, wanted: number, effort: number): Step {
  const seen = positions.length === wanted ? (positions.at(-1) ?? floor) : floor;
  return { positions, floor: seen === 0 ? null : seen, effort };
}

/** All texts in one expression; null if no text must match. FTS5 cannot express a lone negation. */
function toWholeExpression({ texts, absent }: CompiledSearch, periods: string | null = null): string | null {
  if (texts.length === 0) return null;
  const wanted = [...(periods === null ? [] : [periods]), ...texts.map((text) => `(${text.expression})`)].join(' AND ');
  return absent === null ? wanted : `(${wanted}) NOT (${absent})`;
}

const joinConditions = (where: readonly Condition[]): string =>
  where.length === 0 ? '1' : where.map((condition) => `(${condition.sql})`).join(' AND ');
const valuesOf = (where: readonly Condition[]): SqlStorageValue[] => where.flatMap((condition) => condition.values);
const negate = (where: readonly Condition[]): Condition[] =>
  where.map((condition) => ({ ...condition, sql: `NOT ${condition.sql}` }));

function readPositions(sql: SqlStorage, query: string, values: readonly SqlStorageValue[]): number[] {
  return [...sql.exec<{ position: number }>(query, ...values)].map((row) => row.position);
}

/** Picks the index that excludes the most messages, among those in order of time. */
function pickScan(conditions: readonly Condition[]): string {
  const has = (text: string) => conditions.some((condition) => condition.sql === text);
  if (has('m.is_flagged = 1')) return 'message AS m INDEXED BY message_flagged';
  if (has('m.is_read = 0')) return 'message AS m INDEXED BY message_unread';
  if (has('m.has_attachment = 1')) return 'message AS m INDEXED BY message_attachment';
  if (has('m.is_visible = 1')) return 'message AS m INDEXED BY message_visible';
  return 'message AS m';
}
