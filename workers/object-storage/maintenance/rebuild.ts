/**
 * Puts a lost shard together again: the newest snapshot, then the journal since, and then what blobs in R2 tell of
 * themselves and neither knows (`recover-blobs.ts`).
 *
 * It goes in small steps, and where it stands is kept in the shard, so that a large one is rebuilt over many requests.
 * Every step may be repeated. Until the last but one the shard is not claimed (`engine/claims.ts`); with the claim goes
 * the note of where the rebuild stands, so that nothing is ever rebuilt over a shard in use.
 *
 * What may be lost is what the shard took in after its journal was last written, about a minute: of that only objects with
 * blobs of their own come back, without tags, ACLs and checksums beside MD5 and SHA-256.
 *
 * Gaps: an upload that was refused or never finished, and whose bytes a crash left in R2 within the hour, comes back as if
 * it had been acknowledged.
 */
import { logInfo } from '../../shared/log.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { findPage } from '../engine/store/check-store.ts';
import type { Row } from '../engine/store/database.ts';
import {
  alignBuckets,
  claimRebuilt,
  dropPacked,
  dropUnreferenced,
  clearShard,
  forgetRemoved,
  isInUse,
  listBucketsAfter,
  restoreRows,
} from '../engine/store/rebuild-store.ts';
import { takeOverLocations } from '../engine/store/shard-owner.ts';
import { TABLE_NAMES, type Table } from '../engine/store/table-rows.ts';
import { readTask } from '../engine/store/task-store.ts';
import { emptyShardReport, type ShardReport, shardSteps } from './fsck.ts';
import { listJournal, replayJournalPage } from './journal.ts';
import { withLease } from './leases.ts';
import { findYoungBlobs, type RecoveryReport, recoverNextObject, recoverNextVolume } from './recover-blobs.ts';
import { findSnapshot, readSnapshotPage, snapshotStep } from './snapshot.ts';
import { type WalkStep, walkTables } from './table-walk.ts';

export interface RebuildReport extends RecoveryReport {
  snapshot: string | null;
  rows_restored: number;
  /** Versions and uploads that the journal told of, counted each time. */
  changes_replayed: number;
  /** How far the journal goes. Null: there is none. */
  journal_until: string | null;
  versions_incomplete: number;
}

export type RebuildOutcome =
  | { readonly ok: true; readonly report: RebuildReport; readonly isDone: boolean }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' | 'under_way' } };

/** Bytes reach R2 before their commit: blobs so much older than the snapshot are in it, or were not to be kept. */
const COMMIT_MARGIN_MS = 900_000;
const BUCKETS_PAGE = 200;
const LEASE_MS = 600_000;

/** The report with what the steps have to know of those before them. */
interface Rebuild extends RebuildReport {
  pages: Readonly<Record<string, number>>;
  /** The snapshot's: what the journal has to go on from. */
  epoch: number;
  startedAt: number;
  lastEpoch: number;
  check: ShardReport;
}

const emptyRebuild = (): Rebuild => ({
  snapshot: null,
  rows_restored: 0,
  changes_replayed: 0,
  journal_until: null,
  blobs_scanned: 0,
  versions_recovered: 0,
  volumes_recovered: 0,
  versions_incomplete: 0,
  pages: {},
  epoch: 0,
  startedAt: 0,
  lastEpoch: 0,
  check: emptyShardReport(false),
});

type Step = WalkStep<Rebuild>;

/** Runs until it is done, or `mayContinue` says no: the next call goes on then. @param restart forgets how far it was. */
export async function rebuildShard(
  context: EngineContext,
  shard: number,
  { mayContinue = () => true, restart = false }: { readonly mayContinue?: () => boolean; readonly restart?: boolean } = {},
): Promise<RebuildOutcome> {
  const outcome = await withLease(context, shard, 'rebuild', LEASE_MS, async (): Promise<RebuildOutcome> => {
    const isRunning = !restart && (await readTask(context, shard, 'rebuild')) !== null;
    if (!isRunning && (await isInUse(context, shard))) return { ok: false, error: { kind: 'not_empty' } };
    const steps = stepsOf(context, shard);
    const walked = await walkTables(context, shard, 'rebuild', steps, emptyRebuild, mayContinue, restart);
    const { pages, epoch, startedAt, lastEpoch, check, ...report } = walked.report;
    report.versions_incomplete = check.versions_incomplete;
    report.journal_until = lastEpoch > 0 ? new Date(lastEpoch).toISOString() : null;
    if (walked.isDone) {
      logInfo('shard_rebuilt', { shard, rows: report.rows_restored, recovered: report.versions_recovered });
    }
    return { ok: true, report, isDone: walked.isDone };
  });
  return outcome ?? { ok: false, error: { kind: 'under_way' } };
}

function stepsOf(context: EngineContext, shard: number): Step[] {
  return [
    async (_, rebuild) => {
      await clearShard(context, shard);
      const found = await findSnapshot(context, shard);
      if (!found) return null;
      const { epoch, started_at: startedAt, pages } = found.manifest;
      Object.assign(rebuild, { snapshot: found.folder, pages, epoch, lastEpoch: epoch, startedAt });
      return null;
    },
    restoreTable(context, shard, 'bucket'),
    async (after) => {
      const buckets = await listBucketsAfter(context, String(after?.bucket_id ?? ''), BUCKETS_PAGE);
      await alignBuckets(context, shard, buckets);
      return buckets.length < BUCKETS_PAGE ? null : { bucket_id: buckets.at(-1)?.bucketId ?? null };
    },
    ...TABLE_NAMES.filter((table) => table !== 'bucket').map((table) => restoreTable(context, shard, table)),
    replayStep(context, shard),
    async (after, rebuild) => {
      const at = { location: Number(after?.location ?? 0), after: String(after?.key ?? '') };
      const last = await findYoungBlobs(context, shard, at, rebuild.startedAt - COMMIT_MARGIN_MS, rebuild);
      if (last !== null) return { location: at.location, key: last };
      return at.location + 1 < context.locations.length ? { location: at.location + 1, key: '' } : null;
    },
    async (_, rebuild) => ((await recoverNextObject(context, shard, rebuild)) ? {} : null),
    async (_, rebuild) => ((await recoverNextVolume(context, shard, rebuild)) ? {} : null),
    async () => {
      await forgetRemoved(context, shard);
      return null;
    },
    overPages(context, shard, 'inline', dropPacked),
    ...shardSteps(context, shard).map(
      (step): Step =>
        (after, rebuild) =>
          step(after, rebuild.check),
    ),
    overPages(context, shard, 'blob', dropUnreferenced),
    overPages(context, shard, 'reclaim', dropUnreferenced),
    async (_, rebuild) => {
      const above = await takeOverLocations(context, shard);
      await claimRebuilt(context, shard, Math.max(above, rebuild.lastEpoch));
      return null;
    },
    async () => ((await snapshotStep(context, shard, 1)) === null ? {} : null),
  ];
}

const overPages =
  (
    context: EngineContext,
    shard: number,
    table: Table,
    work: (context: EngineContext, shard: number, page: Awaited<ReturnType<typeof findPage>>) => Promise<void>,
  ): Step =>
  async (after) => {
    const page = await findPage(context, shard, table, after, context.limits.checkPageRows);
    await work(context, shard, page);
    return page.end;
  };

const restoreTable =
  (context: EngineContext, shard: number, table: Table): Step =>
  async (after, rebuild) => {
    const page = Number(after?.page ?? 0);
    const pages = rebuild.pages[table] ?? 0;
    if (rebuild.snapshot === null || page >= pages) return null;
    const rows = await readSnapshotPage(context, rebuild.snapshot, table, page);
    rebuild.rows_restored += await restoreRows(context, shard, table, rows);
    return page + 1 < pages ? { page: page + 1 } : null;
  };

/** A page of the journal a step. What there is of it is listed once in each request. */
function replayStep(context: EngineContext, shard: number): Step {
  let keys: readonly string[] | null = null;
  return async (after: Row | null, rebuild) => {
    keys ??= await listJournal(context, shard, rebuild.epoch - context.limits.graceMs * 2);
    const at = after === null ? 0 : keys.findIndex((key) => key > String(after.key));
    const key = keys[at];
    if (key === undefined) return null;
    const replayed = await replayJournalPage(context, shard, key, rebuild.epoch);
    rebuild.changes_replayed += replayed.notes;
    rebuild.lastEpoch = Math.max(rebuild.lastEpoch, replayed.epoch);
    return { key };
  };
}
