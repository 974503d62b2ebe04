/**
 * A snapshot of a shard's metadata in R2, in every location: what `rebuild` starts from when the database is gone.
 *
 * Keys: `snapshots/<shard>/<time>/<table>/<n>.json.gz`, each a page of rows in the order of the primary key, and last of
 * all `snapshots/<shard>/<time>/manifest.json`, so that a snapshot without one was not finished and is not used. BLOB
 * columns are hex. The newest three are kept.
 *
 * By design: pages are read one after the other, not in one transaction, so a snapshot is of a span of time, not of an
 * instant. `rebuild` therefore drops what does not fit together (an extent without its version) and looks at the blobs
 * themselves for what came after.
 */
import { gunzipSync, gzipSync } from 'node:zlib';
import { logInfo } from '../../shared/log.ts';
import type { EngineContext } from '../engine/context.ts';

/** Columns by table, BLOBs marked; the order is that of the rows in the pages. */
export const SNAPSHOT_TABLES = {
  bucket: {
    columns: ['n', 'bucket_id', 'name', 'versioning', 'versioning_seq', 'seal', 'slots'],
    blobs: [],
    key: ['n'],
  },
  version: {
    columns: [
      'bucket',
      'name',
      'ord',
      'slot',
      'live',
      'is_null',
      'is_marker',
      'object_id',
      'size',
      'etag',
      'sha256',
      'checksums',
      'checksum_type',
      'part_count',
      'metadata',
      'tags',
      'acl',
    ],
    blobs: ['name', 'ord', 'object_id', 'sha256'],
    key: ['bucket', 'name', 'ord'],
  },
  inline: {
    columns: ['object_id', 'bucket', 'name', 'ord', 'size', 'crc32', 'data'],
    blobs: ['object_id', 'name', 'ord'],
    key: ['object_id'],
  },
  extent: {
    columns: ['object_id', 'start', 'length', 'blob_id', 'blob_start', 'crc32', 'part', 'part_facts'],
    blobs: ['object_id', 'blob_id'],
    key: ['object_id', 'start'],
  },
  blob: {
    columns: ['blob_id', 'kind', 'size', 'sha256', 'segments', 'locations', 'created_at', 'is_shared', 'is_lost'],
    blobs: ['blob_id', 'sha256', 'segments'],
    key: ['blob_id'],
  },
  reclaim: { columns: ['blob_id', 'since'], blobs: ['blob_id'], key: ['blob_id'] },
  upload: {
    columns: [
      'bucket',
      'name',
      'upload_id',
      'slot',
      'initiated_at',
      'metadata',
      'tags',
      'acl',
      'checksum_algorithm',
      'checksum_type',
      'state',
      'request_sha256',
      'ord',
      'ended_at',
      'due_at',
    ],
    blobs: ['name', 'request_sha256', 'ord'],
    key: ['bucket', 'name', 'upload_id'],
  },
  part: {
    columns: ['upload_id', 'part_number', 'object_id', 'size', 'etag', 'checksums', 'modified_at'],
    blobs: ['object_id'],
    key: ['upload_id', 'part_number'],
  },
} as const satisfies Record<string, { columns: readonly string[]; blobs: readonly string[]; key: readonly string[] }>;

export type SnapshotTable = keyof typeof SNAPSHOT_TABLES;
export const SNAPSHOT_TABLE_NAMES = Object.keys(SNAPSHOT_TABLES) as SnapshotTable[];

type SnapshotRow = readonly (string | number | null)[];

export interface SnapshotManifest {
  readonly shard: number;
  readonly started_at: number;
  readonly finished_at: number;
  readonly pages: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

const KEPT = 3;
const prefixOf = (shard: number): string => `snapshots/${shard}/`;
const pageKey = (prefix: string, table: string, page: number) =>
  `${prefix}${table}/${String(page).padStart(6, '0')}.json.gz`;

function pageSql(table: SnapshotTable, isFirst: boolean): string {
  const { columns, blobs, key } = SNAPSHOT_TABLES[table];
  const isBlob = (column: string) => (blobs as readonly string[]).includes(column);
  const selected = columns.map((column) => (isBlob(column) ? `hex(${column})` : column));
  const bound = key.map((column, i) => (isBlob(column) ? `unhex(?${i + 1})` : `?${i + 1}`));
  const from = isFirst ? '' : `WHERE (${key.join(', ')}) > (${bound.join(', ')})`;
  return `SELECT ${selected.map((column, i) => `${column} AS c${i}`).join(', ')} FROM ${table} ${from} ORDER BY ${key.join(', ')} LIMIT `;
}

/** Rows of at most some megabytes a page: inline ones carry 16 KiB each. */
const pageRows = (table: SnapshotTable): number => (table === 'inline' ? 200 : 2000);

async function* readPages(context: EngineContext, shard: number, table: SnapshotTable): AsyncGenerator<SnapshotRow[]> {
  const database = context.shards[shard] as D1Database;
  const { columns, key } = SNAPSHOT_TABLES[table];
  const limit = pageRows(table);
  let after: (string | number | null)[] | null = null;
  for (;;) {
    const statement = database.prepare(pageSql(table, after === null) + limit);
    const { results } = await (after === null ? statement : statement.bind(...after)).all<
      Record<string, string | number | null>
    >();
    const rows = results.map((row) => columns.map((_, i) => row[`c${i}`] ?? null));
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    const last = rows.at(-1) as SnapshotRow;
    after = key.map((column) => last[(columns as readonly string[]).indexOf(column)] ?? null);
  }
}

const putEverywhere = async (context: EngineContext, key: string, bytes: Uint8Array | string): Promise<void> => {
  await Promise.all(context.locations.map((bucket) => bucket.put(key, bytes)));
};

export async function snapshotShard(context: EngineContext, shard: number): Promise<SnapshotManifest> {
  const startedAt = context.now();
  const prefix = `${prefixOf(shard)}${new Date(startedAt).toISOString()}/`;
  const pages: Record<string, number> = {};
  const rows: Record<string, number> = {};
  for (const table of SNAPSHOT_TABLE_NAMES) {
    pages[table] = 0;
    rows[table] = 0;
    for await (const page of readPages(context, shard, table)) {
      await putEverywhere(context, pageKey(prefix, table, pages[table]), gzipSync(JSON.stringify(page)));
      pages[table]++;
      rows[table] += page.length;
    }
  }
  const manifest: SnapshotManifest = { shard, started_at: startedAt, finished_at: context.now(), pages, rows };
  await putEverywhere(context, `${prefix}manifest.json`, JSON.stringify(manifest));
  await removeOldSnapshots(context, shard);
  logInfo('snapshot_written', { shard, versions: rows.version ?? 0, blobs: rows.blob ?? 0 });
  return manifest;
}

async function listSnapshots(bucket: R2Bucket, shard: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await bucket.list({ prefix: prefixOf(shard), delimiter: '/', ...(cursor ? { cursor } : {}) });
    found.push(...page.delimitedPrefixes);
    if (!page.truncated) return found.sort();
    cursor = page.cursor;
  }
}

async function removeOldSnapshots(context: EngineContext, shard: number): Promise<void> {
  for (const bucket of context.locations) {
    const finished: string[] = [];
    const prefixes = await listSnapshots(bucket, shard);
    for (const prefix of prefixes) if (await bucket.head(`${prefix}manifest.json`)) finished.push(prefix);
    const oldestKept = finished.slice(-KEPT)[0];
    if (oldestKept === undefined) continue;
    for (const prefix of prefixes.filter((candidate) => candidate < oldestKept)) await removePrefix(bucket, prefix);
  }
}

async function removePrefix(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const page = await bucket.list({ prefix, limit: 1000 });
    if (page.objects.length > 0) await bucket.delete(page.objects.map((object) => object.key));
    if (!page.truncated) return;
  }
}

/** The newest finished snapshot of any location. @returns null when there is none. */
export async function findSnapshot(
  context: EngineContext,
  shard: number,
): Promise<{ readonly prefix: string; readonly manifest: SnapshotManifest } | null> {
  let newest: { prefix: string; manifest: SnapshotManifest } | null = null;
  for (const bucket of context.locations) {
    for (const prefix of (await listSnapshots(bucket, shard)).reverse()) {
      if (newest && prefix <= newest.prefix) break;
      const manifest = await bucket.get(`${prefix}manifest.json`);
      if (!manifest) continue;
      newest = { prefix, manifest: await manifest.json<SnapshotManifest>() };
      break;
    }
  }
  return newest;
}

/** One page, from whichever location has it. */
export async function readSnapshotPage(
  context: EngineContext,
  prefix: string,
  table: SnapshotTable,
  page: number,
): Promise<SnapshotRow[]> {
  for (const bucket of context.locations) {
    const object = await bucket.get(pageKey(prefix, table, page));
    if (!object) continue;
    try {
      return JSON.parse(gunzipSync(Buffer.from(await object.arrayBuffer())).toString()) as SnapshotRow[];
    } catch {
      // gzip carries a CRC: a damaged page does not open, and the next location is asked.
    }
  }
  throw new Error(`no location has ${pageKey(prefix, table, page)}`);
}
