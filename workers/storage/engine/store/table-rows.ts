/**
 * Reads and writes rows that are copied between databases and R2. A row is an object with a value per column. BLOBs are hex; NULL
 * and the empty BLOB are both '' (no key is empty). A row that stays in its shard refers to its bucket by the shard's own number
 * (`bucket`), a row that leaves it by `bucket_id`.
 */
import type { Row } from './database.ts';
import { NEXT_ID } from './version-ids.ts';

interface TableShape {
  readonly columns: readonly string[];
  readonly blobs: readonly string[];
  readonly key: readonly string[];
}

export const TABLES = {
  bucket: {
    columns: [
      ...[
        'n',
        'bucket_id',
        'name',
        'owner_id',
        'versioning',
        'versioning_seq',
        'seal',
        'slots',
        'newest',
        'generation',
      ],
      'object_lock',
    ],
    blobs: ['newest'],
    key: ['n'],
  },
  blob: {
    columns: [
      ...['blob_id', 'kind', 'size', 'sha256', 'segments', 'locations', 'created_at', 'is_shared', 'is_lost'],
      'missing',
    ],
    blobs: ['blob_id', 'sha256', 'segments'],
    key: ['blob_id'],
  },
  // Columns of `version` that are copied. They lack the row id, which the receiving shard assigns.
  version: {
    columns: [
      ...['bucket', 'name', 'ord', 'slot', 'is_null', 'is_marker', 'object_id', 'size', 'etag', 'sha256', 'checksums'],
      ...['checksum_type', 'part_count', 'metadata', 'tags', 'acl', 'taken_down', 'lock_mode', 'retain_until'],
      ...['legal_hold', 'blob_id', 'blob_start', 'crc32', 'data'],
    ],
    blobs: ['name', 'ord', 'object_id', 'sha256', 'blob_id'],
    key: ['bucket', 'name', 'ord'],
  },
  extent: {
    columns: ['object_id', 'start', 'length', 'blob_id', 'blob_start', 'crc32', 'part', 'part_facts'],
    blobs: ['object_id', 'blob_id'],
    key: ['object_id', 'start'],
  },
  reclaim: { columns: ['blob_id', 'since'], blobs: ['blob_id'], key: ['blob_id'] },
  upload: {
    columns: [
      ...['bucket', 'name', 'upload_id', 'slot', 'initiated_at', 'metadata', 'tags', 'acl', 'checksum_algorithm'],
      ...['checksum_type', 'state', 'request_sha256', 'ord', 'ended_at', 'due_at', 'lock_mode', 'retain_until'],
      'legal_hold',
    ],
    blobs: ['name', 'request_sha256', 'ord'],
    key: ['bucket', 'name', 'upload_id'],
  },
  part: {
    columns: ['upload_id', 'part_number', 'object_id', 'size', 'etag', 'checksums', 'modified_at'],
    blobs: ['object_id'],
    key: ['upload_id', 'part_number'],
  },
} as const satisfies Record<string, TableShape>;

export type Table = keyof typeof TABLES;
export const TABLE_NAMES = Object.keys(TABLES) as Table[];

const isBlob = (table: Table, column: string): boolean => (TABLES[table].blobs as readonly string[]).includes(column);

/** SQL of a table's columns. @param travels whether the row leaves its shard and therefore refers to its bucket by id. */
export function columnsOf(table: Table, alias: string, travels: boolean): string {
  const columns = (TABLES[table].columns as readonly string[]).map((column) => {
    if (travels && column === 'bucket')
      return `(SELECT o.bucket_id FROM bucket o WHERE o.n = ${alias}.bucket) AS bucket_id`;
    return isBlob(table, column) ? `hex(${alias}.${column}) AS ${column}` : `${alias}.${column}`;
  });
  return columns.join(', ');
}

/**
 * SQL that selects a page: the rows of `t` after a key, in the order of the key, at most ?1. Also returns the parameters that
 * follow the limit.
 */
function pageOf(table: Table, after: Row | null) {
  const { key } = TABLES[table];
  const bound = key.map((column, i) => (isBlob(table, column) ? `unhex(?${i + 2})` : `?${i + 2}`));
  const where = after === null ? '' : `WHERE (${key.join(', ')}) > (${bound.join(', ')})`;
  const order = key.map((column) => `t.${column}`).join(', ');
  return {
    sql: `FROM ${table} t ${where} ORDER BY ${order} LIMIT ?1`,
    parameters: after === null ? [] : key.map((column) => after[column] ?? null),
  };
}

/** Statement that reads a page of a table. @param after key of the last row of the previous page; null for the first page. */
export function pageStatement(database: D1Database, table: Table, after: Row | null, limit: number) {
  const { sql, parameters } = pageOf(table, after);
  return database.prepare(`SELECT ${columnsOf(table, 't', false)} ${sql}`).bind(limit, ...parameters);
}

/** Statement that counts (`n`) how many of the next versions, at most `limit`, have `bytesMax` of inline bytes together. */
export function fittingStatement(database: D1Database, after: Row | null, limit: number, bytesMax: number) {
  const { sql, parameters } = pageOf('version', after);
  const bytes = `SELECT CASE WHEN t.data IS NULL THEN 0 ELSE t.size END AS bytes ${sql}`;
  const sums = `SELECT sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS held FROM (${bytes})`;
  return database.prepare(`SELECT count(*) AS n FROM (${sums}) WHERE held <= ${bytesMax}`).bind(limit, ...parameters);
}

/** Maximum size of a parameter here. D1 accepts at most 2 MB. */
const PARAMETER_BYTES_MAX = 1_000_000;

/** Splits a list into JSON arrays that each fit into a parameter. */
export function toParameters(rows: readonly unknown[]): string[] {
  const parameters: string[] = [];
  let chunk: string[] = [];
  let length = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (length + text.length > PARAMETER_BYTES_MAX && chunk.length > 0) {
      parameters.push(`[${chunk.join(',')}]`);
      chunk = [];
      length = 0;
    }
    chunk.push(text);
    length += text.length + 1;
  }
  if (chunk.length > 0) parameters.push(`[${chunk.join(',')}]`);
  return parameters;
}

/**
 * Inserts rows; existing ones stay unchanged unless `onConflict` says otherwise. `changed` replaces columns by SQL
 * values, and `where` is an SQL condition. Both refer to a row as `a.value`.
 */
export function insertRows(
  database: D1Database,
  table: Table,
  rows: readonly Row[],
  {
    changed = {},
    onConflict = 'NOTHING',
    where = 'true',
  }: { changed?: Readonly<Record<string, string>>; onConflict?: string; where?: string } = {},
): D1PreparedStatement[] {
  const columns: readonly string[] = TABLES[table].columns;
  const values = columns.map((column) => {
    if (changed[column] !== undefined) return changed[column];
    if (column === 'bucket') {
      return "COALESCE((SELECT o.n FROM bucket o WHERE o.bucket_id = a.value->>'bucket_id'), a.value->>'bucket')";
    }
    return isBlob(table, column) ? `unhex(NULLIF(a.value->>'${column}', ''))` : `a.value->>'${column}'`;
  });
  const [id, newId] = table === 'version' ? ['id, ', `${NEXT_ID} + a.key, `] : ['', ''];
  const sql = `INSERT INTO ${table}(${id}${columns.join(', ')}) SELECT ${newId}${values.join(', ')} FROM json_each(?1) a WHERE ${where}
    ON CONFLICT DO ${onConflict}`;
  return toParameters(rows).map((parameter) => database.prepare(sql).bind(parameter));
}
