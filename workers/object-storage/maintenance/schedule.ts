/**
 * When background work runs. Cron sends one message a minute and shard; the consumer does a bounded piece of each kind of
 * work and asks to be woken again while there is more. Losing, repeating or delaying a message changes nothing but time:
 * every piece finds for itself what is due.
 */
import { createClock } from '../../shared/clock.ts';
import { logError, logInfo } from '../../shared/log.ts';
import type { EngineContext } from '../engine/context.ts';
import { createEngineContext } from '../engine.ts';
import { collectBlobs, collectUploads, emptyCollectReport, walkOrphans } from './collect.ts';
import { withLease } from './leases.ts';
import { finishMoves } from './move-slot.ts';
import { emptyPackReport, isPackingDue, packVolume } from './pack.ts';
import { emptyScrubReport, scrubOne, scrubStep } from './scrub.ts';
import { snapshotShard } from './snapshot.ts';

export type StorageTask =
  | { readonly kind: 'tend'; readonly shard: number }
  | { readonly kind: 'repair'; readonly shard: number; readonly blob_id: string }
  | { readonly kind: 'snapshot'; readonly shard: number };

/** Pieces of one wake-up. A scrub of 64 MiB a minute reads 2.7 TiB in a cycle of 30 days; more shards scrub side by side. */
const COLLECT_ROUNDS_MAX = 10;
const VOLUMES_MAX = 4;
const SCRUB_BYTES = 64 * 1024 ** 2;
const LEASE_MS = 300_000;
/** A move of a slot that is older than this has died and is finished. */
const MOVE_AGE_MS = 600_000;
const DAILY = '17 3 * * *';

/** @returns whether there is more to do now. */
export async function tendShard(context: EngineContext, shard: number): Promise<boolean> {
  const outcome = await withLease(context, shard, 'tend', LEASE_MS, async () => {
    const collected = emptyCollectReport();
    const packed = emptyPackReport();
    const scrubbed = emptyScrubReport();
    let isMore = false;
    for (let round = 0; round < COLLECT_ROUNDS_MAX; round++) {
      const some = await collectUploads(context, shard, collected);
      isMore = (await collectBlobs(context, shard, collected)) || some;
      if (!isMore) break;
    }
    for (let i = 0; i < VOLUMES_MAX && (await isPackingDue(context, shard)); i++) {
      await packVolume(context, shard, packed);
      if (i === VOLUMES_MAX - 1) isMore = true;
    }
    await scrubStep(context, shard, SCRUB_BYTES, scrubbed);
    if (shard === 0) {
      await walkOrphans(context, collected);
      await finishMoves(context, MOVE_AGE_MS);
    }
    const isNotable =
      packed.volumes + collected.blobs_removed + collected.orphans_removed + scrubbed.repaired_copies > 0;
    if (isNotable) {
      logInfo('storage_tended', {
        shard,
        volumes_packed: packed.volumes,
        blobs_removed: collected.blobs_removed,
        orphans_removed: collected.orphans_removed,
        copies_repaired: scrubbed.repaired_copies,
      });
    }
    return isMore;
  });
  return outcome ?? false;
}

export async function runStorageSchedule(
  controller: ScheduledController,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  const context = createEngineContext(env, createClock(env), ctx);
  const kind = controller.cron === DAILY ? 'snapshot' : 'tend';
  const tasks = context.shards.map((_, shard): StorageTask => ({ kind, shard }));
  if (context.tasks) {
    for (let at = 0; at < tasks.length; at += 100) {
      await context.tasks.sendBatch(tasks.slice(at, at + 100).map((body) => ({ body })));
    }
    return;
  }
  for (const task of tasks) await runTask(context, task);
}

async function runTask(context: EngineContext, task: StorageTask): Promise<void> {
  if (task.shard >= context.shards.length) return;
  switch (task.kind) {
    case 'tend':
      if ((await tendShard(context, task.shard)) && context.tasks) await context.tasks.send(task);
      return;
    case 'repair':
      return await scrubOne(context, task.shard, task.blob_id, emptyScrubReport());
    case 'snapshot':
      await snapshotShard(context, task.shard);
      return;
  }
}

export async function consumeStorageTasks(batch: MessageBatch, env: Env, ctx: ExecutionContext): Promise<void> {
  const context = createEngineContext(env, createClock(env), ctx);
  for (const message of batch.messages) {
    try {
      await runTask(context, message.body as StorageTask);
      message.ack();
    } catch (error) {
      logError('storage_task_failed', error, { kind: (message.body as StorageTask).kind });
      message.retry();
    }
  }
}
