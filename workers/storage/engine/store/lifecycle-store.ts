/** Runs of lifecycle rules: one row for each bucket whose rules are to be applied in a shard, with its progress. */
import { prepare, type RowOf, readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import { type BucketRecord, type BucketRow, findById, toBucketRecord } from './bucket-store.ts';
import { IS_BEING_REBUILT } from './database.ts';
import { isLocked } from './lock-sql.ts';
import type { lifecycle } from './schema.ts';

const BUCKETS_PER_PAGE = 500;

// The condition must equal that of the index `bucket_lifecycle`; otherwise SQLite does not use the index.
const listWithRules = statement<{ after: string }, Pick<BucketRow, 'bucket_id'>>(
  `SELECT bucket_id FROM bucket WHERE json_extract(configuration, '$.lifecycle') IS NOT NULL AND bucket_id > :after
   ORDER BY bucket_id LIMIT ${BUCKETS_PER_PAGE}`,
);
const insertRuns = statement<{ bucketIds: string; nowMs: number }>(
  `INSERT INTO lifecycle(bucket, started_at, counts) SELECT b.n, :nowMs, '{}' FROM json_each(:bucketIds) a
   CROSS JOIN bucket b WHERE b.bucket_id = a.value AND instr(b.slots, 'o') > 0 ON CONFLICT DO NOTHING`,
);

/** Adds a run of lifecycle rules for each bucket that has rules. Runs that have not ended continue. */
export async function startRuns(context: EngineContext, shard: number): Promise<void> {
  const nowMs = Math.trunc(context.now());
  let after = '';
  for (;;) {
    const rows = await readAll(context.directory, listWithRules, { after });
    const bucketIds = JSON.stringify(rows.map((row) => row.bucket_id));
    if (rows.length > 0) await prepare(databaseOf(context, shard), insertRuns, { bucketIds, nowMs }).run();
    after = rows.at(-1)?.bucket_id ?? '';
    if (rows.length < BUCKETS_PER_PAGE) return;
  }
}

export type RunRow = RowOf<typeof lifecycle> & { readonly bucket_id: string };

// Lists the runs in random order. A run that always fails then does not delay the same other runs each time.
const listRuns = statement<{ limit: number }, RunRow>(
  `SELECT l.bucket, l.started_at, l.cursor, l.counts, b.bucket_id FROM lifecycle l CROSS JOIN bucket b
   WHERE b.n = l.bucket AND NOT ${IS_BEING_REBUILT} ORDER BY random() LIMIT :limit`,
);

export const selectRuns = (context: EngineContext, shard: number, limit: number): Promise<RunRow[]> =>
  readAll(databaseOf(context, shard), listRuns, { limit });

export async function findBucketById(context: EngineContext, bucketId: string): Promise<BucketRecord | null> {
  const row = await readFirst(context.directory, findById, { bucketId });
  return row && toBucketRecord(row);
}

const update = statement<{ bucket: number; startedAt: number; cursor: string; counts: string }>(
  'UPDATE lifecycle SET cursor = :cursor, counts = :counts WHERE bucket = :bucket AND started_at = :startedAt',
);
const remove = statement<{ bucket: number; startedAt: number }>(
  'DELETE FROM lifecycle WHERE bucket = :bucket AND started_at = :startedAt',
);

export async function saveRun(
  context: EngineContext,
  shard: number,
  { bucket, started_at: startedAt }: RunRow,
  cursor: string,
  counts: string,
): Promise<void> {
  await prepare(databaseOf(context, shard), update, { bucket, startedAt, cursor, counts }).run();
}

export async function removeRun(
  context: EngineContext,
  shard: number,
  { bucket, started_at: startedAt }: RunRow,
): Promise<void> {
  await prepare(databaseOf(context, shard), remove, { bucket, startedAt }).run();
}

/** A version that a run examines. `name` is text, `key` its bytes in hex. */
export interface ExaminedRow {
  readonly name: string;
  readonly key: string;
  readonly ord: string;
  readonly is_marker: number;
  readonly size: number;
  readonly tags: string | null;
  /** 1 if Object Lock protects the version at present. */
  readonly is_locked: number;
  /** 1 for a delete marker whose name has no older version. */
  readonly is_last: number;
}

const listVersions = statement<{ bucket: number; key: string; ord: string; nowMs: number; limit: number }, ExaminedRow>(
  `SELECT CAST(v.name AS TEXT) AS name, hex(v.name) AS key, hex(v.ord) AS ord, v.is_marker, v.size, v.tags,
     ${isLocked('v', ':nowMs', '0')} AS is_locked,
     v.is_marker = 1 AND NOT EXISTS (SELECT 1 FROM version x WHERE x.bucket = v.bucket AND x.name = v.name AND x.ord > v.ord) AS is_last
   FROM version v CROSS JOIN bucket b WHERE b.n = :bucket AND v.bucket = b.n AND (v.name, v.ord) > (unhex(:key), unhex(:ord))
     AND substr(b.slots, v.slot + 1, 1) = 'o' ORDER BY v.name, v.ord LIMIT :limit`,
);

/** Lists the versions after a key, in the order of the key. Skips slots that are being moved. */
export const selectVersionsAfter = (
  context: EngineContext,
  shard: number,
  bucket: number,
  { key, ord }: { readonly key: string; readonly ord: string },
  limit: number,
): Promise<ExaminedRow[]> =>
  readAll(databaseOf(context, shard), listVersions, { bucket, key, ord, nowMs: Math.trunc(context.now()), limit });

export interface OpenUpload {
  readonly name: string;
  readonly key: string;
  readonly upload_id: string;
  readonly initiated_at: number;
}

const listUploads = statement<{ bucket: number; key: string; uploadId: string; limit: number }, OpenUpload>(
  `SELECT CAST(u.name AS TEXT) AS name, hex(u.name) AS key, u.upload_id, u.initiated_at FROM upload u
   WHERE u.bucket = :bucket AND u.state = 'open' AND (u.name, u.upload_id) > (unhex(:key), :uploadId)
   ORDER BY u.name, u.upload_id LIMIT :limit`,
);

export const selectUploadsAfter = (
  context: EngineContext,
  shard: number,
  bucket: number,
  { key, uploadId }: { readonly key: string; readonly uploadId: string },
  limit: number,
): Promise<OpenUpload[]> => readAll(databaseOf(context, shard), listUploads, { bucket, key, uploadId, limit });
