/**
 * Reclaims space: parts of ended or abandoned uploads, unreferenced blobs, and dead space in volumes. The shard's tables `upload`
 * and `reclaim` list what may be removed. `orphans.ts` handles R2 objects without any record.
 *
 * A blob is removed only after a grace period since it lost its last reference, so that earlier reads can finish. The transaction
 * that removes its record checks again that nothing refers to it. The record is removed before the R2 object. After a crash between
 * the two steps the object is an orphan, which the orphan collector finds.
 */
import { count } from '../domain/counting.ts';
import { removeBlobs } from '../engine/blobs/locations.ts';
import type { EngineContext } from '../engine/model/context.ts';
import {
  findKnownBlobs,
  forgetReclaim,
  type ReclaimRow,
  removeUnreferenced,
  selectReclaimable,
} from '../engine/store/blob-store.ts';
import {
  abortDueUpload,
  forgetUpload,
  postponeUpload,
  removeParts,
  selectDueUploads,
} from '../engine/store/upload-cleanup-store.ts';
import type { OrphanCounts } from './orphans.ts';
import { type CompactReport, compactVolumes } from './pack.ts';
import { findStorageDoubt } from './shard-trust.ts';

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
  objects_scanned: 0,
});

/** Aborts abandoned uploads, removes the parts of ended ones, and finally their rows. @returns false if no upload was due. */
export async function collectUploads(context: EngineContext, shard: number, report: CollectReport): Promise<boolean> {
  const uploads = await selectDueUploads(context, shard);
  for (const upload of uploads) {
    if (upload.state === 'open') {
      count(report, { uploads_abandoned: 1 });
      await abortDueUpload(context, shard, upload);
    } else if (upload.has_parts === 1) {
      const parts_removed = await removeParts(context, shard, upload.upload_id, PARTS_PAGE);
      count(report, { parts_removed });
    } else {
      const keepUntil = Number(upload.ended_at) + context.limits.endedUploadMs;
      if (context.now() >= keepUntil) await forgetUpload(context, shard, upload);
      else {
        count(report, { uploads_cleaned: 1 });
        await postponeUpload(context, shard, upload, keepUntil);
      }
    }
  }
  return uploads.length > 0;
}

/** Collects one page of blobs that lost a reference. @returns false if no blob has waited for the grace period. */
export async function collectBlobs(context: EngineContext, shard: number, report: CollectReport): Promise<boolean> {
  const before = context.now() - context.limits.graceMs;
  const rows = await selectReclaimable(context, shard, before, PAGE);
  if (rows.length === 0) return false;
  const isSparse = (row: ReclaimRow) =>
    row.kind === 'volume' && row.liveBytes > 0 && row.liveBytes < row.size * context.limits.volumeLiveShareMin;
  const unused = rows.filter((row) => row.kind !== null && row.liveBytes === 0);
  const sparse = rows.filter(isSparse);
  if (unused.length > 0) {
    const removed = await removeUnreferenced(
      context,
      shard,
      unused.map((row) => row.blobId),
      before,
    );
    await removeFromLocations(context, removed);
    count(report, { blobs_removed: removed.length });
    count(report, { bytes_removed: removed.reduce((sum, blob) => sum + blob.size, 0) });
  }
  if (sparse.length > 0) {
    const compacted: CompactReport = { volumes: 0, live_bytes: 0 };
    await compactVolumes(
      context,
      shard,
      sparse.map((row) => row.blobId),
      compacted,
    );
    count(report, { volumes_compacted: compacted.volumes });
    count(report, { compacted_live_bytes: compacted.live_bytes });
  }
  // Compaction listed the compacted volumes in `reclaim` again with a new time, so this removes only their old rows. Volumes that
  // could not be read are left to scrub.
  await forgetReclaim(
    context,
    shard,
    rows.filter((row) => row.kind === null || row.liveBytes > 0),
  );
  return true;
}

/**
 * Removes blobs from the locations. A shared blob is removed only if no other shard has a record of it. While any shard's database
 * is in doubt, shared blobs stay; without a record they are orphans, and the orphan collector waits until every shard is trusted.
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
