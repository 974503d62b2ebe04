/** Cuts a range out of an object's extents for another object that refers to the same bytes. */
import { ok, type Result } from '../../../shared/pure/result.ts';
import type { EngineContext } from '../model/context.ts';
import type { ByteRange, ReadError, StoredVersion } from '../model/contract.ts';
import { type ExtentPlace, FIRST_EXTENTS, listPlaces } from '../store/read-store.ts';

/**
 * Collects the extents of a range of an object.
 * @returns extents that begin at 0; null if there are more than `max`, or if the range would cut an extent that has its own
 * checksum.
 */
export async function collectExtents(
  context: EngineContext,
  source: StoredVersion,
  range: ByteRange,
  max: number,
): Promise<Result<ExtentPlace[] | null, ReadError>> {
  const { shard, extents } = source.handle;
  const isAll = extents.length < FIRST_EXTENTS;
  const page = isAll ? ok(extents) : await listPlaces(context, shard, source.objectId, range, max + 1);
  if (!page.ok) return page;
  const cuts: ExtentPlace[] = [];
  for (const extent of page.value) {
    const from = Math.max(extent.start, range.start);
    const to = Math.min(extent.start + extent.length, range.end + 1);
    if (from >= to) continue;
    const isCut = to - from !== extent.length;
    // A packed object's checksum covers all of it, and its segments also contain other objects.
    if (isCut && extent.crc32 !== null) return ok(null);
    cuts.push({
      start: from - range.start,
      length: to - from,
      blobId: extent.blobId,
      blobStart: extent.blobStart + from - extent.start,
      crc32: extent.crc32,
    });
  }
  const covered = cuts.reduce((sum, cut) => sum + cut.length, 0);
  return ok(cuts.length <= max && covered === range.end - range.start + 1 ? cuts : null);
}
