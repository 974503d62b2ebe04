/** Buckets: their rows in DIRECTORY and in each shard. */
import { and, asc, eq, gte, lt, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type Query, toStatement } from '../../../shared/drizzle-statement.ts';
import { ok, type Result } from '../../../shared/result.ts';
import { prepare, type RowOf, statement } from '../../../shared/statement.ts';
import { formatSlotMap, initialSlotStates, parseSlotMap } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Bucket, Unavailable, Versioning } from '../model/contract.ts';
import { readRows, runRepeatable } from './database.ts';
import { bucket } from './directory-schema.ts';
import { IS_CLAIMED } from './journal-store.ts';
import { bucket as shardBucket } from './schema.ts';

/** A bucket with the fields that only the engine reads. */
export interface BucketRecord extends Bucket {
  readonly versioningSeq: number;
  readonly sealEpoch: number;
}

const COLUMNS = `name, bucket_id, owner_id, created_at, region, versioning, versioning_seq, seal_epoch, slots, slots_version,
  configuration`;

export type BucketRow = RowOf<typeof bucket>;

export const toBucketRecord = (row: BucketRow): BucketRecord => ({
  bucketId: row.bucket_id,
  name: row.name,
  ownerId: row.owner_id,
  createdAt: row.created_at,
  region: row.region,
  versioning: row.versioning,
  versioningSeq: row.versioning_seq,
  sealEpoch: row.seal_epoch,
  configuration: JSON.parse(row.configuration),
  placement: { version: row.slots_version, shards: parseSlotMap(row.slots) },
});

// On the path of every S3 request, so its text is built once.
const findByName = statement<{ name: string }, BucketRow>(`SELECT ${COLUMNS} FROM bucket WHERE name = :name`);
export const findById = statement<{ bucketId: string }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id = :bucketId`,
);
/** @param bucketIds a JSON array. */
export const findByIds = statement<{ bucketIds: string }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id IN (SELECT value FROM json_each(:bucketIds))`,
);
export const findByIdsAfter = statement<{ after: string; limit: number }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id > :after ORDER BY bucket_id LIMIT :limit`,
);

export async function findBucket(
  context: EngineContext,
  name: string,
): Promise<Result<BucketRecord | null, Unavailable>> {
  const rows = await readRows<BucketRow>(context, prepare(context.directory, findByName, { name }));
  if (!rows.ok) return rows;
  const row = rows.value[0];
  return ok(row ? toBucketRecord(row) : null);
}

/** @param end exclusive; null: no bound. */
export async function selectBuckets(
  context: EngineContext,
  ownerId: string,
  from: string,
  end: string | null,
  limit: number,
): Promise<Result<BucketRecord[], Unavailable>> {
  const within = end === null ? undefined : lt(bucket.name, end);
  const query = drizzle(context.directory)
    .select()
    .from(bucket)
    .where(and(eq(bucket.ownerId, ownerId), gte(bucket.name, from), within))
    .orderBy(asc(bucket.name))
    .limit(limit);
  const rows = await readRows<BucketRow>(context, toStatement(context.directory, query));
  return rows.ok ? ok(rows.value.map(toBucketRecord)) : rows;
}

type NewBucket = Omit<BucketRow, 'versioning_seq' | 'seal_epoch' | 'slots_version'> & { limit: number };

const insertUnlessTaken = statement<NewBucket>(
  `INSERT INTO bucket(${COLUMNS}) SELECT :name, :bucket_id, :owner_id, :created_at, :region, :versioning, 0, 0, :slots, 0, :configuration
   WHERE NOT EXISTS (SELECT 1 FROM bucket WHERE name = :name) AND (SELECT count(*) FROM bucket WHERE owner_id = :owner_id) < :limit`,
);

/** Inserts the row unless the name is taken or the owner has too many buckets. Idempotent. */
export function insertBucket(context: EngineContext, bucket: BucketRecord, limit: number) {
  const { name, region, versioning, bucketId: bucket_id, ownerId: owner_id, createdAt: created_at } = bucket;
  const slots = formatSlotMap(bucket.placement.shards);
  const configuration = JSON.stringify(bucket.configuration);
  const row = { name, bucket_id, owner_id, created_at, region, versioning, slots, configuration };
  return runRepeatable<BucketRow>(context, context.directory, [
    prepare(context.directory, insertUnlessTaken, { ...row, limit }),
    prepare(context.directory, findByName, { name }),
  ]);
}

type ShardRow = Omit<RowOf<typeof shardBucket>, 'n' | 'seal' | 'newest' | 'generation'>;

const toShardRow = (record: BucketRecord, shard: number): ShardRow => ({
  bucket_id: record.bucketId,
  name: record.name,
  versioning: record.versioning,
  versioning_seq: record.versioningSeq,
  slots: initialSlotStates(record.placement.shards, shard),
  owner_id: record.ownerId,
  object_lock: record.configuration.objectLock ?? null,
});

const SHARD_COLUMNS = 'bucket_id, name, versioning, versioning_seq, slots, owner_id, object_lock';
const SHARD_VALUES = ':bucket_id, :name, :versioning, :versioning_seq, :slots, :owner_id, :object_lock';

const insertIfClaimed = statement<ShardRow>(
  `INSERT INTO bucket(${SHARD_COLUMNS}) SELECT ${SHARD_VALUES} WHERE ${IS_CLAIMED} ON CONFLICT(bucket_id) DO NOTHING`,
);

/**
 * Registers a bucket in a claimed shard. Idempotent; leaves seals in place. The third result says whether the shard is
 * claimed.
 */
export function insertShardBucket(context: EngineContext, shard: number, bucket: BucketRecord) {
  const database = databaseOf(context, shard);
  const { bucketId, versioning, versioningSeq } = bucket;
  const objectLock = bucket.configuration.objectLock ?? null;
  // An older state never replaces a newer one.
  const isOlder = and(eq(shardBucket.bucketId, bucketId), lt(shardBucket.versioningSeq, versioningSeq));
  return runRepeatable(context, database, [
    prepare(database, insertIfClaimed, toShardRow(bucket, shard)),
    toStatement(
      database,
      drizzle(database).update(shardBucket).set({ versioning, versioningSeq, objectLock }).where(isOlder),
    ),
    database.prepare(`SELECT ${IS_CLAIMED} AS is_claimed`),
  ]);
}

export function updateVersioning(context: EngineContext, bucketId: string, versioning: Versioning) {
  const update = drizzle(context.directory)
    .update(bucket)
    .set({ versioning, versioningSeq: sql`${bucket.versioningSeq} + 1` })
    .where(and(eq(bucket.bucketId, bucketId), ne(bucket.versioning, versioning), HAS_NO_LOCK));
  return runAndFind(context, bucketId, update);
}

const HAS_NO_LOCK = sql`json_extract(${bucket.configuration}, '$.objectLock') IS NULL`;

/** The sequence orders this among switches of versioning, so that the shards take over the latest of both. */
export function updateObjectLock(context: EngineContext, bucketId: string, document: string) {
  const configuration = sql`json_set(${bucket.configuration}, '$.objectLock', ${document})`;
  const update = drizzle(context.directory)
    .update(bucket)
    .set({ configuration, versioningSeq: sql`${bucket.versioningSeq} + 1` })
    .where(and(eq(bucket.bucketId, bucketId), eq(bucket.versioning, 'enabled')));
  return runAndFind(context, bucketId, update);
}

/** The quoted path makes any kind a single member. */
export function updateConfiguration(context: EngineContext, bucketId: string, kind: string, document: string | null) {
  const path = `$."${kind.replace(/[^A-Za-z0-9_-]/g, '')}"`;
  const { configuration } = bucket;
  const changed =
    document === null
      ? sql`json_remove(${configuration}, ${path})`
      : sql`json_set(${configuration}, ${path}, ${document})`;
  const update = drizzle(context.directory)
    .update(bucket)
    .set({ configuration: changed })
    .where(eq(bucket.bucketId, bucketId))
    .returning({ name: bucket.name });
  return runRepeatable(context, context.directory, [toStatement(context.directory, update)]);
}

const sealBucket = statement<ShardRow & { seal: string }>(
  `INSERT INTO bucket(${SHARD_COLUMNS}, seal) VALUES (${SHARD_VALUES}, :seal)
   ON CONFLICT(bucket_id) DO UPDATE SET seal = excluded.seal WHERE seal IS NULL`,
);
const readUse = statement<{ bucketId: string }>(
  'SELECT seal, EXISTS (SELECT 1 FROM version WHERE bucket = b.n) AS is_used FROM bucket b WHERE bucket_id = :bucketId',
);

/**
 * Seals the bucket in a shard, registering it there if necessary. The second result says whether the bucket is in use.
 */
export function sealShardBucket(context: EngineContext, shard: number, bucket: BucketRecord, seal: string) {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [
    prepare(database, sealBucket, { ...toShardRow(bucket, shard), seal }),
    prepare(database, readUse, { bucketId: bucket.bucketId }),
  ]);
}

/** Removes this seal and no other. */
export function unsealShardBucket(context: EngineContext, shard: number, bucketId: string, seal: string) {
  const database = databaseOf(context, shard);
  const isThis = and(eq(shardBucket.bucketId, bucketId), eq(shardBucket.seal, seal));
  return runRepeatable(context, database, [
    toStatement(database, drizzle(database).update(shardBucket).set({ seal: null }).where(isThis)),
  ]);
}

export async function findSeal(
  context: EngineContext,
  shard: number,
  bucketId: string,
): Promise<Result<string | null, Unavailable>> {
  const database = databaseOf(context, shard);
  const { seal } = shardBucket;
  const query = drizzle(database).select({ seal }).from(shardBucket).where(eq(shardBucket.bucketId, bucketId));
  const rows = await readRows<{ seal: string | null }>(context, toStatement(database, query));
  return rows.ok ? ok(rows.value[0]?.seal ?? null) : rows;
}

/**
 * The last step of a delete; has no effect if the seal was broken. The second result has a row if the bucket still
 * exists.
 */
export const removeBucket = (context: EngineContext, bucketId: string, sealEpoch: number) =>
  runAndFind(context, bucketId, drizzle(context.directory).delete(bucket).where(isSealedIn(bucketId, sealEpoch)));

/** Called before a seal is broken. From here on the delete that set it cannot finish. Results as of `removeBucket`. */
export function advanceSealEpoch(context: EngineContext, bucketId: string, sealEpoch: number) {
  const advance = drizzle(context.directory)
    .update(bucket)
    .set({ sealEpoch: sealEpoch + 1 });
  return runAndFind(context, bucketId, advance.where(isSealedIn(bucketId, sealEpoch)));
}

const isSealedIn = (bucketId: string, sealEpoch: number) =>
  and(eq(bucket.bucketId, bucketId), eq(bucket.sealEpoch, sealEpoch));

/** Runs an idempotent change and reads the bucket in one batch. */
const runAndFind = (context: EngineContext, bucketId: string, change: Query) =>
  runRepeatable<BucketRow>(context, context.directory, [
    toStatement(context.directory, change),
    prepare(context.directory, findById, { bucketId }),
  ]);
