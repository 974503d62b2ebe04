/**
 * Gives space back: parts of uploads that are over or abandoned, blobs that lost their last reference, and dead space in
 * volumes. Each has a record of its own in the shard: `upload.state`, or `reclaim`. R2 objects without any record are the
 * business of `orphans.ts`.
 *
 * A blob goes only after a grace since it lost its last reference, so that reads that began before can finish; that
 * nothing refers to it is looked at again in the transaction that removes its record. The record goes first, then the R2
 * object: what a crash leaves between the two is an orphan, and the walk finds it.
 */
import { removeBlobs } from '../engine/blobs/locations.ts';
import type { EngineContext } from '../engine/model/context.ts';
import {
  findKnownBlobs,
  forgetReclaim,
  type ReclaimRow,
  removeUnused,
  selectReclaimable,
} from '../engine/store/blob-store.ts';
import type { Row } from '../engine/store/database.ts';
import { findStorageDoubt, type OrphanCounts } from './orphans.ts';
import { type CompactReport, compactVolumes } from './pack.ts';

const PAGE = 500;
const PARTS_PAGE = 1000;

export interface CollectReport extends OrphanCounts {
  uploads_abandoned: number;
  uploads_cleaned: number;
  parts_removed: number;
  blobs_removed: number;
  bytes_removed: number;
  volumes_compacted: number;
  compacted_live_bytes: number;
}

export const emptyCollectReport = (): CollectReport => ({
  uploads_abandoned: 0,
  uploads_cleaned: 0,
  parts_removed: 0,
  blobs_removed: 0,
  bytes_removed: 0,
  volumes_compacted: 0,
  compacted_live_bytes: 0,
  orphans_found: 0,
  orphans_removed: 0,
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
  const some = `SELECT part_number FROM part WHERE upload_id = ?1 ORDER BY part_number LIMIT ${PARTS_PAGE}`;
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

/**
 * A blob that another shard may know too goes only when none does. While the database of any shard is in doubt such blobs
 * stay: without a record they are orphans, whose rounds wait for every shard.
 */
async function removeFromLocations(
  context: EngineContext,
  removed: readonly { readonly blobId: string; readonly isShared: boolean }[],
): Promise<void> {
  const shared = removed.filter((blob) => blob.isShared).map((blob) => blob.blobId);
  const isInDoubt = shared.length > 0 && (await findStorageDoubt(context)) !== null;
  const known = isInDoubt
    ? new Set(shared)
    : shared.length > 0
      ? await findKnownBlobs(context, shared)
      : new Set<string>();
  await removeBlobs(
    context,
    removed.map((blob) => blob.blobId).filter((blobId) => !known.has(blobId)),
  );
}
