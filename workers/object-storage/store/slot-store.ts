/** The rows of one slot of a bucket: to copy them to another shard, to compare both, and to remove them. */
import { createHash } from 'node:crypto';
import type { SlotState } from '../domain/slots.ts';
import type { EngineContext } from '../engine/context.ts';
import type { Row } from './database.ts';

const databaseOf = (context: EngineContext, shard: number) => context.shards[shard] as D1Database;
const BUCKET = '(SELECT n FROM bucket WHERE bucket_id = ?1)';

/** Sets the slot's state if it is one of `from`. @returns whether it now is `to`. */
export async function setSlotState(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
  from: readonly SlotState[],
  to: SlotState,
): Promise<boolean> {
  const [, state] = await databaseOf(context, shard).batch<{ state: string; seal: string | null }>([
    databaseOf(context, shard)
      .prepare(
        `UPDATE bucket SET slots = substr(slots, 1, ?2) || ?4 || substr(slots, ?2 + 2)
         WHERE bucket_id = ?1 AND seal IS NULL AND instr(?3, substr(slots, ?2 + 1, 1)) > 0`,
      )
      .bind(bucketId, slot, from.join(''), to),
    databaseOf(context, shard)
      .prepare('SELECT substr(slots, ?2 + 1, 1) AS state, seal FROM bucket WHERE bucket_id = ?1')
      .bind(bucketId, slot),
  ]);
  return state?.results[0]?.state === to && state.results[0].seal === null;
}

export async function unsealed(context: EngineContext, shard: number, bucketId: string): Promise<boolean> {
  const row = await databaseOf(context, shard)
    .prepare('SELECT seal FROM bucket WHERE bucket_id = ?1')
    .bind(bucketId)
    .first<{ seal: string | null }>();
  return row !== null && row.seal === null;
}

/** Columns that are copied as they are; BLOBs travel as hex inside JSON. */
const TABLES = {
  version: {
    blobs: ['name', 'ord', 'object_id', 'sha256'],
    plain: [
      'slot',
      'live',
      'is_null',
      'is_marker',
      'size',
      'etag',
      'checksums',
      'checksum_type',
      'part_count',
      'metadata',
      'tags',
      'acl',
    ],
  },
  upload: {
    blobs: ['name', 'request_sha256', 'ord'],
    plain: [
      'upload_id',
      'slot',
      'initiated_at',
      'metadata',
      'tags',
      'acl',
      'checksum_algorithm',
      'checksum_type',
      'state',
      'ended_at',
      'due_at',
    ],
  },
  inline: { blobs: ['object_id', 'name', 'ord'], plain: ['size', 'crc32', 'data'] },
  part: { blobs: ['object_id'], plain: ['upload_id', 'part_number', 'size', 'etag', 'checksums', 'modified_at'] },
  extent: { blobs: ['object_id', 'blob_id'], plain: ['start', 'length', 'blob_start', 'crc32', 'part', 'part_facts'] },
  blob: { blobs: ['blob_id', 'sha256', 'segments'], plain: ['kind', 'size', 'locations', 'created_at', 'is_lost'] },
} as const;
type Table = keyof typeof TABLES;
/** These rows name their bucket by its number in the shard, which is another one in the target. */
const HAS_BUCKET: ReadonlySet<Table> = new Set(['version', 'upload', 'inline']);
const TABLE_ORDER: readonly Table[] = ['blob', 'version', 'inline', 'upload', 'part', 'extent'];

const selectList = (table: Table, alias: string) =>
  [
    ...TABLES[table].blobs.map((column) => `hex(${alias}.${column}) AS ${column}`),
    ...TABLES[table].plain.map((column) => `${alias}.${column}`),
  ].join(', ');

/** JSON of at most 2 MB a parameter: inline rows carry up to 22 KB each. */
const rowsPerStatement = (table: Table): number => (table === 'inline' ? 50 : table === 'blob' ? 200 : 1000);

function insertStatements(
  database: D1Database,
  table: Table,
  bucketId: string,
  rows: readonly Row[],
): D1PreparedStatement[] {
  const { blobs, plain } = TABLES[table];
  const columns = [...blobs, ...plain];
  const values = [
    ...blobs.map((column) => `unhex(NULLIF(a.value->>'${column}', ''))`),
    ...plain.map((column) => `a.value->>'${column}'`),
  ];
  const isBlob = table === 'blob';
  const withBucket = HAS_BUCKET.has(table);
  const sql = `INSERT INTO ${table}(${withBucket ? 'bucket, ' : ''}${columns.join(', ')}${isBlob ? ', is_shared' : ''})
    SELECT ${withBucket ? `${BUCKET}, ` : ''}${values.join(', ')}${isBlob ? ', 1' : ''} FROM json_each(?2) a WHERE ?1 IS NOT NULL
    ON CONFLICT DO ${isBlob ? 'UPDATE SET is_shared = 1' : 'NOTHING'}`;
  const statements: D1PreparedStatement[] = [];
  const size = rowsPerStatement(table);
  for (let at = 0; at < rows.length; at += size) {
    statements.push(database.prepare(sql).bind(bucketId, JSON.stringify(rows.slice(at, at + size))));
  }
  return statements;
}

/** The names of a page: everything of a name goes together. Uploads of names that have no version count too. */
const NAMES = `SELECT name FROM (SELECT name FROM version WHERE bucket = ${BUCKET} AND slot = ?2 AND name > unhex(?3)
  UNION SELECT name FROM upload WHERE bucket = ${BUCKET} AND slot = ?2 AND name > unhex(?3)) ORDER BY name LIMIT ?4`;

/** Copies a page of names with all that belongs to them. @returns the last name (hex), or null when there was none. */
export async function copyNames(
  context: EngineContext,
  from: number,
  to: number,
  bucketId: string,
  slot: number,
  after: string,
  limit: number,
): Promise<string | null> {
  const source = databaseOf(context, from);
  const bound = [bucketId, slot, after, limit];
  const of = (sql: string) => source.prepare(sql).bind(...bound);
  const versions = `version v WHERE v.bucket = ${BUCKET} AND v.slot = ?2 AND v.name IN (${NAMES})`;
  const uploads = `upload u WHERE u.bucket = ${BUCKET} AND u.slot = ?2 AND u.name IN (${NAMES})`;
  const parts = `part p WHERE p.upload_id IN (SELECT u.upload_id FROM ${uploads})`;
  const objects = `SELECT v.object_id FROM ${versions} UNION ALL SELECT p.object_id FROM ${parts}`;
  const extents = `extent e WHERE e.object_id IN (${objects})`;
  // One transaction: what is packed meanwhile is either still inline or already an extent, never both or neither.
  const pages = await source.batch<Row>([
    of(`SELECT hex(name) AS name FROM (${NAMES})`),
    of(`SELECT ${selectList('version', 'v')} FROM ${versions}`),
    of(`SELECT ${selectList('upload', 'u')} FROM ${uploads}`),
    of(`SELECT ${selectList('part', 'p')} FROM ${parts}`),
    of(`SELECT ${selectList('inline', 'i')} FROM inline i WHERE i.object_id IN (${objects})`),
    of(`SELECT ${selectList('extent', 'e')} FROM ${extents}`),
    of(`SELECT ${selectList('blob', 'l')} FROM blob l WHERE l.blob_id IN (SELECT e.blob_id FROM ${extents})`),
    of(`UPDATE blob SET is_shared = 1 WHERE is_shared = 0 AND blob_id IN (SELECT e.blob_id FROM ${extents})`),
  ]);
  const names = pages[0]?.results ?? [];
  if (names.length === 0) return null;
  const target = databaseOf(context, to);
  const rowsOf: Record<Table, readonly Row[]> = {
    version: pages[1]?.results ?? [],
    upload: pages[2]?.results ?? [],
    part: pages[3]?.results ?? [],
    inline: pages[4]?.results ?? [],
    extent: pages[5]?.results ?? [],
    blob: pages[6]?.results ?? [],
  };
  await target.batch(TABLE_ORDER.flatMap((table) => insertStatements(target, table, bucketId, rowsOf[table])));
  return String(names.at(-1)?.name);
}

export interface CopiedCounts {
  readonly versions: number;
  readonly uploads: number;
  readonly bytes: number;
  /** Of all versions with the lengths of their data, and of all parts. */
  readonly digest: string;
}

export async function countSlot(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
): Promise<CopiedCounts> {
  const database = databaseOf(context, shard);
  const hash = createHash('sha256');
  let versions = 0;
  let bytes = 0;
  let after = ['', ''];
  for (;;) {
    const { results } = await database
      .prepare(
        `SELECT hex(v.name) AS name, hex(v.ord) AS ord, hex(v.object_id) AS object_id, v.live, v.is_null, v.is_marker, v.size, v.etag,
           v.metadata, v.tags, v.acl, COALESCE((SELECT sum(length) FROM extent e WHERE e.object_id = v.object_id), 0)
             + COALESCE((SELECT i.size FROM inline i WHERE i.object_id = v.object_id), 0) AS held
         FROM version v WHERE v.bucket = ${BUCKET} AND v.slot = ?2 AND (v.name, v.ord) > (unhex(?3), unhex(?4))
         ORDER BY v.bucket, v.name, v.ord LIMIT 1000`,
      )
      .bind(bucketId, slot, ...after)
      .all<Row>();
    for (const row of results) {
      hash.update(JSON.stringify(Object.values(row)));
      versions++;
      bytes += Number(row.size);
    }
    const last = results.at(-1);
    if (results.length < 1000 || !last) break;
    after = [String(last.name), String(last.ord)];
  }
  const { results: uploads } = await database
    .prepare(
      `SELECT u.upload_id, u.state, (SELECT json_group_array(hex(p.object_id) || p.size) FROM part p WHERE p.upload_id = u.upload_id) AS parts
       FROM upload u WHERE u.bucket = ${BUCKET} AND u.slot = ?2 ORDER BY u.upload_id`,
    )
    .bind(bucketId, slot)
    .all<Row>();
  hash.update(JSON.stringify(uploads));
  return { versions, uploads: uploads.length, bytes, digest: hash.digest('hex') };
}

/** Removes a page of names. Blobs that lose their last reference here are noted for reclamation. @returns false at the end. */
export async function removeSlotNames(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
  limit: number,
): Promise<boolean> {
  const database = databaseOf(context, shard);
  const page = await database
    .prepare(`SELECT hex(name) AS name FROM (${NAMES})`)
    .bind(bucketId, slot, '', limit)
    .all<{ name: string }>();
  if (page.results.length === 0) return false;
  const names = JSON.stringify(page.results.map((row) => row.name));
  const of = (sql: string) => database.prepare(sql).bind(bucketId, slot, names);
  const which = `bucket = ${BUCKET} AND slot = ?2 AND name IN (SELECT unhex(value) FROM json_each(?3))`;
  const ids = `SELECT upload_id FROM upload WHERE ${which}`;
  const objects = `SELECT object_id FROM version WHERE ${which} UNION ALL SELECT object_id FROM part WHERE upload_id IN (${ids})`;
  await database.batch([
    of(`INSERT INTO reclaim(blob_id, since) SELECT blob_id, ${Math.trunc(context.now())} FROM extent WHERE object_id IN (${objects})
      ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`),
    of(`DELETE FROM extent WHERE object_id IN (${objects})`),
    of(`DELETE FROM inline WHERE object_id IN (${objects})`),
    of(`DELETE FROM part WHERE upload_id IN (${ids})`),
    of(`DELETE FROM version WHERE ${which}`),
    of(`DELETE FROM upload WHERE ${which}`),
  ]);
  return true;
}
