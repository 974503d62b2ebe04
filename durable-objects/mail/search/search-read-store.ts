/** Reads of messages that a compiled filter matches, each from one index in order of position. */

import { type Row, readRows } from '../database/store.ts';
import type { CompiledSearch, Driver } from './search-sql.ts';
import { type Condition, toTextCondition } from './text-sql.ts';

/** A read of messages from one index, in order of position. */
export interface Read {
  readonly from: string;
  /** SQL column with the position. */
  readonly position: string;
  readonly where: readonly Condition[];
}

export function toDriverRead(search: CompiledSearch, driver: Driver, span: Span): Read {
  const scope = { kind: 'message', periods: null, ...span } as const;
  const where = [
    driver.where,
    ...search.conditions(scope, driver.filter),
    ...search.texts.map((text) => toTextCondition(text.expression, text.isOneTerm, scope)),
    ...negate(search.absent === null ? [] : [toTextCondition(search.absent, false, scope)]),
  ];
  return { from: driver.from, position: driver.position, where };
}

/** @param periods FTS5 expression that narrows the full-text index to the window; null for all messages. */
export function toWindowRead(search: CompiledSearch, periods: string | null, span: Span): Read {
  const scope = { kind: 'window', periods, ...span } as const;
  const conditions = search.conditions(scope);
  const match = toWholeExpression(search, periods);
  if (match === null) {
    const absent = search.absent === null ? [] : [toTextCondition(search.absent, false, scope)];
    const { from, where } = pickScan(conditions);
    return { from, position: 'm.position', where: [...where, ...conditions, ...negate(absent)] };
  }
  return {
    from: 'message_search AS s CROSS JOIN message AS m ON m.position = s.rowid',
    position: 's.rowid',
    where: [{ sql: 'message_search MATCH ?', values: [match] }, ...conditions],
  };
}

export const joinConditions = (where: readonly Condition[]): string =>
  where.length === 0 ? '1' : where.map((condition) => `(${condition.sql})`).join(' AND ');
export const valuesOf = (where: readonly Condition[]): SqlStorageValue[] =>
  where.flatMap((condition) => condition.values);
export const negate = (where: readonly Condition[]): Condition[] =>
  where.map((condition) => ({ ...condition, sql: `NOT ${condition.sql}` }));

/** Window of positions: before `before` (exclusive), from `floor`. */
interface Span {
  readonly before: number;
  readonly floor: number;
}

export function readPositions(
  sql: SqlStorage,
  { from, position, where }: Read,
  { before, floor }: Span,
  limit: number,
): number[] {
  const query = `SELECT ${position} AS position FROM ${from} WHERE ${position} < ?1 AND ${position} >= ?2
    AND ${joinConditions(where)} ORDER BY ${position} DESC LIMIT ?`;
  return listPositions(sql, query, [before, floor, ...valuesOf(where), limit]);
}

export function listPositions(sql: SqlStorage, query: string, values: readonly SqlStorageValue[]): number[] {
  return [...sql.exec<{ position: number }>(query, ...values)].map((row) => row.position);
}

/** @param columns SQL of the columns to read from the message `m`. */
interface HitRequest {
  readonly columns: string;
  readonly order: 'ASC' | 'DESC';
}

/**
 * Finds all hits in order of position. Reads no further than the caller does. The caller must not write meanwhile.
 *
 * Reads the index that excludes the most messages, as far as that is known without reading rows, and tests the other conditions on
 * each message.
 */
export function readHits<T extends Row>(sql: SqlStorage, search: CompiledSearch, request: HitRequest): Iterable<T> {
  const [driver] = search.drivers.toSorted((a, b) => Number(b.isRare) - Number(a.isRare));
  const isDriven = driver && (driver.isRare || search.texts.length === 0);
  const span = { before: search.before, floor: search.from };
  const { from, position, where } = isDriven ? toDriverRead(search, driver, span) : toWindowRead(search, null, span);
  const rows = sql.exec<T>(
    `SELECT ${request.columns} FROM ${from} WHERE ${position} < ?1 AND ${position} >= ?2 AND ${joinConditions(where)}
     ORDER BY ${position} ${request.order}`,
    search.before,
    search.from,
    ...valuesOf(where),
  );
  return readRows(rows);
}

/** Picks the index that excludes the most messages, among the indexes in order of time. Each needs its condition word for word. */
function pickScan(conditions: readonly Condition[]): Pick<Read, 'from' | 'where'> {
  const [name, sql] = SCANS.find(([, sql]) => conditions.some((condition) => condition.sql === `+${sql}`)) ?? [];
  if (name === undefined || sql === undefined) return { from: 'message AS m', where: [] };
  return { from: `message AS m INDEXED BY ${name}`, where: [{ sql, values: [] }] };
}

const SCANS = [
  ['message_flagged', 'm.is_flagged = 1'],
  ['message_unread', 'm.is_read = 0'],
  ['message_attachment', 'm.has_attachment = 1'],
  ['message_visible', 'm.is_visible = 1'],
] as const;

/** Joins all texts in one FTS5 expression. Null if no text must match, because FTS5 cannot express a lone negation. */
export function toWholeExpression({ texts, absent }: CompiledSearch, periods: string | null = null): string | null {
  if (texts.length === 0) return null;
  const wanted = [...(periods === null ? [] : [periods]), ...texts.map((text) => `(${text.expression})`)].join(' AND ');
  return absent === null ? wanted : `(${wanted}) NOT (${absent})`;
}
