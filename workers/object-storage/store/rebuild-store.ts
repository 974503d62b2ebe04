/** Puts rows back into an empty shard. */
import { slotOf } from '../domain/slots.ts';
import { toVersionOrder } from '../domain/version-order.ts';
import type { EngineContext } from '../engine/context.ts';
import { SNAPSHOT_TABLES, type SnapshotTable } from '../maintenance/snapshot.ts';
import { type BucketRecord, toBucketRecord } from './bucket-store.ts';
import { nameHex, type Row, toHex } from './database.ts';

const databaseOf = (context: EngineContext, shard: number) => context.shards[shard] as D1Database;

/** Rows of a snapshot's page, as they were. */
export async function insertSnapshotRows(
  context: EngineContext,
  shard: number,
  table: SnapshotTable,
  rows: readonly (readonly (string | number | null)[])[],
): Promise<void> {
  const { columns, blobs } = SNAPSHOT_TABLES[table];
  const values = columns.map((column, i) => {
    const cell = `a.value->>${i}`;
    // hex() of NULL is '', and no key is empty.
    return (blobs as readonly string[]).includes(column) ? `unhex(NULLIF(${cell}, ''))` : cell;
  });
  const database = databaseOf(context, shard);
  const sql = `INSERT INTO ${table}(${columns.join(', ')}) SELECT ${values.join(', ')} FROM json_each(?1) a WHERE true ON CONFLICT DO NOTHING`;
  const size = table === 'inline' ? 50 : 500;
  const statements: D1PreparedStatement[] = [];
  for (let at = 0; at < rows.length; at += size) {
    statements.push(database.prepare(sql).bind(JSON.stringify(rows.slice(at, at + size))));
  }
  if (statements.length > 0) await database.batch(statements);
}

export async function listAllBuckets(context: EngineContext): Promise<BucketRecord[]> {
  const { results } = await context.directory.prepare('SELECT * FROM bucket ORDER BY bucket_id').all<Row>();
  return results.map(toBucketRecord);
}

/** DIRECTORY is the truth of which slots are here and of the versioning state. */
export async function alignBucket(
  context: EngineContext,
  shard: number,
  bucket: BucketRecord,
  slots: string,
): Promise<void> {
  await databaseOf(context, shard)
    .prepare(
      `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT(bucket_id) DO UPDATE SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq,
         slots = excluded.slots, seal = NULL`,
    )
    .bind(bucket.bucketId, bucket.name, bucket.versioning, bucket.versioningSeq, slots)
    .run();
}

/** A version that something in R2 told of. */
export interface RecoveredVersion {
  readonly bucketId: string;
  readonly name: string;
  readonly versionId: string;
  readonly isNull: boolean;
  readonly objectId: string;
  readonly size: number;
  readonly etag: string;
  readonly sha256: string | null;
  readonly checksums: string | null;
  readonly checksumType: string | null;
  readonly partCount: number | null;
  readonly metadata: string;
  readonly tags: string | null;
  readonly acl: string | null;
  readonly extents: readonly {
    readonly start: number;
    readonly length: number;
    readonly blobId: string;
    readonly blobStart: number;
    readonly crc32: number | null;
  }[];
}

/** Adds the version unless it is there. Of `null` versions only the newest stays. @returns whether it was added. */
export async function insertRecovered(
  context: EngineContext,
  shard: number,
  version: RecoveredVersion,
): Promise<boolean> {
  const database = databaseOf(context, shard);
  const bucket = '(SELECT n FROM bucket WHERE bucket_id = ?1)';
  const head = [version.bucketId, nameHex(version.name), toVersionOrder(version.versionId), toHex(version.objectId)];
  const older = `SELECT object_id FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord > unhex(?3)`;
  const isAdded = `EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND ord = unhex(?3) AND object_id = unhex(?4))`;
  const statements = [
    database
      .prepare(
        `INSERT INTO version(bucket, name, ord, slot, live, is_null, is_marker, object_id, size, etag, sha256, checksums,
           checksum_type, part_count, metadata, tags, acl)
         SELECT ${bucket}, unhex(?2), unhex(?3), ?5, 0, ?6, 0, unhex(?4), ?7, ?8, unhex(?9), ?10, ?11, ?12, ?13, ?14, ?15
         WHERE NOT EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND (ord = unhex(?3) OR object_id = unhex(?4)))
           AND NOT (?6 = 1 AND EXISTS (SELECT 1 FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord < unhex(?3)))`,
      )
      .bind(
        ...head,
        slotOf(version.name),
        version.isNull ? 1 : 0,
        version.size,
        version.etag,
        version.sha256,
        version.checksums,
        version.checksumType,
        version.partCount,
        version.metadata,
        version.tags,
        version.acl,
      ),
    database
      .prepare(
        `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
         SELECT unhex(?4), a.value->>'start', a.value->>'length', unhex(a.value->>'blobId'), a.value->>'blobStart', a.value->>'crc32'
         FROM json_each(?5) a WHERE ${isAdded} AND NOT EXISTS (SELECT 1 FROM inline WHERE object_id = unhex(?4))
         ON CONFLICT DO NOTHING`,
      )
      .bind(...head, JSON.stringify(version.extents.map((extent) => ({ ...extent, blobId: toHex(extent.blobId) })))),
  ];
  if (version.isNull) {
    const bound = head.slice(0, 3);
    statements.push(
      database.prepare(`DELETE FROM extent WHERE object_id IN (${older})`).bind(...bound),
      database.prepare(`DELETE FROM inline WHERE object_id IN (${older})`).bind(...bound),
      database
        .prepare(
          `DELETE FROM version WHERE bucket = ${bucket} AND name = unhex(?2) AND is_null = 1 AND ord > unhex(?3)`,
        )
        .bind(...bound),
    );
  }
  const [inserted] = await database.batch(statements);
  return (inserted?.meta.changes ?? 0) > 0;
}

export async function insertBlobRecord(
  context: EngineContext,
  shard: number,
  blob: {
    readonly blobId: string;
    readonly kind: string;
    readonly size: number;
    readonly sha256: string;
    readonly segments: string;
    readonly locations: number;
  },
): Promise<void> {
  await databaseOf(context, shard)
    .prepare(
      `INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, created_at)
       VALUES (unhex(?1), ?2, ?3, unhex(?4), unhex(?5), ?6, ?7) ON CONFLICT DO NOTHING`,
    )
    .bind(toHex(blob.blobId), blob.kind, blob.size, blob.sha256, blob.segments, blob.locations, context.now())
    .run();
}
