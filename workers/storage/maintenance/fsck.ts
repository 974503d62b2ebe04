/**
 * Checks the databases for consistency, and against R2 in both directions. A dry run changes nothing. A repair removes
 * unreferenced records and repairs copies; it never removes a version.
 *
 * Each database is walked page by page. The shard stores the walk's progress, so a large database is checked over several requests.
 * Only if the sums show unreferenced extents, further statements read all object ids to find them. Counts are exact if nothing
 * changes during the check. A bucket in use may show differences that disappear again.
 */
import type { EngineContext } from '../engine/model/context.ts';
import {
  countDangling,
  FAULTS,
  findPage,
  type Page,
  repairBlobs,
  selectIncomplete,
  selectObjectIds,
  sumPage,
} from '../engine/store/check-store.ts';
import { findWrongQuotas } from '../engine/store/quota-store.ts';
import { listSetAside } from '../engine/store/small-store.ts';
import type { Table } from '../engine/store/table-rows.ts';
import { locationSteps } from './fsck-locations.ts';
import { addExample, addReport, emptyFsckReport, type FsckReport } from './fsck-report.ts';
import { type WalkStep, walkTables } from './table-walk.ts';

/** The report of the walk over one database, with the counts that later steps of the walk need. */
export interface ShardReport extends FsckReport {
  /** Number of all extents of the shard, and of those that a version or part refers to (`extents_named`). */
  extents: number;
  extents_named: number;
  objects: number;
}

export const emptyShardReport = (isDryRun: boolean): ShardReport => ({
  ...emptyFsckReport(isDryRun),
  extents: 0,
  extents_named: 0,
  objects: 0,
});

export function shardSteps(context: EngineContext, shard: number): WalkStep<ShardReport>[] {
  const pageOf = (table: Table, after: Page['after']) =>
    findPage(context, shard, table, after, context.limits.checkPageRows);
  const repair = async (report: FsckReport, found: number, work: () => Promise<void>) => {
    if (report.dry_run || found === 0) return;
    await work();
    report.repaired += found;
  };
  return [
    async (after, report) => {
      const page = await pageOf('version', after);
      const columns = `count(*) AS count, ${FAULTS.named} AS named, ${FAULTS.withoutBlob} AS without`;
      const { count = 0, named = 0, without = 0 } = await sumPage(context, shard, page, columns);
      const incomplete = await selectIncomplete(context, shard, page);
      report.versions_checked += count;
      report.objects += count;
      report.extents_named += named;
      report.versions_incomplete += incomplete.length;
      report.extents_without_blob += without;
      for (const row of incomplete) addExample(report, `incomplete: ${row.bucket}/${row.name}`);
      return page.end;
    },
    async (after, report) => {
      const page = await pageOf('part', after);
      const { count = 0, named = 0 } = await sumPage(
        context,
        shard,
        page,
        `count(*) AS count, ${FAULTS.named} AS named`,
      );
      report.objects += count;
      report.extents_named += named;
      return page.end;
    },
    async (after, report) => {
      const page = await pageOf('extent', after);
      const columns = `count(*) AS count, ${FAULTS.withoutBlob} AS without`;
      const { count = 0, without = 0 } = await sumPage(context, shard, page, columns);
      report.extents += count;
      report.extents_without_blob += without;
      return page.end;
    },
    async (_, report) => {
      // Each extent belongs to one object, so if both sums are equal, every extent is referenced.
      if (report.extents !== report.extents_named) await findDangling(context, shard, report);
      return null;
    },
    async (after, report) => {
      const page = await pageOf('blob', after);
      const { unreferenced = 0 } = await sumPage(context, shard, page, `${FAULTS.unreferenced} AS unreferenced`);
      report.blobs_unreferenced += unreferenced;
      await repair(report, unreferenced, () => repairBlobs(context, shard, page));
      return page.end;
    },
    async (after, report) => {
      const rows = await listSetAside(context, shard, Number(after?.id ?? 0), context.limits.checkPageRows);
      report.versions_damaged += rows.length;
      for (const { bucketName, nameHex } of rows) {
        addExample(report, `damaged: ${bucketName}/${Buffer.from(nameHex, 'hex')}`);
      }
      return rows.length < context.limits.checkPageRows ? null : { id: rows.at(-1)?.id ?? 0 };
    },
    async (_, report) => {
      const wrong = await findWrongQuotas(context, shard, !report.dry_run);
      report.quotas_wrong += wrong.length;
      if (!report.dry_run) report.repaired += wrong.length;
      for (const { kind, subject } of wrong) addExample(report, `quota of ${kind} ${subject}`);
      return null;
    },
  ];
}

/** Maximum number of object ids that are in memory at a time. */
const OBJECT_IDS_MAX = 200_000;

/**
 * Finds extents that no version or part refers to. There is no index from an object id to its version, so this reads all object
 * ids, one range at a time. Ids that were not found are then checked again, because the bucket may be in use.
 */
async function findDangling(context: EngineContext, shard: number, report: ShardReport): Promise<void> {
  const shares = Math.max(1, Math.ceil(report.objects / OBJECT_IDS_MAX));
  const bound = (share: number) =>
    share === shares
      ? 'G'
      : Math.floor((share * 2 ** 32) / shares)
          .toString(16)
          .toUpperCase()
          .padStart(8, '0');
  for (let share = 0; share < shares; share++) {
    const idsOf = async (table: Table, each: (id: string) => void) => {
      for (let after: Page['after'] = null; ; ) {
        const page = await findPage(context, shard, table, after, context.limits.checkPageRows);
        for (const id of await selectObjectIds(context, shard, page, bound(share), bound(share + 1))) each(id);
        if (page.end === null) return;
        after = page.end;
      }
    };
    const known = new Set<string>();
    const unknown = new Set<string>();
    await idsOf('version', (id) => known.add(id));
    await idsOf('part', (id) => known.add(id));
    await idsOf('extent', (id) => known.has(id) || unknown.add(id));
    const found = unknown.size === 0 ? 0 : await countDangling(context, shard, [...unknown], !report.dry_run);
    report.extents_dangling += found;
    if (!report.dry_run) report.repaired += found;
  }
}

/** Checks one database for some time. @returns whether the check is complete; if not, the next call continues it. */
export async function checkShard(
  context: EngineContext,
  shard: number,
  report: FsckReport,
  {
    mayContinue = () => true,
    restart = true,
  }: { readonly mayContinue?: () => boolean; readonly restart?: boolean } = {},
): Promise<boolean> {
  const empty = () => emptyShardReport(report.dry_run);
  const name = report.dry_run ? 'fsck' : 'fsck and repair';
  const walked = await walkTables(context, shard, name, shardSteps(context, shard), empty, mayContinue, restart);
  addReport(report, walked.report);
  return walked.isDone;
}

/** Checks every location against the databases in one run. */
export async function checkLocations(context: EngineContext, report: FsckReport): Promise<void> {
  for (const step of locationSteps<FsckReport>(context, (of) => of)) {
    for (let after = await step(null, report); after !== null; ) after = await step(after, report);
  }
}

interface StorageWalk {
  readonly total: FsckReport;
  shard: ShardReport;
}

/**
 * Checks every database, then every location. The first shard stores the progress.
 * @param restart discards an unfinished check.
 * @returns the findings so far, and whether the check is complete.
 */
export async function checkStorage(
  context: EngineContext,
  {
    isDryRun,
    mayContinue,
    restart,
  }: { readonly isDryRun: boolean; readonly mayContinue: () => boolean; readonly restart: boolean },
): Promise<{ readonly report: FsckReport; readonly isDone: boolean }> {
  const steps: WalkStep<StorageWalk>[] = context.shards.flatMap((_, shard) => [
    ...shardSteps(context, shard).map(
      (step): WalkStep<StorageWalk> =>
        (after, walk) =>
          step(after, walk.shard),
    ),
    async (_, walk) => {
      addReport(walk.total, walk.shard);
      walk.shard = emptyShardReport(isDryRun);
      return null;
    },
  ]);
  steps.push(...locationSteps<StorageWalk>(context, (walk) => walk.total));
  const empty = (): StorageWalk => ({ total: emptyFsckReport(isDryRun), shard: emptyShardReport(isDryRun) });
  const name = isDryRun ? 'fsck of all' : 'fsck of all and repair';
  const walked = await walkTables(context, 0, name, steps, empty, mayContinue, restart);
  addReport(walked.report.total, walked.report.shard);
  return { report: walked.report.total, isDone: walked.isDone };
}
