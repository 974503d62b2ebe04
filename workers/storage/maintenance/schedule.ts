/**
 * Runs background work. Cron sends one message per minute and shard. The consumer does a bounded part of each kind of work and
 * sends itself another message while there is more. Each kind of work determines from its stored state what is due. Lost, repeated
 * or late messages therefore affect only the time of the work.
 */
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { findMisconfigured } from '../../shared/settings/settings.ts';
import { unguardedEnv } from '../../shared/stores/guarded-database.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';
import { currentInvocation, runInvocation } from '../../shared/telemetry/invocation.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { createEngineContext } from '../engine/index.ts';
import { atDirectory, type EngineContext } from '../engine/model/context.ts';
import { isAnyMissing } from '../engine/store/blob-store.ts';
import { forgetReceipts } from '../engine/store/delete-store.ts';
import { hasDueEvents } from '../engine/store/event-store.ts';
import { selectRunnable } from '../engine/store/job-store.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from './collect.ts';
import { keepDirectoryAge } from './directory-owner.ts';
import { directorySnapshotStep } from './directory-snapshot.ts';
import { sendEvents } from './events.ts';
import { runJob } from './jobs.ts';
import { writeJournal } from './journal.ts';
import { withLease } from './leases.ts';
import { isLifecycleDue, runLifecycle } from './lifecycle.ts';
import { copyMissing } from './missing-copies.ts';
import { finishMoves } from './move-slot.ts';
import { walkOrphans } from './orphans.ts';
import { emptyPackReport, isPackingDue, packVolume } from './pack.ts';
import { scrubOne, scrubStep } from './scrub.ts';
import { emptyScrubReport } from './scrub-report.ts';
import { isShardReady } from './shard-trust.ts';
import { snapshotStep } from './snapshot.ts';
import { SnapshotRefused } from './snapshot-refused.ts';

/** A task with the trace of the event that sent it, for logs. */
interface Traced {
  readonly trace_id?: string | undefined;
}

export type StorageTask = Traced &
  (
    | { readonly kind: 'maintain'; readonly shard: number }
    | { readonly kind: 'scrub'; readonly shard: number }
    | { readonly kind: 'lifecycle'; readonly shard: number }
    | { readonly kind: 'job'; readonly shard: 0; readonly job_id: string }
    | { readonly kind: 'events'; readonly shard: number }
    | { readonly kind: 'copies'; readonly shard: number }
    | { readonly kind: 'repair'; readonly shard: number; readonly blob_id: string }
    | { readonly kind: 'snapshot'; readonly shard: number }
    | { readonly kind: 'directory'; readonly shard: 0; readonly directory?: number }
  );

/** Kinds of work that look for a database in doubt themselves, and raise the alarm of their collector. */
const WATCHING: ReadonlySet<StorageTask['kind']> = new Set(['maintain', 'snapshot', 'directory']);

/** Maximum number of rounds, steps and bytes of each kind of work in one run. */
const COLLECT_ROUNDS_PER_RUN_MAX = 10;
const VOLUMES_PER_RUN_MAX = 4;
/**
 * Maximum number of bytes that a run of scrub reads. Within it, scrub reads as much as its schedule requires. 16 GiB a minute are
 * 675 TiB in 30 days, for each shard.
 */
const SCRUB_BYTES_MAX = 16 * 1024 ** 3;
const SCRUB_MS_MAX = 240_000;
const SNAPSHOT_PAGES = 200;
/** Pages of a user database, each with one query. With those of a table list and of the checks, a run stays below 1,000. */
const DIRECTORY_PAGES = 400;
const LEASE_MS = 300_000;
/** Lease of a run that sends events. It is longer than such a run can take. */
const EVENTS_LEASE_MS = 120_000;
/** Age of a slot move after which its mover counts as dead and cron finishes the move. */
const MOVE_AGE_MS = 600_000;
/** Minute of each hour in which the snapshot of DIRECTORY is written. That of DIRECTORY_n is written n minutes later, modulo 60. */
const DIRECTORY_SNAPSHOT_MINUTE = 23;
const MINUTES_PER_HOUR = 60;
/** Number of user databases whose number is raised at a time. Each holds up to two connections. */
const AGES_AT_ONCE = 2;
/** Maximum number of jobs that cron continues at a time. */
const JOBS_MAX = 100;
const DAILY = '17 3 * * *';

/** Runs a bounded part of each kind of background work in a shard. @returns whether there is more to do now. */
export async function maintainShard(context: EngineContext, shard: number): Promise<boolean> {
  if (!(await isShardReady(context, shard))) return false;
  return (await withLease(context, shard, 'maintain', LEASE_MS, () => maintainClaimed(context, shard))) ?? false;
}

async function maintainClaimed(context: EngineContext, shard: number): Promise<boolean> {
  const collected = emptyCollectReport();
  const packed = emptyPackReport();
  let isMore = false;
  // If one kind of work fails, the others still run. Packing goes first, because packed objects need no journal.
  const pieces: readonly (() => Promise<void>)[] = [
    async () => {
      for (let i = 0; i < VOLUMES_PER_RUN_MAX && (await isPackingDue(context, shard)); i++) {
        await packVolume(context, shard, packed);
        if (i === VOLUMES_PER_RUN_MAX - 1) isMore = true;
      }
    },
    async () => void (await writeJournal(context, shard)),
    async () => {
      for (let round = 0; round < COLLECT_ROUNDS_PER_RUN_MAX; round++) {
        const some = await collectUploads(context, shard, collected);
        if (!(await collectBlobs(context, shard, collected)) && !some) return;
      }
      isMore = true;
    },
    async () => {
      if (shard !== 0) return;
      await walkOrphans(context, collected);
      await finishMoves(context, MOVE_AGE_MS);
    },
    () => forgetReceipts(context, shard),
    async () => {
      if (await isLifecycleDue(context, shard)) await start(context, [{ kind: 'lifecycle', shard }]);
      if (await hasDueEvents(context, shard)) await start(context, [{ kind: 'events', shard }]);
      if (await isAnyMissing(context, shard)) await start(context, [{ kind: 'copies', shard }]);
    },
  ];
  const failures: unknown[] = [];
  for (const piece of pieces) await piece().catch((error: unknown) => failures.push(error));
  if (packed.volumes + collected.blobs_removed + collected.orphans_removed > 0) {
    logInfo('storage_maintained', {
      shard,
      volumes_packed: packed.volumes,
      blobs_removed: collected.blobs_removed,
      orphans_removed: collected.orphans_removed,
    });
  }
  if (failures.length > 0) throw failures[0];
  return isMore;
}

/** Scrub has a task of its own, so that no other work waits for it. */
export async function scrubShard(context: EngineContext, shard: number): Promise<void> {
  if (!(await isClaimed(context, shard))) return;
  const deadline = Date.now() + SCRUB_MS_MAX;
  const report = emptyScrubReport();
  const options = { isPaced: true, mayContinue: () => Date.now() < deadline };
  await withLease(context, shard, 'scrub', LEASE_MS, () => scrubStep(context, shard, SCRUB_BYTES_MAX, report, options));
  if (report.repaired_copies + report.lost_blobs > 0) {
    logInfo('storage_scrubbed', { shard, copies_repaired: report.repaired_copies, blobs_lost: report.lost_blobs });
  }
}

export async function runStorageSchedule(
  controller: ScheduledController,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  const context = createEngineContext(env, createClock(env), ctx);
  const kind = controller.cron === DAILY ? 'snapshot' : 'maintain';
  const tasks = context.shards.map((_, shard): StorageTask => ({ kind, shard }));
  if (kind === 'maintain') {
    tasks.push(...context.shards.map((_, shard): StorageTask => ({ kind: 'scrub', shard })));
    const jobIds = await selectRunnable(context, JOBS_MAX).catch((error: unknown) => {
      logError('jobs_unreadable', error);
      return [];
    });
    tasks.push(...jobIds.map((job_id): StorageTask => ({ kind: 'job', shard: 0, job_id })));
  }
  await start(context, tasks);
}

/** Raises the number of each user database, and sends the tasks of their hourly snapshots. */
export async function runDirectorySchedule(
  controller: ScheduledController,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  const minute = new Date(controller.scheduledTime).getUTCMinutes();
  if (controller.cron === DAILY) return;
  const context = createEngineContext(unguardedEnv(env), createClock(env), ctx);
  await runInParallel([...context.directories.keys()], AGES_AT_ONCE, (number) =>
    keepDirectoryAge(atDirectory(context, number)).catch((error: unknown) => logError('age_not_raised', error)),
  );
  const due = [...context.directories.keys()].filter(
    (number) => (DIRECTORY_SNAPSHOT_MINUTE + number) % MINUTES_PER_HOUR === minute,
  );
  await start(
    context,
    due.map((directory): StorageTask => ({ kind: 'directory', shard: 0, directory })),
  );
}

async function start(context: EngineContext, tasks: readonly StorageTask[]): Promise<void> {
  if (context.tasks) {
    for (let at = 0; at < tasks.length; at += 100) {
      await context.tasks.sendBatch(
        tasks.slice(at, at + 100).map((task) => ({ body: { ...task, trace_id: currentInvocation()?.traceId } })),
      );
    }
    return;
  }
  for (const task of tasks) await runTask(context, task);
}

async function runTask(context: EngineContext, task: StorageTask): Promise<void> {
  if (task.shard >= context.shards.length) return;
  switch (task.kind) {
    case 'maintain':
      if ((await maintainShard(context, task.shard)) && context.tasks) await context.tasks.send(task);
      return;
    case 'scrub':
      return await scrubShard(context, task.shard);
    case 'copies': {
      const deadline = Date.now() + SCRUB_MS_MAX;
      const work = () => copyMissing(context, task.shard, () => Date.now() < deadline);
      await withLease(context, task.shard, 'copies', LEASE_MS, work);
      return;
    }
    case 'events': {
      const startedAt = Date.now();
      const work = () => sendEvents(context, task.shard, startedAt);
      const isMore = await withLease(context, task.shard, 'events', EVENTS_LEASE_MS, work);
      if (isMore && context.tasks) await context.tasks.send(task);
      return;
    }
    case 'lifecycle': {
      const work = () => runLifecycle(context, task.shard);
      const isMore = await withLease(context, task.shard, 'lifecycle', LEASE_MS, work);
      if (isMore && context.tasks) await context.tasks.send(task);
      return;
    }
    case 'job':
      if ((await runJob(context, task.job_id)) && context.tasks) await context.tasks.send(task);
      return;
    case 'repair':
      return await scrubOne(context, task.shard, task.blob_id, emptyScrubReport());
    case 'directory': {
      const directory = atDirectory(context, task.directory ?? 0);
      const outcome = await directorySnapshotStep(directory, { pagesMax: DIRECTORY_PAGES });
      if (outcome === 'unfinished' && context.tasks) await context.tasks.send(task);
      return;
    }
    case 'snapshot': {
      const isMore = await withLease(context, task.shard, 'snapshot', LEASE_MS, async () => {
        return (await snapshotStep(context, task.shard, SNAPSHOT_PAGES)) === null;
      });
      if (isMore && context.tasks) await context.tasks.send(task);
      return;
    }
  }
}

export async function consumeStorageTasks(batch: MessageBatch, env: Env, ctx: ExecutionContext): Promise<void> {
  const context = createEngineContext(env, createClock(env), ctx);
  const watching = createEngineContext(unguardedEnv(env), createClock(env), ctx);
  for (const message of batch.messages) {
    try {
      const task = message.body as StorageTask;
      const isWatching = WATCHING.has(task.kind);
      await runInvocation(env, task.trace_id, () => runTask(isWatching ? watching : context, task));
      message.ack();
    } catch (error) {
      logError('storage_task_failed', error, { kind: (message.body as StorageTask).kind });
      // The task is not retried, because only an operator can resolve the refusal. Cron sends it again anyway.
      if (error instanceof SnapshotRefused || findMisconfigured(error) instanceof OlderStoreError) message.ack();
      else message.retry();
    }
  }
}
