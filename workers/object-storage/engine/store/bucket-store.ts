/** Buckets: their rows in DIRECTORY and in each shard. */
import { ok, type Result } from '../../../shared/result.ts';
import { formatSlotMap, initialSlotStates, parseSlotMap } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Bucket, Unavailable, Versioning } from '../model/contract.ts';
import { type DatabaseFailure, type Row, readRows, runRepeatable } from './database.ts';
import { IS_CLAIMED } from './journal-store.ts';

/** A bucket with the fields that only the engine reads. */
export interface BucketRecord extends Bucket {
  readonly versioningSeq: number;
  readonly sealEpoch: number;
}

const COLUMNS = `name, bucket_id, owner_id, created_at, region, versioning, versioning_seq, seal_epoch, slots, slots_version,
  configuration`;

export function toBucketRecord(row: Row): BucketRecord {
  return {
    bucketId: String(row.bucket_id),
    name: String(row.name),
    ownerId: String(row.owner_id),
    createdAt: Number(row.created_at),
    region: row.region as string | null,
    versioning: row.versioning as Versioning,
    versioningSeq: Number(row.versioning_seq),
    sealEpoch: Number(row.seal_epoch),
    configuration: JSON.parse(String(row.configuration)),
    placement: { version: Number(row.slots_version), shards: parseSlotMap(String(row.slots)) },
  };
}

export async function findBucket(
  context: EngineContext,
  name: string,
): Promise<Result<BucketRecord | null, Unavailable>> {
  const rows = await readRows(
    context,
    context.directory.prepare(`SELECT ${COLUMNS} FROM bucket WHERE name = ?1`).bind(name),
  );
  if (!rows.ok) return rows;
  const row = rows.value[0];
  return ok(row ? toBucketRecord(row) : null);
}

export async function selectBuckets(
  context: EngineContext,
  ownerId: string,
  from: string,
  end: string | null,
  limit: number,
): Promise<Result<BucketRecord[], Unavailable>> {
  const rows = await readRows(
    context,
    context.directory
      .prepare(
        `SELECT ${COLUMNS} FROM bucket WHERE owner_id = ?1 AND name >= ?2 AND (?3 IS NULL OR name < ?3) ORDER BY name LIMIT ?4`,
      )
      .bind(ownerId, from, end, limit),
  );
  return rows.ok ? ok(rows.value.map(toBucketRecord)) : rows;
}

/** Inserts the row unless the name is taken or the owner has too many buckets. Idempotent. */
export function insertBucket(
  context: EngineContext,
  bucket: BucketRecord,
  limit: number,
): Promise<Result<D1Result<Row>[], DatabaseFailure>> {
  return runRepeatable(context, context.directory, [
    context.directory
      .prepare(
        `INSERT INTO bucket(${COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, 0, 0, ?7, 0, ?8
         WHERE NOT EXISTS (SELECT 1 FROM bucket WHERE name = ?1) AND (SELECT count(*) FROM bucket WHERE owner_id = ?3) < ?9`,
      )
      .bind(
        bucket.name,
        bucket.bucketId,
        bucket.ownerId,
        bucket.createdAt,
        bucket.region,
        bucket.versioning,
        formatSlotMap(bucket.placement.shards),
        JSON.stringify(bucket.configuration),
        limit,
      ),
    context.directory.prepare('SELECT bucket_id, owner_id FROM bucket WHERE name = ?1').bind(bucket.name),
  ]);
}

/**
 * Registers a bucket in a claimed shard. Idempotent; leaves seals in place. The third result says whether the shard is
 * claimed.
 */
export function insertShardBucket(
  context: EngineContext,
  shard: number,
  bucket: BucketRecord,
): Promise<Result<D1Result<Row>[], DatabaseFailure>> {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [
    database
      .prepare(
        `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id) SELECT ?1, ?2, ?3, ?4, ?5, ?6
         WHERE ${IS_CLAIMED} ON CONFLICT(bucket_id) DO NOTHING`,
      )
      .bind(
        bucket.bucketId,
        bucket.name,
        bucket.versioning,
        bucket.versioningSeq,
        initialSlotStates(bucket.placement.shards, shard),
        bucket.ownerId,
      ),
    // An older state never replaces a newer one.
    database
      .prepare('UPDATE bucket SET versioning = ?2, versioning_seq = ?3 WHERE bucket_id = ?1 AND versioning_seq < ?3')
      .bind(bucket.bucketId, bucket.versioning, bucket.versioningSeq),
    database.prepare(`SELECT ${IS_CLAIMED} AS is_claimed`),
  ]);
}

export function updateVersioning(context: EngineContext, bucketId: string, versioning: Versioning) {
  return runRepeatable(context, context.directory, [
    context.directory
      .prepare(
        `UPDATE bucket SET versioning = ?2, versioning_seq = versioning_seq + 1 WHERE bucket_id = ?1 AND versioning <> ?2`,
      )
      .bind(bucketId, versioning),
    context.directory.prepare(`SELECT ${COLUMNS} FROM bucket WHERE bucket_id = ?1`).bind(bucketId),
  ]);
}

/** The quoted path makes any kind a single member. */
export function updateConfiguration(context: EngineContext, bucketId: string, kind: string, document: string | null) {
  const path = `$."${kind.replace(/[^A-Za-z0-9_-]/g, '')}"`;
  const statement =
    document === null
      ? context.directory
          .prepare(
            'UPDATE bucket SET configuration = json_remove(configuration, ?2) WHERE bucket_id = ?1 RETURNING name',
          )
          .bind(bucketId, path)
      : context.directory
          .prepare(
            'UPDATE bucket SET configuration = json_set(configuration, ?2, ?3) WHERE bucket_id = ?1 RETURNING name',
          )
          .bind(bucketId, path, document);
  return runRepeatable(context, context.directory, [statement]);
}

/**
 * Seals the bucket in a shard, registering it there if necessary. The second result says whether the bucket is in use.
 */
export function sealShardBucket(context: EngineContext, shard: number, bucket: BucketRecord, seal: string) {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [
    database
      .prepare(
        `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, seal, owner_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT(bucket_id) DO UPDATE SET seal = excluded.seal WHERE seal IS NULL`,
      )
      .bind(
        bucket.bucketId,
        bucket.name,
        bucket.versioning,
        bucket.versioningSeq,
        initialSlotStates(bucket.placement.shards, shard),
        seal,
        bucket.ownerId,
      ),
    database
      .prepare(
        `SELECT seal, EXISTS (SELECT 1 FROM version WHERE bucket = b.n) AS is_used FROM bucket b WHERE bucket_id = ?1`,
      )
      .bind(bucket.bucketId),
  ]);
}

/** Removes this seal and no other. */
export function unsealShardBucket(context: EngineContext, shard: number, bucketId: string, seal: string) {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [
    database.prepare('UPDATE bucket SET seal = NULL WHERE bucket_id = ?1 AND seal = ?2').bind(bucketId, seal),
  ]);
}

export async function findSeal(
  context: EngineContext,
  shard: number,
  bucketId: string,
): Promise<Result<string | null, Unavailable>> {
  const database = databaseOf(context, shard);
  const rows = await readRows(context, database.prepare('SELECT seal FROM bucket WHERE bucket_id = ?1').bind(bucketId));
  return rows.ok ? ok((rows.value[0]?.seal as string | null | undefined) ?? null) : rows;
}

/**
 * The last step of a delete; has no effect if the seal was broken. The second result has a row if the bucket still
 * exists.
 */
export function removeBucket(context: EngineContext, bucketId: string, sealEpoch: number) {
  return runRepeatable(context, context.directory, [
    context.directory.prepare('DELETE FROM bucket WHERE bucket_id = ?1 AND seal_epoch = ?2').bind(bucketId, sealEpoch),
    context.directory.prepare('SELECT 1 AS is_there FROM bucket WHERE bucket_id = ?1').bind(bucketId),
  ]);
}

/** Called before a seal is broken. From here on the delete that set it cannot finish. */
export function advanceSealEpoch(context: EngineContext, bucketId: string, sealEpoch: number) {
  return runRepeatable(context, context.directory, [
    context.directory
      .prepare('UPDATE bucket SET seal_epoch = seal_epoch + 1 WHERE bucket_id = ?1 AND seal_epoch = ?2')
      .bind(bucketId, sealEpoch),
    context.directory.prepare('SELECT 1 AS is_there FROM bucket WHERE bucket_id = ?1').bind(bucketId),
  ]);
}
