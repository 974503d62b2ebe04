/**
 * Finding hits newest first with bounded work, however large the mailbox and however bad the query: step after step, each
 * of which looks at a bounded number of rows and says how far down it has seen everything.
 *
 * Each step takes the cheapest of four ways, judged by the messages just ahead of it:
 * - a condition with an index of its own (a flag, a folder, a label …) and few rows left: those rows;
 * - a text that is in few messages: the full-text index, which leaps from hit to hit;
 * - a condition with an index that leaves most messages out: its next rows, the text asked of each;
 * - else the next thousands of messages as a whole.
 */

import { first } from '../store.ts';
import { toPeriodsExpression } from './search-index-store.ts';
import { type CompiledSearch, type Condition, type Driver, type TextTest, toTextCondition } from './search-sql.ts';

/** Messages that a step looks at as a whole. */
const WINDOW_MESSAGES = 2_000;
/** A text in fewer of them than this is followed through the full-text index. */
const SPARSE_HITS = 128;
const TEXT_ROWS = 256;
/** Where those did not suffice: to look a term up costs as much as a hundred of its rows. */
const MORE_TEXT_ROWS = 768;
/** With so few messages that have one text the other texts are asked of each. */
const FEW_TEXT_ROWS = 32;
/** Rows of an indexed condition that a step takes: a text asked of one message alone costs as much as ten rows. */
const DRIVER_ROWS = 512;
const DRIVER_ROWS_WITH_TEXT = 64;

/** What a step costs, beside the dearest. */
const EFFORT = { window: 1, driver: 0.5, text: 0.25 } as const;

export interface Walk {
  /** Newest first. */
  readonly positions: readonly number[];
  /** Every hit from here up was found; null when every hit was. Go on before it. */
  readonly floor: number | null;
}

interface Step extends Walk {
  readonly effort: number;
  /** The text that it followed: the next step follows it on. */
  readonly followed?: TextTest;
}

/** @param before exclusive. @param wanted ends the walk when so many are found. @param effort ends it when so much was done. */
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
  position: 'm.position',
  where: { sql: 'm.is_visible = 1', values: [] },
  isOrdered: true,
};

const ANY: Driver = {
  from: 'message AS m',
  position: 'm.position',
  where: { sql: '1', values: [] },
  isOrdered: true,
};

interface ReachingDriver extends Driver {
  /** So many of its rows reach down to here. */
  readonly floor: number;
}

/** The driver whose next rows reach the deepest. */
function pickDriver(sql: SqlStorage, search: CompiledSearch, before: number): ReachingDriver | null {
  const hasText = search.texts.length > 0 || search.absent !== null;
  const rows = hasText ? DRIVER_ROWS_WITH_TEXT : DRIVER_ROWS;
  let best: ReachingDriver | null = null;
  for (const driver of search.drivers) {
    if (!driver.isOrdered && countRows(sql, driver, rows) === rows) continue;
    const floor = driver.isOrdered ? findNth(sql, driver, before, rows) : 0;
    if (best === null || floor < best.floor) best = { ...driver, floor };
  }
  return best;
}

/** The position of the n-th row of a driver before a position; 0 when there are fewer. */
function findNth(sql: SqlStorage, { from, position, where }: Driver, before: number, n: number): number {
  const query = `SELECT ${position} AS position FROM ${from} WHERE ${where.sql} AND ${position} < ?
    ORDER BY ${position} DESC LIMIT 1 OFFSET ?`;
  return first<{ position: number }>(sql, query, ...where.values, before, n - 1)?.position ?? 0;
}

function countRows(sql: SqlStorage, { from, where }: Driver, max: number): number {
  const query = `SELECT count(*) AS count FROM (SELECT 1 FROM ${from} WHERE ${where.sql} LIMIT ?)`;
  return first<{ count: number }>(sql, query, ...where.values, max)?.count ?? 0;
}

/** The text that is in the fewest messages of a window, if those are few. */
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

/** Everything of a driver down to its floor. */
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
 * The next messages that have the text, each asked for the rest. A driver is asked first, in its own narrow index: a
 * message's row is wide, and few share a page.
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

/** Every message of a window. */
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

/** A step that found all it may has seen no further than its last hit. */
function endStep(positions: readonly number[], floor: number, wanted: number, effort: number): Step {
  const seen = positions.length === wanted ? (positions.at(-1) ?? floor) : floor;
  return { positions, floor: seen === 0 ? null : seen, effort };
}

/** All texts in one expression; null when there is none that must be there. FTS5 has no negation of everything. */
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

/** The index whose order is newest first and which leaves the most out. */
function pickScan(conditions: readonly Condition[]): string {
  const has = (text: string) => conditions.some((condition) => condition.sql === text);
  if (has('m.folder = ?'))
    return `message AS m INDEXED BY ${has('m.is_read = 0') ? 'message_unread' : 'message_folder'}`;
  if (has('m.is_flagged = 1')) return 'message AS m INDEXED BY message_flagged';
  if (has('m.is_read = 0')) return 'message AS m INDEXED BY message_unread_all';
  if (has('m.has_attachment = 1')) return 'message AS m INDEXED BY message_attachment';
  if (has('m.is_visible = 1')) return 'message AS m INDEXED BY message_visible';
  return 'message AS m';
}
