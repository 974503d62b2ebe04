/**
 * Compares what the databases say with itself and with R2, in both directions. Changes nothing unless told to; told to, it
 * removes what nobody names, repairs copies, and never removes a version.
 *
 * Gap: the checks inside a database are whole-table statements, which D1 ends after 30 s; a shard of several gigabytes
 * has to be checked by pages of names, which this does not do yet.
 */
import { BLOB_PREFIX, isBlobKey } from '../blobs/locations.ts';
import type { EngineContext } from '../engine/context.ts';
import { type BlobRow, findKnownBlobs, selectBlobsAfter } from '../store/blob-store.ts';
import { emptyScrubReport, scrubBlob } from './scrub.ts';

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

/** Objects that are: of versions and of parts. */
const KNOWN_OBJECT = `(EXISTS (SELECT 1 FROM known k WHERE k.object_id = t.object_id))`;
const WITH_KNOWN = `WITH known(object_id) AS MATERIALIZED (SELECT object_id FROM version UNION SELECT object_id FROM part)`;
const INCOMPLETE = `FROM version v LEFT JOIN bucket b ON b.n = v.bucket
  WHERE v.is_marker = 0 AND v.size <> COALESCE((SELECT sum(length) FROM extent e WHERE e.object_id = v.object_id), 0)
    + COALESCE((SELECT i.size FROM inline i WHERE i.object_id = v.object_id), 0)`;
const MISDIRECTED = `FROM version v WHERE v.live <> (v.is_marker = 0 AND v.ord =
  (SELECT x.ord FROM version x WHERE x.bucket = v.bucket AND x.name = v.name ORDER BY x.ord LIMIT 1))`;
const UNREFERENCED = `FROM blob l WHERE NOT EXISTS (SELECT 1 FROM extent e WHERE e.blob_id = l.blob_id)
  AND NOT EXISTS (SELECT 1 FROM reclaim r WHERE r.blob_id = l.blob_id)`;

/** Everything that can be seen inside one database. */
export async function checkShard(context: EngineContext, shard: number, report: FsckReport): Promise<void> {
  const database = context.shards[shard] as D1Database;
  const count = async (sql: string): Promise<number> => (await database.prepare(sql).first<number>('n')) ?? 0;
  report.versions_checked += await count('SELECT count(*) AS n FROM version');
  const incomplete = await database
    .prepare(
      `SELECT b.name AS bucket, CAST(v.name AS TEXT) AS name, count(*) OVER () AS n ${INCOMPLETE} LIMIT ${EXAMPLES_MAX}`,
    )
    .all<{ bucket: string; name: string; n: number }>();
  report.versions_incomplete += incomplete.results[0]?.n ?? 0;
  for (const row of incomplete.results) note(report, `incomplete: ${row.bucket}/${row.name}`);
  const misdirected = await count(`SELECT count(*) AS n ${MISDIRECTED}`);
  const dangling = await count(`${WITH_KNOWN} SELECT count(*) AS n FROM extent t WHERE NOT ${KNOWN_OBJECT}`);
  const inline = await count(`${WITH_KNOWN} SELECT count(*) AS n FROM inline t WHERE NOT ${KNOWN_OBJECT}`);
  const unreferenced = await count(`SELECT count(*) AS n ${UNREFERENCED}`);
  report.names_misdirected += misdirected;
  report.extents_dangling += dangling;
  report.inline_dangling += inline;
  report.blobs_unreferenced += unreferenced;
  report.extents_without_blob += await count(
    'SELECT count(*) AS n FROM extent e WHERE NOT EXISTS (SELECT 1 FROM blob l WHERE l.blob_id = e.blob_id)',
  );
  if (report.dry_run || misdirected + dangling + inline + unreferenced === 0) return;
  await database.batch([
    // First those that must not be current, else the index of current ones refuses.
    database.prepare(
      `UPDATE version SET live = 0 WHERE live = 1 AND (bucket, name, ord) IN (SELECT v.bucket, v.name, v.ord ${MISDIRECTED})`,
    ),
    database.prepare(
      `UPDATE version SET live = 1 WHERE live = 0 AND (bucket, name, ord) IN (SELECT v.bucket, v.name, v.ord ${MISDIRECTED})`,
    ),
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) ${WITH_KNOWN} SELECT blob_id, ?1 FROM extent t WHERE NOT ${KNOWN_OBJECT}
         ON CONFLICT(blob_id) DO NOTHING`,
      )
      .bind(context.now()),
    database.prepare(`${WITH_KNOWN} DELETE FROM extent AS t WHERE NOT ${KNOWN_OBJECT}`),
    database.prepare(`${WITH_KNOWN} DELETE FROM inline AS t WHERE NOT ${KNOWN_OBJECT}`),
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) SELECT l.blob_id, ?1 ${UNREFERENCED} ON CONFLICT(blob_id) DO NOTHING`,
      )
      .bind(context.now()),
  ]);
  report.repaired += misdirected + dangling + inline + unreferenced;
}

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
