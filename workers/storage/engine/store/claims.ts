/**
 * A shard's database is *claimed* once it is known to be the right one. An empty database that replaced a lost one is not claimed,
 * because the locations have snapshots or a journal of that shard. Until it is rebuilt, nothing is written to it, a missing object
 * is not reported as missing, and blobs that it does not know are not treated as orphans.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { databaseOf, type EngineContext, inTime } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { type BucketRecord, insertShardBucket } from './bucket-store.ts';
import { toUnavailable } from './database.ts';
import { insertClaim } from './journal-store.ts';
import { listQuotas } from './quota-limit-store.ts';
import { quotaStatements } from './quota-store.ts';
import { claimLocations } from './shard-owner.ts';

/** Whether any location has a snapshot or a journal of the shard; null if a location does not answer. */
export async function findBackup(context: EngineContext, shard: number): Promise<boolean | null> {
  for (const bucket of context.locations) {
    for (const prefix of [`snapshots/${shard}/`, `journal/${shard}/`]) {
      const page = await inTime(bucket.list({ prefix, limit: 1 }), context.limits.locationTimeoutMs, null).catch(
        () => null,
      );
      if (page === null) return null;
      if (page.objects.length > 0) return true;
    }
  }
  return false;
}

/** Claims a new database for its shard, unless the locations have a snapshot or a journal of an earlier one. */
export async function claimShard(context: EngineContext, shard: number): Promise<Result<null, Unavailable>> {
  const isKnown = await findBackup(context, shard);
  if (isKnown === null) return err({ kind: 'unavailable', reason: 'a location does not answer' });
  if (isKnown)
    return err({ kind: 'unavailable', reason: `the database of shard ${shard} was lost and has not been rebuilt yet` });
  const isOwner = await claimLocations(context, shard).catch(() => null);
  if (isOwner === null) return err({ kind: 'unavailable', reason: 'a location does not answer' });
  if (!isOwner) return err({ kind: 'unavailable', reason: `the bytes of shard ${shard} belong to another database` });
  const quotas = await listQuotas(context).catch(() => null);
  if (quotas === null) return err({ kind: 'unavailable', reason: 'DIRECTORY does not answer' });
  const claimed = await insertClaim(context, shard, quotaStatements(databaseOf(context, shard), quotas));
  if (!claimed.ok) return err(toUnavailable(claimed.error));
  if (claimed.value[1]?.results[0]?.is_claimed === 1) return ok(null);
  return err({ kind: 'unavailable', reason: `the database of shard ${shard} is being rebuilt` });
}

/** Registers a bucket in a shard. Claims the shard's database first if necessary. */
export async function introduceBucket(
  context: EngineContext,
  shard: number,
  bucket: BucketRecord,
): Promise<Result<null, Unavailable>> {
  for (;;) {
    const inserted = await insertShardBucket(context, shard, bucket);
    if (!inserted.ok) return err(toUnavailable(inserted.error));
    if (inserted.value.claim.results[0]?.is_claimed === 1) return ok(null);
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) return claimed;
  }
}
