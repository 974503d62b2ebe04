/**
 * Buckets: DIRECTORY is authoritative, and each shard has a row that every commit there checks.
 *
 * A delete seals the bucket in every shard, checks that it is empty, and then removes DIRECTORY's row, which is the decisive step.
 * If a delete dies and leaves a seal, any later request may break the seal. It must first advance `seal_epoch` in DIRECTORY, so
 * that the delete cannot finish after all. The sealed rows of a deleted bucket stay in the shards, so that a late writer meets the
 * seal and not a new bucket of the same name.
 */

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { Source } from '../../../shared/stores/replica.ts';
import { logError } from '../../../shared/telemetry/log.ts';
import { nameAfter, nameAfterPrefix } from '../../domain/name-order.ts';
import { SLOT_COUNT, shardsOf } from '../../domain/slots.ts';
import { type EngineContext, PLACEMENTS_MAX, pause } from '../model/context.ts';
import type { Bucket, CommonError, CreateBucketError, DeleteBucketError, Engine, Proven } from '../model/contract.ts';
import { held, needsProof, REFUSED } from '../model/proof.ts';
import {
  advanceSealEpoch,
  type BucketChange,
  type BucketRecord,
  findBucket,
  findSeal,
  insertBucket,
  raiseShardGeneration,
  removeBucket,
  replaceUnknownGeneration,
  sealShardBucket,
  selectBuckets,
  toBucketRecord,
  unsealShardBucket,
  updateBucket,
} from '../store/bucket-store.ts';
import { introduceBucket } from '../store/claims.ts';
import { measureDatabaseBytes, toUnavailable } from '../store/database.ts';
import { forgetQuota } from './quotas.ts';

const NO_SUCH_BUCKET = { kind: 'no_such_bucket' } as const;

export function remember(context: EngineContext, bucket: Bucket): void {
  const { placements } = context.memory;
  if (placements.size >= PLACEMENTS_MAX) placements.clear();
  placements.set(bucket.name, { bucketId: bucket.bucketId, placement: bucket.placement });
}

export async function getBucketRecord(
  context: EngineContext,
  name: string,
  source: Source = 'primary',
): Promise<Result<BucketRecord, CommonError>> {
  const found = await findBucket(context, name, source);
  if (!found.ok) return found;
  if (found.value === null) {
    if (source === 'primary') context.memory.placements.delete(name);
    return err(NO_SUCH_BUCKET);
  }
  remember(context, found.value);
  return ok(found.value);
}

/**
 * Reloads from DIRECTORY a bucket whose copy is from the primary or proven. If a later bucket has taken the name, the result is
 * `no_such_bucket`.
 * @param isHeld whether a shard has proven that the copy is current.
 */
export async function refreshBucket(
  context: EngineContext,
  bucket: Bucket,
  isHeld = false,
): Promise<Proven<BucketRecord, CommonError>> {
  if (needsProof(bucket) && !isHeld) return REFUSED;
  const found = await getBucketRecord(context, bucket.name);
  if (found.ok && found.value.bucketId !== bucket.bucketId) return err(NO_SUCH_BUCKET);
  return found.ok ? held(found.value) : found;
}

/** Places the slots of a new bucket in the shards with the most room. */
async function placeBucket(context: EngineContext): Promise<Uint8Array> {
  const sizes = await Promise.all(
    context.shards.map(async (database, shard) => {
      const size = await measureDatabaseBytes(database).catch(() => Number.POSITIVE_INFINITY);
      return { shard, size };
    }),
  );
  sizes.sort((a, b) => a.size - b.size || a.shard - b.shard);
  const chosen = sizes.slice(0, Math.max(1, Math.min(context.limits.bucketSpread, sizes.length)));
  return Uint8Array.from({ length: SLOT_COUNT }, (_, slot) => chosen[slot % chosen.length]?.shard ?? 0);
}

export async function createBucket(
  context: EngineContext,
  request: Parameters<Engine['createBucket']>[0],
): Promise<Result<Bucket, CreateBucketError>> {
  const shards = context.shards.length === 1 ? new Uint8Array(SLOT_COUNT) : await placeBucket(context);
  const bucket: BucketRecord = {
    bucketId: crypto.randomUUID(),
    name: request.name,
    ownerId: request.ownerId,
    createdAt: context.now(),
    region: request.region ?? null,
    versioning: request.versioning ?? 'never',
    versioningSeq: 0,
    sealEpoch: 0,
    configuration: request.configuration ?? {},
    placement: { version: 0, shards },
    generation: 0,
  };
  const limit = context.limits.bucketsPerUserMax;
  const inserted = await insertBucket(context, bucket, limit);
  if (!inserted.ok) return err(toUnavailable(inserted.error));
  const [holder] = inserted.value.holder.results;
  if (!holder) return err({ kind: 'too_many_buckets', limit });
  if (holder.bucket_id !== bucket.bucketId) return err({ kind: 'bucket_exists', ownerId: String(holder.owner_id) });
  // If this fails, the first write to a shard that does not know the bucket registers it there.
  await Promise.all(shardsOf(shards).map((shard) => introduceBucket(context, shard, bucket)));
  remember(context, bucket);
  return ok(bucket);
}

export async function listBuckets(
  context: EngineContext,
  request: Parameters<Engine['listBuckets']>[0],
): Promise<Awaited<ReturnType<Engine['listBuckets']>>> {
  const { ownerId, prefix = '', after, limit } = request;
  const from = after !== undefined && after >= prefix ? nameAfter(after) : prefix;
  const rows = await selectBuckets(context, ownerId, from, nameAfterPrefix(prefix), limit + 1);
  if (!rows.ok) return rows;
  return ok({ buckets: rows.value.slice(0, limit), isTruncated: rows.value.length > limit });
}

export async function setVersioning(
  context: EngineContext,
  bucket: Bucket,
  versioning: 'enabled' | 'suspended',
): Promise<Result<null, CommonError>> {
  const changed = await changeBucket(context, bucket, { versioning });
  if (!changed.ok) return changed;
  if (changed.value.versioning !== versioning)
    return err({ kind: 'unavailable', reason: 'the bucket has Object Lock' });
  return introduceEverywhere(context, changed.value);
}

export async function setObjectLock(
  context: EngineContext,
  bucket: Bucket,
  document: string,
): Promise<Result<null, CommonError>> {
  const changed = await changeBucket(context, bucket, { objectLock: document });
  if (!changed.ok) return changed;
  if (changed.value.versioning !== 'enabled') return err({ kind: 'unavailable', reason: 'versioning was suspended' });
  return introduceEverywhere(context, changed.value);
}

async function introduceEverywhere(context: EngineContext, record: BucketRecord): Promise<Result<null, CommonError>> {
  const outcomes = await Promise.all(
    shardsOf(record.placement.shards).map((shard) => introduceBucket(context, shard, record)),
  );
  for (const outcome of outcomes) if (!outcome.ok) return outcome;
  return ok(null);
}

export async function setConfiguration(
  context: EngineContext,
  bucket: Bucket,
  kind: string,
  document: string | null,
): Promise<Result<null, CommonError>> {
  const changed = await changeBucket(context, bucket, { kind, document });
  return changed.ok ? ok(null) : changed;
}

const CHANGE_ATTEMPTS_MAX = 20;

/**
 * Changes the row of a bucket in DIRECTORY. Every shard gets the new generation before DIRECTORY does. Each read that follows the
 * acknowledgement therefore detects an outdated copy of the row. If the change dies in between, shards are ahead of DIRECTORY:
 * reads are still correct but need one more query, until `levelGeneration` repairs it.
 */
async function changeBucket(
  context: EngineContext,
  bucket: Bucket,
  change: BucketChange,
  /** If the generation of DIRECTORY's row is at least this, nothing is changed. */
  enough = Number.POSITIVE_INFINITY,
): Promise<Result<BucketRecord, CommonError>> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt++) {
    const fresh = await refreshBucket(context, bucket);
    if (!fresh.ok) return fresh;
    const from = fresh.value.generation;
    if (from >= enough) return fresh;
    const next = { ...fresh.value, generation: from + 1 };
    const raised = await Promise.all(
      shardsOf(next.placement.shards).map((shard) =>
        raiseShardGeneration(context, shard, next, () => introduceBucket(context, shard, next)),
      ),
    );
    let to = from + 1;
    for (const each of raised) {
      if (!each.ok) return each;
      to = Math.max(to, each.value ?? 0);
    }
    const changed = await updateBucket(context, bucket.bucketId, { from, to }, change);
    if (!changed.ok) return err(toUnavailable(changed.error));
    const [row] = changed.value.found.results;
    if (!row) return err(NO_SUCH_BUCKET);
    if (changed.value.changed.meta.changes > 0) return ok(toBucketRecord(row));
    // Another change was faster, or the answer to this one was lost. A repeat is safe in both cases, because it sets the same
    // values.
    await pause(attempt * 10 * Math.random());
  }
  return err({ kind: 'unavailable', reason: 'the bucket is being changed' });
}

/** Time for a change in progress to finish before `levelGeneration` forces it to start again. */
const LEVEL_DELAY_MS = 1_000;

/**
 * Times at which this isolate last ran `levelGeneration`, by bucket and shard. Without them, each read of a busy bucket would query
 * DIRECTORY's primary.
 */
const levelBegunAt = new Map<string, number>();
const LEVELED_MAX = 1_000;

/**
 * Brings DIRECTORY to the generation of a shard that is ahead, so that copies of the bucket's row count as current again. Runs at
 * most once in two seconds per bucket, shard and isolate. If it fails, the next read that finds DIRECTORY behind runs it again.
 */
export async function levelGeneration(
  context: EngineContext,
  bucket: Bucket,
  shard: number,
  generation: number | null,
): Promise<void> {
  const key = `${bucket.bucketId}/${shard}`;
  const now = Date.now();
  if (Math.abs(now - (levelBegunAt.get(key) ?? 0)) < 2 * LEVEL_DELAY_MS) return;
  if (levelBegunAt.size >= LEVELED_MAX) levelBegunAt.clear();
  levelBegunAt.set(key, now);
  if (generation === null) await replaceUnknownGeneration(context, shard, bucket);
  await pause(LEVEL_DELAY_MS);
  // This changes no content and reloads the bucket by its id, so it needs no proof.
  const { proof: _, ...unguarded } = bucket;
  const leveled = await changeBucket(context, unguarded, null, generation ?? bucket.generation + 1);
  if (!leveled.ok) logError('generation_not_leveled', new Error(leveled.error.kind), { bucket_id: bucket.bucketId });
}

const sealAgeMs = (context: EngineContext, seal: string): number => context.now() - Number(seal.split(':')[1]);

export async function deleteBucket(context: EngineContext, bucket: Bucket): Promise<Result<null, DeleteBucketError>> {
  const fresh = await refreshBucket(context, bucket);
  if (!fresh.ok) return fresh;
  const record = fresh.value;
  const seal = `${record.sealEpoch}:${context.now()}:${crypto.randomUUID()}`;
  // The delete seals all shards, because a slot may be moving to a shard that is not in the map yet.
  const shards = context.shards.map((_, shard) => shard);
  const unseal = () => Promise.all(shards.map((shard) => unsealShardBucket(context, shard, record.bucketId, seal)));
  // `introduceBucket` refuses a wrong database, which would report the bucket as empty.
  for (const known of await Promise.all(shards.map((shard) => introduceBucket(context, shard, record)))) {
    if (!known.ok) return known;
  }
  const outcomes = await Promise.all(shards.map((shard) => sealShardBucket(context, shard, record, seal)));
  let isUsed = false;
  let foreignSeal: string | null = null;
  for (const outcome of outcomes) {
    if (!outcome.ok) {
      await unseal();
      return err(toUnavailable(outcome.error));
    }
    const [row] = outcome.value.use.results;
    if (row?.is_used === 1) isUsed = true;
    if (row?.seal !== seal) foreignSeal = String(row?.seal);
  }
  if (isUsed || foreignSeal !== null) {
    await unseal();
    if (isUsed) return err({ kind: 'bucket_not_empty' });
    if (sealAgeMs(context, foreignSeal ?? '') > context.limits.sealAgeMaxMs) await breakSeals(context, record);
    return err({ kind: 'conflict' });
  }
  const removed = await removeBucket(context, record.bucketId, record.sealEpoch);
  if (!removed.ok) return err(toUnavailable(removed.error));
  if (removed.value.found.results.length === 1) {
    await unseal();
    return err({ kind: 'conflict' });
  }
  context.memory.placements.delete(bucket.name);
  await forgetQuota(context, { kind: 'bucket', subject: record.bucketId });
  return ok(null);
}

/** Breaks the seals that dead deletes left on a bucket. @returns false when the bucket no longer exists. */
export async function breakSeals(context: EngineContext, bucket: BucketRecord): Promise<boolean> {
  const old = new Map<number, string>();
  for (let shard = 0; shard < context.shards.length; shard++) {
    const seal = await findSeal(context, shard, bucket.bucketId);
    if (seal.ok && seal.value !== null && sealAgeMs(context, seal.value) > context.limits.sealAgeMaxMs) {
      old.set(shard, seal.value);
    }
  }
  if (old.size === 0) return true;
  const advanced = await advanceSealEpoch(context, bucket.bucketId, bucket.sealEpoch);
  if (!advanced.ok) return true;
  if (advanced.value.found.results.length !== 1) return false;
  // If another request has advanced the epoch first, its epoch invalidates the old seals too.
  for (const [shard, seal] of old) await unsealShardBucket(context, shard, bucket.bucketId, seal);
  return true;
}
