/**
 * Compares what the databases say with itself and with R2, in both directions. Changes nothing unless told to; told to, it
 * removes what nobody names, repairs copies, and never removes a version.
 *
 * Databases are walked a page at a time, and the walk is kept in the shard, so that a large one is checked over several
 * requests. Only when extents are too many is there a statement over a whole table, to find those that nothing names.
 * Counts are exact when nothing changes meanwhile; a bucket in use may show differences that are none a moment later.
 */
import { BLOB_PREFIX, isBlobKey } from '../blobs/locations.ts';
import type { EngineContext } from '../engine/context.ts';
import { type BlobRow, findKnownBlobs, selectBlobsAfter } from '../store/blob-store.ts';
import {
  FAULTS,
  findPage,
  judgeDangling,
  mendBlobs,
  mendInline,
  mendVersions,
  type Page,
  selectIncomplete,
  selectObjectIds,
  sumPage,
} from '../store/check-store.ts';
import type { Table } from '../store/table-rows.ts';
import { emptyScrubReport, scrubBlob } from './scrub.ts';
import { type WalkStep, walkTables } from './table-walk.ts';

export interface FsckReport {
  dry_run: boolean;
  versions_checked: number;
  blobs_checked: number;
  objects_checked: number;
  /** Versions whose data is not all there, by the databases alone. */
  versions_incomplete: number;
  /** Names whose current version is not the one marked so. */
  names_misdirected: number;
  extents_dangling: number;
  inline_dangling: number;
  extents_without_blob: number;
  blobs_unreferenced: number;
  copies_missing: number;
  copies_of_wrong_size: number;
  orphans: number;
  orphan_bytes: number;
  foreign_objects: number;
  repaired: number;
  examples: string[];
}

export const emptyFsckReport = (isDryRun: boolean): FsckReport => ({
  dry_run: isDryRun,
  versions_checked: 0,
  blobs_checked: 0,
  objects_checked: 0,
  versions_incomplete: 0,
  names_misdirected: 0,
  extents_dangling: 0,
  inline_dangling: 0,
  extents_without_blob: 0,
  blobs_unreferenced: 0,
  copies_missing: 0,
  copies_of_wrong_size: 0,
  orphans: 0,
  orphan_bytes: 0,
  foreign_objects: 0,
  repaired: 0,
  examples: [],
});

const EXAMPLES_MAX = 20;

function note(report: FsckReport, text: string): void {
  if (report.examples.length < EXAMPLES_MAX) report.examples.push(text);
}

/** What a walk over one database counts beside the report. */
interface ShardReport extends FsckReport {
  /** Extents there are, and those that versions and parts name. */
  extents: number;
  extents_named: number;
  objects: number;
}

function shardSteps(context: EngineContext, shard: number): WalkStep<ShardReport>[] {
  const pageOf = (table: Table, after: Page['after']) =>
    findPage(context, shard, table, after, context.limits.checkPageRows);
  const mend = async (report: FsckReport, found: number, work: () => Promise<void>) => {
    if (report.dry_run || found === 0) return;
    await work();
    report.repaired += found;
  };
  return [
    async (after, report) => {
      const page = await pageOf('version', after);
      const columns = `count(*) AS count, ${FAULTS.misdirected} AS misdirected, ${FAULTS.named} AS named`;
      const { count = 0, misdirected = 0, named = 0 } = await sumPage(context, shard, page, columns);
      const incomplete = await selectIncomplete(context, shard, page);
      report.versions_checked += count;
      report.objects += count;
      report.extents_named += named;
      report.versions_incomplete += incomplete.length;
      report.names_misdirected += misdirected;
      for (const row of incomplete) note(report, `incomplete: ${row.bucket}/${row.name}`);
      await mend(report, misdirected, () => mendVersions(context, shard, page));
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
      const page = await pageOf('inline', after);
      const { dangling = 0 } = await sumPage(context, shard, page, `${FAULTS.inlineDangling} AS dangling`);
      report.inline_dangling += dangling;
      await mend(report, dangling, () => mendInline(context, shard, page));
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
      // Each extent is of one object: when the sums agree, all are named.
      if (report.extents !== report.extents_named) await findDangling(context, shard, report);
      return null;
    },
    async (after, report) => {
      const page = await pageOf('blob', after);
      const { unreferenced = 0 } = await sumPage(context, shard, page, `${FAULTS.unreferenced} AS unreferenced`);
      report.blobs_unreferenced += unreferenced;
      await mend(report, unreferenced, () => mendBlobs(context, shard, page));
      return page.end;
    },
  ];
}

/** Object ids held in memory at a time. */
const OBJECT_IDS_MAX = 200_000;

/**
 * Extents that nothing names. No index leads from an object's id to its version, so all ids are read, a share of them at a
 * time; what is not among them (the bucket may be in use) is then asked for once more by itself.
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
    const found = unknown.size === 0 ? 0 : await judgeDangling(context, shard, [...unknown], !report.dry_run);
    report.extents_dangling += found;
    if (!report.dry_run) report.repaired += found;
  }
}

/** Everything that can be seen inside one database. @returns whether it came to the end, or has to be asked again. */
export async function checkShard(
  context: EngineContext,
  shard: number,
  report: FsckReport,
  { mayGoOn = () => true, restart = true }: { readonly mayGoOn?: () => boolean; readonly restart?: boolean } = {},
): Promise<boolean> {
  const empty = (): ShardReport => ({ ...emptyFsckReport(report.dry_run), extents: 0, extents_named: 0, objects: 0 });
  const name = report.dry_run ? 'fsck' : 'fsck and mend';
  const walked = await walkTables(context, shard, name, shardSteps(context, shard), empty, mayGoOn, restart);
  for (const key of COUNTS) report[key] += walked.report[key];
  for (const example of walked.report.examples) note(report, example);
  return walked.isDone;
}

const COUNTS = Object.entries(emptyFsckReport(true)).flatMap(([key, value]) =>
  typeof value === 'number' ? [key as Exclude<keyof FsckReport, 'dry_run' | 'examples'>] : [],
);

/** Every record against what R2 lists, and every R2 object against the records. */
export async function checkLocations(context: EngineContext, report: FsckReport): Promise<void> {
  for (let location = 0; location < context.locations.length; location++) {
    await checkLocation(context, location, report);
  }
}

async function checkLocation(context: EngineContext, location: number, report: FsckReport): Promise<void> {
  const bucket = context.locations[location] as R2Bucket;
  const sizes = new Map<string, number>();
  let after = '';
  for (;;) {
    const page = await bucket.list({
      prefix: BLOB_PREFIX,
      limit: 1000,
      ...(after === '' ? {} : { startAfter: after }),
    });
    report.objects_checked += page.objects.length;
    sizes.clear();
    for (const object of page.objects) sizes.set(object.key.slice(BLOB_PREFIX.length), object.size);
    const last = page.objects.at(-1)?.key;
    const isEnd = !page.truncated || last === undefined;
    await checkOrphans(context, bucket, page.objects, report);
    // Records between the last page and the end of this one must be among its keys.
    const from = after.slice(BLOB_PREFIX.length);
    const to = isEnd ? null : last.slice(BLOB_PREFIX.length);
    for (let shard = 0; shard < context.shards.length; shard++) {
      await checkRecords(context, shard, location, { from, to }, sizes, report);
    }
    if (isEnd) return;
    after = last;
  }
}

async function checkOrphans(
  context: EngineContext,
  bucket: R2Bucket,
  objects: readonly R2Object[],
  report: FsckReport,
): Promise<void> {
  report.foreign_objects += objects.filter((object) => !isBlobKey(object.key)).length;
  const old = objects.filter(
    (object) => isBlobKey(object.key) && context.now() - object.uploaded.getTime() >= context.limits.graceMs,
  );
  if (old.length === 0) return;
  const known = await findKnownBlobs(
    context,
    old.map((object) => object.key.slice(BLOB_PREFIX.length)),
  );
  const orphans = old.filter((object) => !known.has(object.key.slice(BLOB_PREFIX.length)));
  report.orphans += orphans.length;
  report.orphan_bytes += orphans.reduce((sum, object) => sum + object.size, 0);
  for (const orphan of orphans) note(report, `orphan: ${orphan.key}`);
  if (report.dry_run || orphans.length === 0) return;
  await bucket.delete(orphans.map((object) => object.key));
  report.repaired += orphans.length;
}

async function checkRecords(
  context: EngineContext,
  shard: number,
  location: number,
  range: { readonly from: string; readonly to: string | null },
  sizes: ReadonlyMap<string, number>,
  report: FsckReport,
): Promise<void> {
  let after = range.from;
  for (;;) {
    const page = await selectBlobsAfter(context, shard, after, 1000);
    for (const blob of page) {
      if (range.to !== null && blob.blobId > range.to) return;
      if (location === 0) report.blobs_checked++;
      await checkRecord(context, shard, location, blob, sizes.get(blob.blobId), report);
    }
    const last = page.at(-1);
    if (page.length < 1000 || !last) return;
    after = last.blobId;
  }
}

async function checkRecord(
  context: EngineContext,
  shard: number,
  location: number,
  blob: BlobRow,
  size: number | undefined,
  report: FsckReport,
): Promise<void> {
  const isNamed = ((blob.locations >> location) & 1) === 1;
  if (size === blob.size && isNamed) return;
  if (size === undefined) report.copies_missing++;
  else if (size !== blob.size) report.copies_of_wrong_size++;
  note(report, `${size === undefined ? 'missing' : 'wrong'} copy: ${blob.blobId} in location ${location}`);
  if (report.dry_run) return;
  const scrubbed = emptyScrubReport();
  await scrubBlob(context, shard, blob, scrubbed);
  report.repaired += scrubbed.repaired_copies;
}
