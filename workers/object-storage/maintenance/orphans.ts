/**
 * Finds blobs in R2 that no shard has a record of: what a crash left between R2 and the commit.
 * `collectors/orphan-rounds.ts` deletes them. All locations are walked, one after the other.
 *
 * Nothing is deleted while a shard's database is in doubt (`engine/shard-owner.ts`), or while the bytes of a shard whose
 * database is not bound are in the same buckets. Objects younger than the grace may belong to an upload that is being committed.
 */
import { collectOrphans, type OrphanSource } from '../../collectors/orphan-rounds.ts';
import { type Candidate, type CollectorStore, createCollectorStore } from '../../collectors/store.ts';
import { BLOB_PREFIX, isBlobKey, toBlobKey } from '../engine/blobs/locations.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { findKnownBlobs } from '../engine/store/blob-store.ts';
import { advanceEpoch } from '../engine/store/journal-store.ts';
import { findShardDoubt, findUnboundShard, takeOverLocations } from '../engine/store/shard-owner.ts';
import type { CollectReport } from './collect.ts';

/** R2's largest page. */
const WALK_PAGE = 1000;

export const openStorageCollector = (context: EngineContext): CollectorStore =>
  createCollectorStore(context.directory, 'storage');

/**
 * Takes over the shards that are in doubt, if an operator has said that their databases are the right ones. What a later
 * journal knows and an older database does not is given up with that.
 */
async function takeOverIfAsked(context: EngineContext): Promise<void> {
  const store = openStorageCollector(context);
  if ((await store.read()).takeOver !== 1) return;
  for (let shard = 0; shard < context.shards.length; shard++) {
    if ((await findShardDoubt(context, shard)) === null) continue;
    await advanceEpoch(context, shard, await takeOverLocations(context, shard));
  }
  await store.endTakeOver();
}

/** Whether background work may go on in a shard. Raises the alarm if not. */
export async function isShardTrusted(context: EngineContext, shard: number): Promise<boolean> {
  if ((await findShardDoubt(context, shard)) === null) return true;
  await takeOverIfAsked(context);
  const doubt = await findShardDoubt(context, shard);
  if (doubt === null) return true;
  await openStorageCollector(context).raiseAlarm(doubt, { scanned: 0, found: 0 }, context.now());
  return false;
}

/** @returns why the shards together must not decide what is deleted, or null. */
export async function findStorageDoubt(context: EngineContext): Promise<string | null> {
  for (let shard = 0; shard < context.shards.length; shard++) {
    const doubt = await findShardDoubt(context, shard);
    if (doubt !== null) return doubt;
  }
  const unbound = await findUnboundShard(context);
  return unbound === null ? null : `shard ${unbound} has bytes in the locations, but its database is not bound`;
}

/** One page of R2. @returns false at the end of a round over all locations, or when nothing may be deleted. */
export async function walkOrphans(context: EngineContext, report: CollectReport): Promise<boolean> {
  const done = await collectOrphans(openStorageCollector(context), createSource(context), context.now());
  report.objects_walked += done.scanned;
  report.orphans_found += done.found;
  report.orphans_removed += done.removed;
  return !done.isRoundOver;
}

function createSource(context: EngineContext): OrphanSource {
  return {
    findDoubt: () => findStorageDoubt(context),
    scan: (cursor) => scanPage(context, cursor),
    async findOrphans(keys) {
      const known = await findKnownBlobs(
        context,
        keys.map(({ key }) => key),
      );
      const orphans = keys.filter(({ key }) => !known.has(key)).map((each) => ({ ...each, isGivenUp: false }));
      return { orphans, unknown: [] };
    },
    async remove(blobIds, where) {
      const [first, ...others] = context.locations;
      if (blobIds.length === 0 || !first) return;
      const buckets = where === 'first' ? [first] : others;
      await Promise.all(buckets.map((bucket) => bucket.delete(blobIds.map(toBlobKey))));
    },
  };
}

/** @param cursor `<location> <key>`, '' at the start. The keys are the ids of blobs. */
async function scanPage(context: EngineContext, cursor: string) {
  const [location = 0, after = ''] = cursor === '' ? [] : [Number.parseInt(cursor, 10), cursor.replace(/^\d+ /, '')];
  const bucket = context.locations[location];
  if (!bucket) return { keys: [], scanned: 0, next: null };
  const page = await bucket.list({
    prefix: BLOB_PREFIX,
    limit: WALK_PAGE,
    ...(after === '' ? {} : { startAfter: after }),
  });
  // Other keys under the prefix are not ours. fsck reports them.
  const keys = page.objects
    .filter(({ key, uploaded }) => isBlobKey(key) && context.now() - uploaded.getTime() >= context.limits.graceMs)
    .map(({ key, uploaded }): Candidate => ({ key: key.slice(BLOB_PREFIX.length), storedAt: uploaded.getTime() }));
  const last = page.objects.at(-1);
  const isEnd = !page.truncated || !last;
  const next = isEnd ? `${location + 1} ` : `${location} ${last.key}`;
  // A blob is in every location and counts once.
  const scanned = location === 0 ? page.objects.length : 0;
  return { keys, scanned, next: isEnd && location + 1 >= context.locations.length ? null : next };
}
