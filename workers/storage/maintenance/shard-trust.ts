/**
 * Decides whether background work may delete, pack or write journals. It must not do so while a shard's database may be the wrong
 * one or an older copy (`engine/store/shard-owner.ts`); an alarm is then raised for the operator.
 */
import { type CollectorStore, createCollectorStore } from '../../shared/collectors/store.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { claimShard } from '../engine/store/claims.ts';
import { advanceEpoch, isClaimed } from '../engine/store/journal-store.ts';
import { findShardDoubt, findUnboundShard, takeOverLocations } from '../engine/store/shard-owner.ts';

export const openStorageCollector = (context: EngineContext): CollectorStore =>
  createCollectorStore(context.directory, 'storage');

/**
 * Takes over untrusted shards if an operator has confirmed that their databases are the right ones. Changes that are only in a
 * later journal are lost then.
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

/** Whether background work may run in a shard. Raises the alarm if it may not. */
export async function isShardTrusted(context: EngineContext, shard: number): Promise<boolean> {
  if ((await findShardDoubt(context, shard)) === null) return true;
  await takeOverIfAsked(context);
  const doubt = await findShardDoubt(context, shard);
  if (doubt === null) return true;
  await openStorageCollector(context).raiseAlarm(doubt, { scanned: 0, found: 0 }, context.now());
  return false;
}

/** Like `isShardTrusted`, but claims a new database first. */
export async function isShardReady(context: EngineContext, shard: number): Promise<boolean> {
  if (!(await isClaimed(context, shard))) {
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) {
      await openStorageCollector(context).raiseAlarm(claimed.error.reason, { scanned: 0, found: 0 }, context.now());
      return false;
    }
  }
  return isShardTrusted(context, shard);
}

/**
 * Looks for a shard that is not trusted or not bound.
 * @returns the reason why orphans and shared blobs must not be deleted, or null.
 */
export async function findStorageDoubt(context: EngineContext): Promise<string | null> {
  for (let shard = 0; shard < context.shards.length; shard++) {
    const doubt = await findShardDoubt(context, shard);
    if (doubt !== null) return doubt;
  }
  const unbound = await findUnboundShard(context);
  return unbound === null ? null : `shard ${unbound} has bytes in the locations, but its database is not bound`;
}
