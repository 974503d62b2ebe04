/**
 * Finds hits newest first, with bounded work for any mailbox and query. A walk consists of steps. Each step reads a bounded number
 * of rows and returns its floor: all hits from there up have been found.
 *
 * Each step uses the cheapest of four methods, as estimated on the next messages:
 * - If a condition with its own index (a flag, a folder, a label …) has few rows left: read these rows.
 * - If a text is in few messages: follow it in the full-text index, which jumps from hit to hit.
 * - If a condition with its own index excludes most messages: read its next rows and test the texts on each.
 * - Otherwise: test the next thousands of messages as a whole.
 */

import { toPeriodsExpression } from '../database/search-index-store.ts';
import { first } from '../database/store.ts';
import {
  joinConditions,
  listPositions,
  negate,
  readPositions,
  toDriverRead,
  toWholeExpression,
  toWindowRead,
  valuesOf,
} from './search-read-store.ts';
import type { CompiledSearch, Driver } from './search-sql.ts';
import { isScannedPrefix, type TextTest, toTextCondition } from './text-sql.ts';

/** Messages that a window step tests. */
const WINDOW_MESSAGES = 2_000;
/** If fewer messages of a window than this have a text, the search follows that text in the full-text index. */
const SPARSE_HITS = 128;
const TEXT_ROWS = 256;
/**
 * Rows of each further step that follows a text. There are more than in the first such step, because looking up a term costs as
 * much as a hundred rows.
 */
const MORE_TEXT_ROWS = 768;
/** If fewer messages than this have the followed text, the other texts are tested on each of these messages. */
const FEW_TEXT_ROWS = 32;
/**
 * Rows of an indexed condition per step. With texts there are fewer, because testing a text on one message costs as much as ten
 * rows.
 */
const DRIVER_ROWS = 512;
const DRIVER_ROWS_WITH_TEXT = 64;

/** Cost of a step of each kind, relative to a window step. */
const EFFORT = { window: 1, driver: 0.5, text: 0.25 } as const;

export interface Walk {
  /** Positions of the hits, newest first. */
  readonly positions: readonly number[];
  /** All hits at this position or later have been found; continue before it. Null once all hits have been found. */
  readonly floor: number | null;
}

interface Step extends Walk {
  readonly effort: number;
  /** The text that this step followed in the full-text index. The next step follows it again. */
  readonly followed?: TextTest;
}

/**
 * @param before position before which the walk starts (exclusive).
 * @param wanted number of hits at which the walk stops.
 * @param effort amount of work after which the walk stops.
 */
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

type Index = Omit<Driver, 'filter' | 'isRare'>;

const VISIBLE: Index = {
  from: 'message AS m INDEXED BY message_visible',
  narrow: 'message AS m INDEXED BY message_visible',
  position: 'm.position',
  where: { sql: 'm.is_visible = 1', values: [] },
};

const ANY: Index = {
  from: 'message AS m',
  narrow: 'message AS m',
  position: 'm.position',
  where: { sql: '1', values: [] },
};

interface ReachingDriver extends Driver {
  /** Position that a step reaches if it reads this condition's index; 0 if it reads all of its rows. */
  readonly floor: number;
}

/** @returns the indexed condition (driver) whose next rows reach furthest back in time; null if the query has none. */
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

/** @returns the position of the n-th row, before a position, in the index of a condition (driver); 0 if it has fewer rows. */
function findNth(sql: SqlStorage, { narrow, position, where }: Index, before: number, n: number): number {
  const query = `SELECT ${position} AS position FROM ${narrow} WHERE ${where.sql} AND ${position} < ?
    ORDER BY ${position} DESC LIMIT 1 OFFSET ?`;
  return first<{ position: number }>(sql, query, ...where.values, before, n - 1)?.position ?? 0;
}

/** @returns the text that the fewest messages of a window have; null if no text is in fewer than `SPARSE_HITS`. */
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

/** Step that reads the rows of an indexed condition (driver) down to its floor, and tests the other conditions on each. */
function stepByDriver(
  sql: SqlStorage,
  search: CompiledSearch,
  driver: ReachingDriver,
  before: number,
  wanted: number,
): Step {
  const floor = Math.max(driver.floor, search.from);
  const span = { before, floor };
  const positions = readPositions(sql, toDriverRead(search, driver, span), span, wanted);
  return endStep(positions, floor, wanted, EFFORT.driver);
}

/**
 * Step that reads the next messages with a text and tests the other conditions on each. An indexed condition (driver) is tested
 * first, in its narrow index, because message rows are wide and few fit on a page.
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
  const readTextHits = (expression: string, limit: number) =>
    listPositions(
      sql,
      `SELECT rowid AS position FROM message_search WHERE rowid < ?1 AND rowid >= ?2 AND message_search MATCH ?3
        ORDER BY rowid DESC LIMIT ?4`,
      [before, search.from, expression, limit],
    );
  const rest = [
    ...search.texts.filter((text) => text !== sparse).map(({ expression }) => expression),
    search.absent ?? '',
  ];
  const isAlone = search.texts.length === 1 && search.absent === null;
  const few = isAlone || rest.some(isScannedPrefix) ? null : readTextHits(sparse.expression, FEW_TEXT_ROWS);
  const isFew = few !== null && few.length < FEW_TEXT_ROWS;
  const hits = isFew ? few : readTextHits(toWholeExpression(search) ?? '', rows);
  const others = isFew ? search.texts.filter((text) => text !== sparse) : [];
  const { from, position, where: driven } = driver ?? ANY;
  const scope = { kind: 'message', before, floor: hits.at(-1) ?? search.from, periods: null } as const;
  const where = [
    driven,
    ...search.conditions(scope, driver?.filter),
    ...others.map((text) => toTextCondition(text.expression, text.isOneTerm, scope)),
    ...negate(isFew && search.absent !== null ? [toTextCondition(search.absent, false, scope)] : []),
  ];
  const query = `SELECT ${position} AS position FROM json_each(?1) AS j CROSS JOIN ${from}
    WHERE ${position} = j.value AND ${joinConditions(where)} ORDER BY j.key LIMIT ?`;
  const positions = listPositions(sql, query, [JSON.stringify(hits), ...valuesOf(where), wanted]);
  const isOver = isFew || hits.length < rows;
  const effort = (EFFORT.text * rows) / TEXT_ROWS;
  return { ...endStep(positions, isOver ? 0 : (hits.at(-1) ?? 0), wanted, effort), followed: sparse };
}

/** Step that tests every message of a window. */
function stepByWindow(
  sql: SqlStorage,
  search: CompiledSearch,
  windowFloor: number,
  before: number,
  wanted: number,
): Step {
  const floor = Math.max(windowFloor, search.from);
  const periods = toPeriodsExpression(floor, before);
  const span = { before, floor };
  const positions = readPositions(sql, toWindowRead(search, periods, span), span, wanted);
  return endStep(positions, floor, wanted, EFFORT.window);
}

/** Ends a step. If it found as many hits as wanted, it stopped reading at the last hit, so its floor is there. */
function endStep(positions: readonly number[], floor: number, wanted: number, effort: number): Step {
  const seen = positions.length === wanted ? (positions.at(-1) ?? floor) : floor;
  return { positions, floor: seen === 0 ? null : seen, effort };
}
