/**
 * Rebuilds a lost shard from three sources in turn: the newest snapshot, the journal since then, and blobs in R2 that neither of
 * them mentions (`recover-blobs.ts`).
 *
 * It runs in small steps, and the shard stores its progress, so a large shard is rebuilt over many requests. Every step
 * can be repeated. The shard is not claimed (`engine/store/claims.ts`) until the last step but one. The claim also
 * removes the progress record, so a shard in use is never rebuilt. Each write proves in its own batch that the worker still holds the
 * lease of the rebuild. Otherwise a worker that is late would restore rows into a shard that another one has rebuilt.
 *
 * Writes since the last journal page, about a minute, may be lost. Of these writes, only objects with blobs of their own come back,
 * without tags, ACLs and checksums other than MD5 and SHA-256.
 *
 * A database that was put back to an earlier state is a snapshot that is already in its place: `replayShard` runs the same steps on it.
 *
 * Gaps: a refused or unfinished upload comes back as if it had been acknowledged, if a crash within the last hour left
 * its bytes in R2.
 */
import { logInfo } from '../../shared/telemetry/log.ts';
import { recoverRows } from '../engine/actions/small-objects.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { findPage } from '../engine/store/check-store.ts';
import type { Row } from '../engine/store/database.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import {
  alignBuckets,
  claimRebuilt,
  clearShard,
  dropUnreferenced,
  forgetRemoved,
  isInUse,
  listBucketsAfter,
  prepareReplay,
  restoreRows,
} from '../engine/store/rebuild-store.ts';
import { readEpoch, readOutsideEpoch, takeOverLocations } from '../engine/store/shard-owner.ts';
import { TABLE_NAMES, type Table } from '../engine/store/table-rows.ts';
import { readTask } from '../engine/store/task-store.ts';
import { emptyShardReport, type ShardReport, shardSteps } from './fsck.ts';
import { listJournal, replayJournalPage } from './journal.ts';
import { withLease } from './leases.ts';
import { findYoungBlobs, type RecoveryReport, recoverNextObject, recoverNextVolume } from './recover-blobs.ts';
import { recoverEarlyCopies } from './recover-early.ts';
import { findJournalStart, findSnapshot, readSnapshotPage, snapshotStep } from './snapshot.ts';
import { type WalkStep, walkTables } from './table-walk.ts';

export interface RebuildReport extends RecoveryReport {
  snapshot: string | null;
  rows_restored: number;
  /** Number of replayed change records. Each record counts a version or upload once. */
  changes_replayed: number;
  /** Time of the last page of the journal; null when there is no journal. */
  journal_until: string | null;
  versions_incomplete: number;
}

export type RebuildOutcome =
  | { readonly ok: true; readonly report: RebuildReport; readonly isDone: boolean }
  | { readonly ok: false; readonly error: { readonly kind: 'not_empty' | 'under_way' | 'database_empty' } };

/**
 * Margin for uploads in progress, because bytes reach R2 before their commit. A blob that is older than the snapshot by this margin
 * is in the snapshot or was never committed.
 */
const COMMIT_MARGIN_MS = 900_000;
const BUCKETS_PAGE = 200;
const LEASE_MS = 600_000;

/** Stored progress of a rebuild: the report, and the state that later steps need. */
interface Rebuild extends RebuildReport {
  pages: Readonly<Record<string, number>>;
  /** Epoch of the snapshot, from which the journal is replayed. */
  epoch: number;
  startedAt: number;
  lastEpoch: number;
  /**
   * Latest epoch of the locations when the replay of a restored database began; null for a rebuild. A later one means that the
   * database was put back again, with the progress of an earlier replay.
   */
  replayedUntil: number | null;
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
  replayedUntil: null,
  check: emptyShardReport(false),
});

type Step = WalkStep<Rebuild>;

/**
 * Rebuilds a shard until it is complete or `mayContinue` returns false. The next call continues.
 * @param restart discards the progress.
 */
export async function rebuildShard(
  context: EngineContext,
  shard: number,
  {
    mayContinue = () => true,
    restart = false,
  }: { readonly mayContinue?: () => boolean; readonly restart?: boolean } = {},
): Promise<RebuildOutcome> {
  const outcome = await withLease(context, shard, 'rebuild', LEASE_MS, async (held): Promise<RebuildOutcome> => {
    const isRunning = !restart && (await readTask(held, shard, 'rebuild')) !== null;
    if (!isRunning && (await isInUse(held, shard))) return { ok: false, error: { kind: 'not_empty' } };
    return await runSteps(held, shard, emptyRebuild, { mayContinue, restart });
  });
  return outcome ?? { ok: false, error: { kind: 'under_way' } };
}

/**
 * Replays the journal into a database that was put back to an earlier state, until it is complete or `mayContinue` returns false. The
 * next call continues. Has no effect on a database that is not older than its journal.
 */
export async function replayShard(
  context: EngineContext,
  shard: number,
  mayContinue: () => boolean = () => true,
): Promise<RebuildOutcome> {
  const outcome = await withLease(context, shard, 'rebuild', LEASE_MS, async (held): Promise<RebuildOutcome> => {
    const outside = await readOutsideEpoch(held, shard);
    const kept = await readTask<{ report: Partial<Rebuild> }>(held, shard, 'rebuild');
    if (kept === null && !(await isClaimed(held, shard))) return { ok: false, error: { kind: 'database_empty' } };
    const until = kept?.report.replayedUntil ?? null;
    if (kept !== null && until === null) return { ok: false, error: { kind: 'under_way' } };
    const isOlder = (await readEpoch(held, shard)) < outside;
    if (kept === null && !isOlder) return { ok: true, report: toReport(emptyRebuild()), isDone: true };
    // The last steps follow the claim, after which the database is no longer older.
    const isAnother = kept !== null && isOlder && until !== outside;
    const begin = (): Rebuild => ({ ...emptyRebuild(), replayedUntil: outside });
    return await runSteps(held, shard, begin, { mayContinue, restart: isAnother });
  });
  return outcome ?? { ok: false, error: { kind: 'under_way' } };
}

async function runSteps(
  context: EngineContext,
  shard: number,
  begin: () => Rebuild,
  { mayContinue, restart }: { readonly mayContinue: () => boolean; readonly restart: boolean },
): Promise<RebuildOutcome> {
  const walked = await walkTables(context, shard, 'rebuild', stepsOf(context, shard), begin, mayContinue, restart);
  const report = toReport(walked.report);
  if (walked.isDone) {
    logInfo(walked.report.replayedUntil === null ? 'shard_rebuilt' : 'shard_replayed', {
      shard,
      rows_restored: report.rows_restored,
      changes_replayed: report.changes_replayed,
      versions_recovered: report.versions_recovered,
    });
  }
  return { ok: true, report, isDone: walked.isDone };
}

function toReport(rebuild: Rebuild): RebuildReport {
  const {
    pages: _pages,
    epoch: _epoch,
    startedAt: _startedAt,
    replayedUntil: _until,
    check,
    lastEpoch,
    ...report
  } = rebuild;
  return {
    ...report,
    versions_incomplete: check.versions_incomplete,
    journal_until: lastEpoch > 0 ? new Date(lastEpoch).toISOString() : null,
  };
}

/**
 * Begins a replay with the database as it was put back, if the journal has everything since. If not, the newest snapshot is later
 * than the database, and a rebuild begins with it.
 */
async function beginReplay(context: EngineContext, shard: number): Promise<Partial<Rebuild> | null> {
  const epoch = await readEpoch(context, shard);
  if (epoch < (await findJournalStart(context, shard))) return null;
  await prepareReplay(context, shard);
  return { epoch, lastEpoch: epoch, startedAt: epoch };
}

function stepsOf(context: EngineContext, shard: number): Step[] {
  return [
    async (_, rebuild) => {
      const begun = rebuild.replayedUntil === null ? null : await beginReplay(context, shard);
      if (begun !== null) {
        Object.assign(rebuild, begun);
        return null;
      }
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
    overLocations(context, shard),
    async (_, rebuild) => ((await recoverNextObject(context, shard, rebuild)) ? {} : null),
    async (_, rebuild) => ((await recoverNextVolume(context, shard, rebuild)) ? {} : null),
    async () => {
      await forgetRemoved(context, shard);
      return null;
    },
    ...shardSteps(context, shard).map(
      (step): Step =>
        (after, rebuild) =>
          step(after, rebuild.check),
    ),
    overPages(context, shard, 'blob', dropUnreferenced),
    overPages(context, shard, 'reclaim', dropUnreferenced),
    async (_, rebuild) => {
      const above = await takeOverLocations(context, shard);
      const isReplayed = rebuild.replayedUntil !== null && rebuild.snapshot === null;
      await claimRebuilt(context, shard, Math.max(above, rebuild.lastEpoch), isReplayed);
      return null;
    },
    async () => ((await snapshotStep(context, shard, 1)) === null ? {} : null),
  ];
}

/** Walks the blobs of each location, then the early copies of each. The position counts the locations twice. */
const overLocations =
  (context: EngineContext, shard: number): Step =>
  async (after, rebuild) => {
    const position = Number(after?.location ?? 0);
    const count = context.locations.length;
    const at = { location: position % count, after: String(after?.key ?? '') };
    const since = rebuild.startedAt - COMMIT_MARGIN_MS;
    const last =
      position < count
        ? await findYoungBlobs(context, shard, at, since, rebuild)
        : await recoverEarlyCopies(context, shard, { ...at, since }, rebuild);
    if (last !== null) return { location: position, key: last };
    return position + 1 < 2 * count ? { location: position + 1, key: '' } : null;
  };

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
    const written = await readSnapshotPage(context, rebuild.snapshot, table, page);
    const rows = table === 'version' ? await recoverRows(context, shard, written) : written;
    rebuild.rows_restored += await restoreRows(context, shard, table, rows);
    return page + 1 < pages ? { page: page + 1 } : null;
  };

/** The step that replays one page of the journal. The list of pages is read once per request. */
function replayStep(context: EngineContext, shard: number): Step {
  let keys: readonly string[] | null = null;
  return async (after: Row | null, rebuild) => {
    keys ??= await listJournal(context, shard, rebuild.epoch - context.limits.graceMs * 2);
    const at = after === null ? 0 : keys.findIndex((key) => key > String(after.key));
    const key = keys[at];
    if (key === undefined) return null;
    const replayed = await replayJournalPage(context, shard, key, rebuild.epoch);
    rebuild.changes_replayed += replayed.changes;
    rebuild.lastEpoch = Math.max(rebuild.lastEpoch, replayed.epoch);
    return { key };
  };
}
