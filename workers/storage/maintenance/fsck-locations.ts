/**
 * Compares every blob record with R2's listing, and every R2 object with the records, in the order of their ids. A step
 * compares one page of one location with the records of all shards in the same range of ids.
 */
import { BLOB_PREFIX, isBlobKey } from '../engine/blobs/locations.ts';
import { type EngineContext, locationOf } from '../engine/model/context.ts';
import { type BlobRow, findKnownBlobs, selectBlobsAfter } from '../engine/store/blob-store.ts';
import type { Row } from '../engine/store/database.ts';
import { addExample, type FsckReport } from './fsck-report.ts';
import { scrubBlob } from './scrub.ts';
import { emptyScrubReport } from './scrub-report.ts';
import type { WalkStep } from './table-walk.ts';

/** Maximum number of keys that an R2 listing returns per page. */
const PAGE_MAX = 1000;
/** Number of records per step of a repairing check. It is small, because a repair reads whole blobs. */
const PAGE_ROWS_TO_REPAIR = 50;

/** The steps of the walk, one kind per location. @param reportOf selects the report inside the state of the walk. */
export function locationSteps<W>(context: EngineContext, reportOf: (walk: W) => FsckReport): WalkStep<W>[] {
  return context.locations.map(
    (_, location): WalkStep<W> =>
      (after, walk) =>
        checkStretch(context, location, after, reportOf(walk)),
  );
}

/**
 * Checks the next range of ids in one location.
 * @param after end of the previous step. `key`: the last R2 key, without the prefix. `blob`: the id of the last record.
 */
async function checkStretch(
  context: EngineContext,
  location: number,
  after: Row | null,
  report: FsckReport,
): Promise<Row | null> {
  const bucket = locationOf(context, location);
  const pageMax = Math.min(PAGE_MAX, context.limits.checkPageRows);
  const page = await bucket.list({
    prefix: BLOB_PREFIX,
    limit: pageMax,
    ...(after === null ? {} : { startAfter: `${BLOB_PREFIX}${after.key}` }),
  });
  const limit = report.dry_run ? pageMax : PAGE_ROWS_TO_REPAIR;
  const last = String(after?.blob ?? '');
  const records = await Promise.all(context.shards.map((_, shard) => selectBlobsAfter(context, shard, last, limit)));
  // The step ends at the smallest id that the listing and the records of all shards have reached.
  const ends = records.flatMap((rows) => (rows.length === limit ? [rows.at(-1)?.blobId ?? ''] : []));
  const lastKey = page.objects.at(-1)?.key;
  if (page.truncated && lastKey !== undefined) ends.push(lastKey.slice(BLOB_PREFIX.length));
  const end = ends.sort()[0];
  const isWithin = (id: string) => end === undefined || id <= end;
  const objects = page.objects.filter((object) => isWithin(object.key.slice(BLOB_PREFIX.length)));
  report.objects_checked += objects.length;
  await reportOrphans(context, objects, report);
  const sizes = new Map(objects.map((object) => [object.key.slice(BLOB_PREFIX.length), object.size]));
  let blob = last;
  for (const [shard, rows] of records.entries()) {
    for (const row of rows.filter(({ blobId }) => isWithin(blobId))) {
      if (location === 0) report.blobs_checked++;
      await checkRecord(context, shard, location, row, sizes.get(row.blobId), report);
      if (row.blobId > blob) blob = row.blobId;
    }
  }
  return end === undefined ? null : { key: end, blob };
}

/** Counts R2 objects without a record in the report. Only `orphans.ts` deletes orphans. */
async function reportOrphans(context: EngineContext, objects: readonly R2Object[], report: FsckReport): Promise<void> {
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
  for (const orphan of orphans) addExample(report, `orphan: ${orphan.key}`);
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
  const isDue = ((blob.missing >> location) & 1) === 1;
  if (isDue && size === undefined) report.copies_due++;
  else if (isDue && size === blob.size) return;
  else if (size === undefined) report.copies_missing++;
  else if (size !== blob.size) report.copies_of_wrong_size++;
  addExample(
    report,
    `${size === undefined ? (isDue ? 'due' : 'missing') : 'wrong'} copy: ${blob.blobId} in location ${location}`,
  );
  if (report.dry_run) return;
  const scrubbed = emptyScrubReport();
  await scrubBlob(context, shard, blob, scrubbed);
  report.repaired += scrubbed.repaired_copies;
}
