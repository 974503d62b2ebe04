/**
 * Rows in transit between databases and R2, as objects by column name. BLOBs are hex; NULL and the empty BLOB are both
 * '' (no key is empty). A row that stays in its shard refers to its bucket by the shard's own number (`bucket`), a row
 * that leaves it by `bucket_id`.
 */
import type { Row } from './database.ts';

interface TableShape {
  readonly columns: readonly string[];
  readonly blobs: readonly string[];
  readonly key: readonly string[];
}

export const TABLES = {
  bucket: {
    columns: ['n', 'bucket_id', 'name', 'owner_id', 'versioning', 'versioning_seq', 'seal', 'slots', 'newest'],
    blobs: ['newest'],
    key: ['n'],
  },
  blob: {
    columns: ['blob_id', 'kind', 'size', 'sha256', 'segments', 'locations', 'created_at', 'is_shared', 'is_lost'],
    blobs: ['blob_id', 'sha256', 'segments'],
    key: ['blob_id'],
  },
  version: {
    columns: [
      ...['bucket', 'name', 'ord', 'slot', 'live', 'is_null', 'is_marker', 'object_id', 'size', 'etag', 'sha256'],
      ...['checksums', 'checksum_type', 'part_count', 'metadata', 'tags', 'acl', 'taken_down'],
    ],
    blobs: ['name', 'ord', 'object_id', 'sha256'],
    key: ['bucket', 'name', 'ord'],
  },
  inline: {
    columns: ['object_id', 'bucket', 'name', 'ord', 'size', 'crc32', 'epoch', 'data'],
    blobs: ['object_id', 'name', 'ord'],
    key: ['object_id'],
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
      ...['checksum_type', 'state', 'request_sha256', 'ord', 'ended_at', 'due_at'],
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

/** @param travels whether the row leaves its shard, and so refers to its bucket by id. */
export function columnsOf(table: Table, alias: string, travels: boolean): string {
  const columns = (TABLES[table].columns as readonly string[]).map((column) => {
    if (travels && column === 'bucket')
      return `(SELECT o.bucket_id FROM bucket o WHERE o.n = ${alias}.bucket) AS bucket_id`;
    return isBlob(table, column) ? `hex(${alias}.${column}) AS ${column}` : `${alias}.${column}`;
  });
  return columns.join(', ');
}

/**
 * A page of a table in the order of its primary key. Binds the limit, then the key of the last row of the previous
 * page.
 */
export function pageStatement(database: D1Database, table: Table, after: Row | null, limit: number) {
  const { key } = TABLES[table];
  const bound = key.map((column, i) => (isBlob(table, column) ? `unhex(?${i + 2})` : `?${i + 2}`));
  const where = after === null ? '' : `WHERE (${key.join(', ')}) > (${bound.join(', ')})`;
  const sql = `SELECT ${columnsOf(table, 't', false)} FROM ${table} t ${where} ORDER BY ${key.map((column) => `t.${column}`).join(', ')} LIMIT ?1`;
  return database.prepare(sql).bind(limit, ...(after === null ? [] : key.map((column) => after[column] ?? null)));
}

/** D1 accepts at most 2 MB per parameter. */
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
  const sql = `INSERT INTO ${table}(${columns.join(', ')}) SELECT ${values.join(', ')} FROM json_each(?1) a WHERE ${where}
    ON CONFLICT DO ${onConflict}`;
  return toParameters(rows).map((parameter) => database.prepare(sql).bind(parameter));
}
