/** Consistency checks over one page of a table at a time, so that no statement exceeds D1's limit of 30 s. */
import { readAll, statement } from '../../../shared/stores/statement.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import { type Row, toHex } from './database.ts';
import { TABLES, type Table, toParameters } from './table-rows.ts';
import { WAITING } from './version-ids.ts';
import { isReferenced } from './version-sql.ts';

/**
 * A range of a table in the order of its key, from after `after` (null: from the start) up to and including `end` (null: to the
 * end).
 */
export interface Page {
  readonly table: Table;
  readonly after: Row | null;
  readonly end: Row | null;
}

const isBlob = (table: Table, column: string) => (TABLES[table].blobs as readonly string[]).includes(column);

/** SQL condition that selects the rows of a page from a table with the alias `t`. Its parameters start at ?1. */
function within({ table, after, end }: Page): { readonly sql: string; readonly parameters: readonly unknown[] } {
  const key: readonly string[] = TABLES[table].key;
  const parameters: unknown[] = [];
  const compare = (operator: string, row: Row) => {
    const values = key.map((column) => {
      const parameter = `?${parameters.push(row[column] ?? null)}`;
      return isBlob(table, column) ? `unhex(${parameter})` : parameter;
    });
    return `(${key.map((column) => `t.${column}`).join(', ')}) ${operator} (${values.join(', ')})`;
  };
  const arms = [...(after ? [compare('>', after)] : []), ...(end ? [compare('<=', end)] : [])];
  return { sql: arms.length === 0 ? 'true' : arms.join(' AND '), parameters };
}

/** Prepares a statement over the rows of a page. The table has the alias `t`. */
export function ask(
  context: EngineContext,
  shard: number,
  page: Page,
  make: (within: string) => string,
): D1PreparedStatement {
  const { sql, parameters } = within(page);
  return databaseOf(context, shard)
    .prepare(make(sql))
    .bind(...parameters);
}

/** Finds the bounds of the page of `rows` rows after the key `after`. */
export async function findPage(
  context: EngineContext,
  shard: number,
  table: Table,
  after: Row | null,
  rows: number,
): Promise<Page> {
  const key: readonly string[] = TABLES[table].key;
  const columns = key.map((column) => (isBlob(table, column) ? `hex(t.${column}) AS ${column}` : `t.${column}`));
  const order = key.map((column) => `t.${column}`).join(', ');
  const start: Page = { table, after, end: null };
  const end = await ask(
    context,
    shard,
    start,
    (within) =>
      `SELECT ${columns.join(', ')} FROM ${table} t WHERE ${within} ORDER BY ${order} LIMIT 1 OFFSET ${rows - 1}`,
  ).first<Row>();
  return { table, after, end };
}

/** Reads sums over a page as one row. @returns the sums by the names of their columns. */
export async function sumPage(
  context: EngineContext,
  shard: number,
  page: Page,
  columns: string,
  join = '',
): Promise<Readonly<Record<string, number>>> {
  const row = await ask(
    context,
    shard,
    page,
    (within) => `SELECT ${columns} FROM ${page.table} t ${join} WHERE ${within}`,
  ).first<Record<string, number | null>>();
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, value ?? 0]));
}

/**
 * A version that lacks data: its extents do not add up to its size. A version with inline data or a single blob is not tested here;
 * `withoutBlob` counts missing blob records.
 */
const INCOMPLETE = `t.is_marker = 0 AND t.data IS NULL AND t.blob_id IS NULL
  AND t.size <> COALESCE((SELECT sum(length) FROM extent e WHERE e.object_id = t.object_id), 0)`;
const UNREFERENCED = `NOT ${isReferenced('t.blob_id')} AND NOT EXISTS (SELECT 1 FROM reclaim r WHERE r.blob_id = t.blob_id)`;

/** Lists the versions of a page that lack data. */
export async function selectIncomplete(context: EngineContext, shard: number, page: Page): Promise<Row[]> {
  const { results } = await ask(
    context,
    shard,
    page,
    (
      within,
    ) => `SELECT b.name AS bucket, CAST(t.name AS TEXT) AS name FROM version t LEFT JOIN bucket b ON b.n = t.bucket
      WHERE ${within} AND ${INCOMPLETE}`,
  ).all<Row>();
  return results;
}

/** SQL expressions that count each kind of fault in a page. */
export const FAULTS = {
  unreferenced: `COALESCE(sum(${UNREFERENCED}), 0)`,
  /** Number of versions or extents whose blob has no record. */
  withoutBlob:
    'COALESCE(sum(t.blob_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blob l WHERE l.blob_id = t.blob_id)), 0)',
  /** Number of extents that the rows of the page refer to. */
  named: 'COALESCE(sum((SELECT count(*) FROM extent e WHERE e.object_id = t.object_id)), 0)',
} as const;

export async function repairBlobs(context: EngineContext, shard: number, page: Page): Promise<void> {
  await ask(
    context,
    shard,
    page,
    (within) => `INSERT INTO reclaim(blob_id, since) SELECT t.blob_id, ${Math.trunc(context.now())} FROM blob t
      WHERE ${within} AND ${UNREFERENCED} ON CONFLICT(blob_id) DO NOTHING`,
  ).run();
}

/** Lists the object ids of a page in hex, from `from` up to but excluding `to`. */
export async function selectObjectIds(
  context: EngineContext,
  shard: number,
  page: Page,
  from: string,
  to: string,
): Promise<string[]> {
  const { results } = await ask(
    context,
    shard,
    page,
    (
      within,
    ) => `SELECT hex(t.object_id) AS id FROM ${page.table} t WHERE ${within} AND hex(t.object_id) >= '${toHex(from)}'
      AND hex(t.object_id) < '${toHex(to)}'`,
  ).all<{ id: string }>();
  return results.map((row) => row.id);
}

/**
 * Counts the extents of these objects (ids in hex) to which no version and no part refers. It is called only for the few objects
 * that a walk over versions and parts did not find, and decides in one statement.
 * @param repairs removes the extents and marks their blobs for reclamation.
 */
export async function countDangling(
  context: EngineContext,
  shard: number,
  objectIds: readonly string[],
  repairs: boolean,
): Promise<number> {
  const database = databaseOf(context, shard);
  const doomed = `SELECT unhex(value) FROM json_each(?1) EXCEPT SELECT object_id FROM version EXCEPT SELECT object_id FROM part`;
  let found = 0;
  for (const parameter of toParameters(objectIds)) {
    const of = (sql: string) => database.prepare(sql).bind(parameter);
    const [count] = await database.batch<{ n: number }>([
      of(`SELECT count(*) AS n FROM extent WHERE object_id IN (${doomed})`),
      ...(repairs
        ? [
            of(`INSERT INTO reclaim(blob_id, since) SELECT blob_id, ${Math.trunc(context.now())} FROM extent
              WHERE object_id IN (${doomed}) ON CONFLICT(blob_id) DO NOTHING`),
            of(`DELETE FROM extent WHERE object_id IN (${doomed})`),
          ]
        : []),
    ]);
    found += count?.results[0]?.n ?? 0;
  }
  return found;
}

/** Inline data of a version with its checksum. `data` is Base64. */
export interface InlineCopy {
  /** Row id of the version that has the inline data. */
  readonly id: number;
  readonly crc32: number;
  readonly size: number;
  readonly data: string;
}

const listInline = statement<{ after: number; limit: number }, InlineCopy>(
  `SELECT v.id, v.crc32, v.size, v.data FROM ${WAITING} AND v.id > :after ORDER BY v.id LIMIT :limit`,
);

/**
 * Lists inline objects in the order of their versions' row ids.
 * @param after row id of the last version of the previous page; 0 from the start.
 */
export const selectInlineAfter = (context: EngineContext, shard: number, after: number, limit: number) =>
  readAll(databaseOf(context, shard), listInline, { after, limit });
