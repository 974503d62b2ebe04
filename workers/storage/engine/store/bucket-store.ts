/** Buckets: reads and changes their rows in DIRECTORY and in each shard. */
import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type Query, toStatement } from '../../../shared/stores/drizzle-statement.ts';
import { askReplica, keepRow, recentRow, type Source } from '../../../shared/stores/replica.ts';
import { prepare, type RowOf, readFirst, statement } from '../../../shared/stores/statement.ts';
import { formatSlotMap, initialSlotStates, parseSlotMap } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Bucket, Unavailable } from '../model/contract.ts';
import { readRows, runRepeatable, runRepeatableNamed, toUnavailable } from './database.ts';
import { bucket } from './directory-schema.ts';
import { IS_CLAIMED } from './journal-store.ts';
import { bucket as shardBucket } from './schema.ts';

/** A bucket with the fields that only the engine reads. */
export interface BucketRecord extends Bucket {
  readonly versioningSeq: number;
  readonly sealEpoch: number;
}

const COLUMNS = `name, bucket_id, owner_id, created_at, region, versioning, versioning_seq, seal_epoch, slots, slots_version,
  configuration, generation`;

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
  generation: row.generation,
});

// The text of this query is built once, because every S3 request runs it.
const findByName = statement<{ name: string }, BucketRow>(`SELECT ${COLUMNS} FROM bucket WHERE name = :name`);
export const findById = statement<{ bucketId: string }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id = :bucketId`,
);
/** Finds buckets by id. @param bucketIds a JSON array. */
export const findByIds = statement<{ bucketIds: string }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id IN (SELECT value FROM json_each(:bucketIds))`,
);
export const findByIdsAfter = statement<{ after: string; limit: number }, BucketRow>(
  `SELECT ${COLUMNS} FROM bucket WHERE bucket_id > :after ORDER BY bucket_id LIMIT :limit`,
);

export async function findBucket(
  context: EngineContext,
  name: string,
  source: Source,
): Promise<Result<BucketRecord | null, Unavailable>> {
  const { directory } = context;
  const key = `bucket ${name}`;
  const known = source === 'recent' ? recentRow<BucketRecord>(directory, key) : null;
  if (known) return ok(known);
  if (source !== 'primary') {
    // A replica that fails is treated like one that does not know the bucket; the caller then queries the primary.
    const found = await askReplica(directory, (replica) => readFirst(replica, findByName, { name }));
    return ok(keepRow(directory, key, found && toBucketRecord(found), 'replica'));
  }
  const rows = await readRows<BucketRow>(context, prepare(directory, findByName, { name }));
  if (!rows.ok) return rows;
  const row = rows.value[0];
  return ok(keepRow(directory, key, row ? toBucketRecord(row) : null, 'primary'));
}

/** Lists an owner's buckets by name. @param end exclusive upper bound of the names; null for no bound. */
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

type NewBucket = Omit<BucketRow, 'versioning_seq' | 'seal_epoch' | 'slots_version' | 'generation'> & { limit: number };

const insertUnlessTaken = statement<NewBucket>(
  `INSERT INTO bucket(${COLUMNS}) SELECT :name, :bucket_id, :owner_id, :created_at, :region, :versioning, 0, 0, :slots, 0, :configuration, 0
   WHERE NOT EXISTS (SELECT 1 FROM bucket WHERE name = :name) AND (SELECT count(*) FROM bucket WHERE owner_id = :owner_id) < :limit`,
);

/**
 * Inserts the row of a bucket, unless the name is taken or the owner has too many buckets. Idempotent. `holder` has the bucket that
 * has the name now.
 */
export function insertBucket(context: EngineContext, bucket: BucketRecord, limit: number) {
  const { name, region, versioning, bucketId: bucket_id, ownerId: owner_id, createdAt: created_at } = bucket;
  const slots = formatSlotMap(bucket.placement.shards);
  const configuration = JSON.stringify(bucket.configuration);
  const row = { name, bucket_id, owner_id, created_at, region, versioning, slots, configuration };
  return runRepeatableNamed<{ inserted: object; holder: BucketRow }>(context, context.directory, {
    inserted: prepare(context.directory, insertUnlessTaken, { ...row, limit }),
    holder: prepare(context.directory, findByName, { name }),
  });
}

type ShardRow = Omit<RowOf<typeof shardBucket>, 'n' | 'seal' | 'newest'>;

const toShardRow = (record: BucketRecord, shard: number): ShardRow => ({
  bucket_id: record.bucketId,
  name: record.name,
  versioning: record.versioning,
  versioning_seq: record.versioningSeq,
  slots: initialSlotStates(record.placement.shards, shard),
  owner_id: record.ownerId,
  object_lock: record.configuration.objectLock ?? null,
  generation: record.generation,
});

const SHARD_COLUMNS = 'bucket_id, name, versioning, versioning_seq, slots, owner_id, object_lock, generation';
const SHARD_VALUES = ':bucket_id, :name, :versioning, :versioning_seq, :slots, :owner_id, :object_lock, :generation';

const insertIfClaimed = statement<ShardRow>(
  `INSERT INTO bucket(${SHARD_COLUMNS}) SELECT ${SHARD_VALUES} WHERE ${IS_CLAIMED} ON CONFLICT(bucket_id) DO NOTHING`,
);

/**
 * Registers a bucket in a shard if the shard is claimed. Idempotent; leaves seals in place. `claim` has whether the shard is claimed.
 */
export function insertShardBucket(context: EngineContext, shard: number, bucket: BucketRecord) {
  const database = databaseOf(context, shard);
  const { bucketId, versioning, versioningSeq } = bucket;
  const objectLock = bucket.configuration.objectLock ?? null;
  // True if the shard's row has an older state of versioning. Only then is it updated, so that an older state never replaces a
  // newer one.
  const isOlder = and(eq(shardBucket.bucketId, bucketId), lt(shardBucket.versioningSeq, versioningSeq));
  const update = drizzle(database).update(shardBucket).set({ versioning, versioningSeq, objectLock }).where(isOlder);
  return runRepeatableNamed<{ inserted: object; updated: object; claim: { is_claimed: number } }>(context, database, {
    inserted: prepare(database, insertIfClaimed, toShardRow(bucket, shard)),
    updated: toStatement(database, update),
    claim: database.prepare(`SELECT ${IS_CLAIMED} AS is_claimed`),
  });
}

/** Raises a generation. SQLite's `max` of a number and NULL is NULL, so an unknown generation stays unknown. */
const raiseInShard = statement<{ bucketId: string; generation: number }, { generation: number | null }>(
  'UPDATE bucket SET generation = max(generation, :generation) WHERE bucket_id = :bucketId RETURNING generation',
);

/**
 * Raises the generation of a bucket in a shard to at least that of `record`, and registers the bucket there if necessary.
 * @returns the shard's generation; null if unknown.
 */
export async function raiseShardGeneration(
  context: EngineContext,
  shard: number,
  record: BucketRecord,
  introduce: () => Promise<Result<null, Unavailable>>,
): Promise<Result<number | null, Unavailable>> {
  const database = databaseOf(context, shard);
  const { bucketId, generation } = record;
  for (let attempt = 0; ; attempt++) {
    const raised = await runRepeatable<{ generation: number | null }>(context, database, [
      prepare(database, raiseInShard, { bucketId, generation }),
    ]);
    if (!raised.ok) return err(toUnavailable(raised.error));
    const row = raised.value[0]?.results[0];
    if (row) return ok(row.generation);
    if (attempt > 0) return err({ kind: 'unavailable', reason: 'the shard does not know the bucket' });
    const known = await introduce();
    if (!known.ok) return known;
  }
}

/**
 * Amount added to DIRECTORY's generation when a shard that lost a bucket's generation gets a new one. It exceeds any number of
 * changes in progress, so no older copy of the bucket counts as current.
 */
const GENERATION_STEP = 1_000_000;
const replaceUnknown = statement<{ bucketId: string; generation: number }>(
  'UPDATE bucket SET generation = :generation WHERE bucket_id = :bucketId AND generation IS NULL',
);

export function replaceUnknownGeneration(context: EngineContext, shard: number, { bucketId, generation }: Bucket) {
  const database = databaseOf(context, shard);
  const values = { bucketId, generation: generation + GENERATION_STEP };
  return runRepeatable(context, database, [prepare(database, replaceUnknown, values)]);
}

/** A change of a bucket's row: the fields that it sets besides the generation. Null changes only the generation. */
export type BucketChange =
  | { readonly versioning: 'enabled' | 'suspended' }
  | { readonly objectLock: string }
  | { readonly kind: string; readonly document: string | null }
  | null;

const HAS_NO_LOCK = sql`json_extract(${bucket.configuration}, '$.objectLock') IS NULL`;

function toColumns(change: BucketChange) {
  if (change === null) return {};
  if ('versioning' in change) {
    // Object Lock needs versioning. `versioning_seq` counts the changes of both, so that the shards apply the latest one.
    const isSwitched = sql`(${HAS_NO_LOCK} AND ${bucket.versioning} <> ${change.versioning})`;
    return {
      versioning: sql`CASE WHEN ${HAS_NO_LOCK} THEN ${change.versioning} ELSE ${bucket.versioning} END`,
      versioningSeq: sql`${bucket.versioningSeq} + ${isSwitched}`,
    };
  }
  if ('objectLock' in change) {
    const isEnabled = sql`(${bucket.versioning} = 'enabled')`;
    const locked = sql`json_set(${bucket.configuration}, '$.objectLock', ${change.objectLock})`;
    return {
      configuration: sql`CASE WHEN ${isEnabled} THEN ${locked} ELSE ${bucket.configuration} END`,
      versioningSeq: sql`${bucket.versioningSeq} + ${isEnabled}`,
    };
  }
  // The quotes make any kind a single member of the JSON path.
  const path = `$."${change.kind.replace(/[^A-Za-z0-9_-]/g, '')}"`;
  const { configuration } = bucket;
  return {
    configuration:
      change.document === null
        ? sql`json_remove(${configuration}, ${path})`
        : sql`json_set(${configuration}, ${path}, ${change.document})`,
  };
}

/**
 * Changes the bucket's row in DIRECTORY, unless the row's generation is not `from`. `found` has the row if the bucket exists.
 */
export function updateBucket(
  context: EngineContext,
  bucketId: string,
  generations: { readonly from: number; readonly to: number },
  change: BucketChange,
) {
  const update = drizzle(context.directory)
    .update(bucket)
    .set({ ...toColumns(change), generation: generations.to })
    .where(and(eq(bucket.bucketId, bucketId), eq(bucket.generation, generations.from)));
  return runAndFind(context, bucketId, update);
}

const sealBucket = statement<ShardRow & { seal: string }>(
  `INSERT INTO bucket(${SHARD_COLUMNS}, seal) VALUES (${SHARD_VALUES}, :seal)
   ON CONFLICT(bucket_id) DO UPDATE SET seal = excluded.seal WHERE seal IS NULL`,
);
const readUse = statement<{ bucketId: string }>(
  'SELECT seal, EXISTS (SELECT 1 FROM version WHERE bucket = b.n) AS is_used FROM bucket b WHERE bucket_id = :bucketId',
);

/** Seals the bucket in a shard, and registers it there if necessary. `use` has the seal, and whether the bucket is in use. */
export function sealShardBucket(context: EngineContext, shard: number, bucket: BucketRecord, seal: string) {
  const database = databaseOf(context, shard);
  return runRepeatableNamed<{ sealed: object; use: { seal: string; is_used: number } }>(context, database, {
    sealed: prepare(database, sealBucket, { ...toShardRow(bucket, shard), seal }),
    use: prepare(database, readUse, { bucketId: bucket.bucketId }),
  });
}

/** Removes exactly this seal. A seal of another delete stays. */
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
 * The last step of a bucket's delete. Has no effect if the delete's seal was broken. `found` has the row if the bucket still exists.
 */
export const removeBucket = (context: EngineContext, bucketId: string, sealEpoch: number) =>
  runAndFind(context, bucketId, drizzle(context.directory).delete(bucket).where(isSealedIn(bucketId, sealEpoch)));

/**
 * Advances the seal epoch before a seal is broken, so that the delete which set the seal cannot finish. `found` has the row if the
 * bucket still exists.
 */
export function advanceSealEpoch(context: EngineContext, bucketId: string, sealEpoch: number) {
  const advance = drizzle(context.directory)
    .update(bucket)
    .set({ sealEpoch: sealEpoch + 1 });
  return runAndFind(context, bucketId, advance.where(isSealedIn(bucketId, sealEpoch)));
}

const isSealedIn = (bucketId: string, sealEpoch: number) =>
  and(eq(bucket.bucketId, bucketId), eq(bucket.sealEpoch, sealEpoch));

/** Runs an idempotent change of a bucket's row and reads the row, in one batch. */
const runAndFind = (context: EngineContext, bucketId: string, change: Query) =>
  runRepeatableNamed<{ changed: object; found: BucketRow }>(context, context.directory, {
    changed: toStatement(context.directory, change),
    found: prepare(context.directory, findById, { bucketId }),
  });
