/**
 * Gives space back: parts of uploads that are over or abandoned, blobs that nothing names any more, dead space in volumes,
 * and R2 objects that no database knows.
 *
 * A blob goes only after a grace since it lost its last reference, so that reads that began before can finish; that
 * nothing refers to it is looked at again in the transaction that removes its record. The record goes first, then the R2
 * object: what a crash leaves between the two is an orphan, and the walk finds it.
 */
import { BLOB_PREFIX, isBlobKey, removeBlobs } from '../blobs/locations.ts';
import type { EngineContext } from '../engine/context.ts';
import {
  findKnownBlobs,
  forgetReclaim,
  type ReclaimRow,
  removeUnused,
  selectReclaimable,
} from '../store/blob-store.ts';
import type { Row } from '../store/database.ts';
import { readTask, writeTask } from './leases.ts';
import { type CompactReport, compactVolumes } from './pack.ts';

const PAGE = 500;
/** Orphans are looked for in pages of R2's own size. */
const WALK_PAGE = 1000;

export interface CollectReport {
  uploads_abandoned: number;
  uploads_cleaned: number;
  parts_removed: number;
  blobs_removed: number;
  bytes_removed: number;
  volumes_compacted: number;
  compacted_live_bytes: number;
  orphans_removed: number;
  orphan_bytes_removed: number;
  objects_walked: number;
}

export const emptyCollectReport = (): CollectReport => ({
  uploads_abandoned: 0,
  uploads_cleaned: 0,
  parts_removed: 0,
  blobs_removed: 0,
  bytes_removed: 0,
  volumes_compacted: 0,
  compacted_live_bytes: 0,
  orphans_removed: 0,
  orphan_bytes_removed: 0,
  objects_walked: 0,
});

/** Ends abandoned uploads, removes the parts of ended ones, and in the end their rows. @returns false when none was due. */
export async function collectUploads(context: EngineContext, shard: number, report: CollectReport): Promise<boolean> {
  const database = context.shards[shard] as D1Database;
  const now = context.now();
  const { results } = await database
    .prepare(
      `SELECT u.bucket, hex(u.name) AS name, u.upload_id, u.state, u.ended_at, EXISTS (SELECT 1 FROM part p WHERE p.upload_id = u.upload_id) AS has_parts
       FROM upload u WHERE u.due_at <= ?1 ORDER BY u.due_at LIMIT 20`,
    )
    .bind(now)
    .all<Row>();
  for (const row of results) {
    const which = 'bucket = ?1 AND name = unhex(?2) AND upload_id = ?3';
    const bound = [row.bucket, row.name, row.upload_id];
    if (row.state === 'open') {
      report.uploads_abandoned++;
      await database
        .prepare(
          `UPDATE upload SET state = 'aborted', ended_at = ?4, due_at = ?4 WHERE ${which} AND state = 'open' AND due_at <= ?4`,
        )
        .bind(...bound, now)
        .run();
    } else if (row.has_parts === 1) {
      report.parts_removed += await removeParts(context, database, String(row.upload_id));
    } else {
      const keepUntil = Number(row.ended_at) + context.limits.endedUploadMs;
      if (now >= keepUntil) {
        await database
          .prepare(`DELETE FROM upload WHERE ${which}`)
          .bind(...bound)
          .run();
      } else {
        report.uploads_cleaned++;
        await database
          .prepare(`UPDATE upload SET due_at = ?4 WHERE ${which}`)
          .bind(...bound, keepUntil)
          .run();
      }
    }
  }
  return results.length > 0;
}

/** A page of the parts of an ended upload. */
async function removeParts(context: EngineContext, database: D1Database, uploadId: string): Promise<number> {
  const some = `SELECT part_number FROM part WHERE upload_id = ?1 ORDER BY part_number LIMIT ${WALK_PAGE}`;
  const ids = `SELECT object_id FROM part WHERE upload_id = ?1 AND part_number IN (${some})`;
  const outcomes = await database.batch([
    database
      .prepare(
        `INSERT INTO reclaim(blob_id, since) SELECT blob_id, ?2 FROM extent WHERE object_id IN (${ids})
         ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
      )
      .bind(uploadId, context.now()),
    database.prepare(`DELETE FROM extent WHERE object_id IN (${ids})`).bind(uploadId),
    database.prepare(`DELETE FROM part WHERE upload_id = ?1 AND part_number IN (${some})`).bind(uploadId),
  ]);
  return outcomes[2]?.meta.changes ?? 0;
}

/** One page of what lost a reference. @returns false when nothing was old enough. */
export async function collectBlobs(context: EngineContext, shard: number, report: CollectReport): Promise<boolean> {
  const before = context.now() - context.limits.graceMs;
  const rows = await selectReclaimable(context, shard, before, PAGE);
  if (rows.length === 0) return false;
  const isSparse = (row: ReclaimRow) =>
    row.kind === 'volume' && row.liveBytes > 0 && row.liveBytes < row.size * context.limits.volumeLiveShareMin;
  const unused = rows.filter((row) => row.kind !== null && row.liveBytes === 0);
  const sparse = rows.filter(isSparse);
  if (unused.length > 0) {
    const removed = await removeUnused(
      context,
      shard,
      unused.map((row) => row.blobId),
      before,
    );
    await removeFromLocations(context, removed);
    report.blobs_removed += removed.length;
    report.bytes_removed += removed.reduce((sum, blob) => sum + blob.size, 0);
  }
  if (sparse.length > 0) {
    const compacted: CompactReport = { volumes: 0, live_bytes: 0, freed_bytes: 0 };
    await compactVolumes(
      context,
      shard,
      sparse.map((row) => row.blobId),
      compacted,
    );
    report.volumes_compacted += compacted.volumes;
    report.compacted_live_bytes += compacted.live_bytes;
  }
  // A compacted volume was noted anew, so its old note is not this one any more; one that could not be read waits for the scrubber.
  await forgetReclaim(
    context,
    shard,
    rows.filter((row) => row.kind === null || row.liveBytes > 0),
  );
  return true;
}

/** A blob that another shard may know too goes only when none does. */
async function removeFromLocations(
  context: EngineContext,
  removed: readonly { readonly blobId: string; readonly isShared: boolean }[],
): Promise<void> {
  const shared = removed.filter((blob) => blob.isShared).map((blob) => blob.blobId);
  const known = shared.length > 0 ? await findKnownBlobs(context, shared) : new Set<string>();
  await removeBlobs(
    context,
    removed.map((blob) => blob.blobId).filter((blobId) => !known.has(blobId)),
  );
}

interface WalkState {
  readonly location: number;
  readonly after: string;
}

/**
 * Looks at one page of R2 for objects that no shard knows. What is younger than the grace may belong to an upload that is
 * just being committed. @returns false when the walk over all locations came to its end.
 */
export async function walkOrphans(context: EngineContext, report: CollectReport): Promise<boolean> {
  const state = (await readTask<WalkState>(context, 0, 'orphan walk')) ?? { location: 0, after: '' };
  const bucket = context.locations[state.location];
  if (!bucket) {
    await writeTask(context, 0, 'orphan walk', { location: 0, after: '' });
    return false;
  }
  const page = await bucket.list({
    prefix: BLOB_PREFIX,
    limit: WALK_PAGE,
    ...(state.after === '' ? {} : { startAfter: state.after }),
  });
  report.objects_walked += page.objects.length;
  // Only keys that we could have written: anything else under the prefix is somebody's, and fsck tells of it.
  const old = page.objects.filter(
    (object) => isBlobKey(object.key) && context.now() - object.uploaded.getTime() >= context.limits.graceMs,
  );
  const known = await findKnownBlobs(
    context,
    old.map((object) => object.key.slice(BLOB_PREFIX.length)),
  );
  const orphans = old.filter((object) => !known.has(object.key.slice(BLOB_PREFIX.length)));
  if (orphans.length > 0) {
    await bucket.delete(orphans.map((object) => object.key));
    report.orphans_removed += orphans.length;
    report.orphan_bytes_removed += orphans.reduce((sum, object) => sum + object.size, 0);
  }
  const last = page.objects.at(-1);
  const isEnd = !page.truncated || !last;
  const next = isEnd ? { location: state.location + 1, after: '' } : { location: state.location, after: last.key };
  await writeTask(context, 0, 'orphan walk', next);
  return true;
}
