/**
 * Packs small objects from D1 into volumes, and compacts volumes that are mostly dead. Both write a new volume to every
 * location first. One batch then changes each object that is still as it was read. An object that was deleted or
 * replaced in the meantime leaves only dead space.
 */
import { at } from '../../shared/at.ts';
import { logError } from '../../shared/log.ts';
import { epochMsOf, fromVersionOrder } from '../domain/version-order.ts';
import type { VolumeEntry } from '../domain/volume.ts';
import { createFaultReport } from '../engine/actions/reading.ts';
import { fetchExtents, writeVolume } from '../engine/blobs/volumes.ts';
import { databaseOf, type EngineContext } from '../engine/model/context.ts';
import { selectBlobs } from '../engine/store/blob-store.ts';
import { runRepeatable } from '../engine/store/database.ts';
import {
  compactStatements,
  measureInline,
  packStatements,
  selectInline,
  selectVolumeExtents,
  type VolumeExtent,
} from '../engine/store/pack-store.ts';

const VOLUME_ENTRIES_MAX = 20_000;
const INLINE_PAGE = 500;

export interface PackReport {
  volumes: number;
  objects: number;
  bytes: number;
  /** Bytes of the volumes' indexes and footers. */
  overhead_bytes: number;
}

export const emptyPackReport = (): PackReport => ({ volumes: 0, objects: 0, bytes: 0, overhead_bytes: 0 });

/** Whether enough bytes or objects are waiting, or one has waited long enough. */
export async function isPackingDue(context: EngineContext, shard: number): Promise<boolean> {
  const { count, bytes, oldest } = await measureInline(context, shard, VOLUME_ENTRIES_MAX);
  if (count === 0) return false;
  const { packBytesMin, packAgeMaxMs } = context.limits;
  const ageMs = context.now() - epochMsOf(fromVersionOrder(oldest));
  return bytes >= packBytesMin || count >= VOLUME_ENTRIES_MAX || ageMs >= packAgeMaxMs;
}

/** Packs one volume. @returns false when no object was waiting. */
export async function packVolume(context: EngineContext, shard: number, report: PackReport): Promise<boolean> {
  const data: Uint8Array[] = [];
  const entries: VolumeEntry[] = [];
  const places: { readonly id: number; readonly objectId: string; readonly start: number }[] = [];
  let at = 0;
  let after = 0;
  const { volumeBytesMax } = context.limits;
  while (at < volumeBytesMax && entries.length < VOLUME_ENTRIES_MAX) {
    const rows = await selectInline(context, shard, after, INLINE_PAGE);
    for (const row of rows) {
      if (at + row.size > volumeBytesMax && entries.length > 0) {
        at = volumeBytesMax;
        break;
      }
      const bytes = Buffer.from(row.data, 'base64');
      data.push(bytes);
      entries.push({ objectId: row.objectId, start: at, length: row.size, crc32: row.crc32, version: row.version });
      places.push({ id: row.id, objectId: row.objectId, start: at });
      at += row.size;
    }
    if (rows.length < INLINE_PAGE) break;
    after = rows.at(-1)?.id ?? 0;
  }
  if (entries.length === 0) return false;
  const volume = await writeVolume(context, shard, data, entries);
  if (!volume.ok) throw new Error(volume.error.reason);
  const database = databaseOf(context, shard);
  // After a lost answer the batch is repeated. If the outcome stays unknown, the volume is either in use or an orphan,
  // and the orphan walk finds out.
  const packed = await runRepeatable(context, database, packStatements(database, volume.value, places, context.now()));
  if (!packed.ok) throw new Error(packed.error.reason);
  const bytes = entries.reduce((sum, entry) => sum + entry.length, 0);
  report.volumes++;
  report.objects += entries.length;
  report.bytes += bytes;
  report.overhead_bytes += volume.value.size - bytes;
  return true;
}

export interface CompactReport {
  volumes: number;
  live_bytes: number;
  freed_bytes: number;
}

/** Moves the live data of these volumes into new ones. The old volumes are reclaimed after the grace period. */
export async function compactVolumes(
  context: EngineContext,
  shard: number,
  blobIds: readonly string[],
  report: CompactReport,
): Promise<void> {
  let batch: VolumeBatch = newBatch();
  for (const blobId of blobIds) {
    const extents = await selectVolumeExtents(context, shard, blobId);
    const bytes = extents.reduce((sum, extent) => sum + extent.length, 0);
    if (batch.bytes > 0 && batch.bytes + bytes > context.limits.volumeBytesMax) {
      await writeCompacted(context, shard, batch);
      batch = newBatch();
    }
    if (await gatherVolume(context, shard, blobId, extents, batch)) {
      report.volumes++;
      report.live_bytes += bytes;
    }
  }
  report.freed_bytes += batch.oldBytes;
  if (batch.moves.length > 0) await writeCompacted(context, shard, batch);
}

interface VolumeBatch {
  readonly data: Uint8Array[];
  readonly entries: VolumeEntry[];
  readonly moves: { readonly from: VolumeExtent; readonly to: number }[];
  bytes: number;
  oldBytes: number;
}

const newBatch = (): VolumeBatch => ({ data: [], entries: [], moves: [], bytes: 0, oldBytes: 0 });

/** @returns false when the volume cannot be read. It then stays unchanged for the scrubber. */
async function gatherVolume(
  context: EngineContext,
  shard: number,
  blobId: string,
  extents: readonly VolumeExtent[],
  batch: VolumeBatch,
): Promise<boolean> {
  const [blob] = await selectBlobs(context, shard, [blobId]);
  if (!blob || extents.length === 0) return false;
  // Copies by reference share an extent of the volume.
  const places = [...new Map(extents.map((extent) => [`${extent.blobStart} ${extent.length}`, extent])).values()];
  const fetched = await fetchExtents(
    context,
    places.map((extent) => ({
      ...extent,
      blobSize: blob.size,
      segments: '',
      locations: blob.locations,
      isLost: false,
    })),
    createFaultReport(context, shard),
  );
  if (!fetched.ok) {
    logError('volume_compaction_skipped', fetched.error.kind, { blob_id: blobId });
    return false;
  }
  const placed = new Map<string, number>();
  for (const [i, extent] of places.entries()) {
    const bytes = at(fetched.value, i);
    placed.set(`${extent.blobStart} ${extent.length}`, batch.bytes);
    batch.data.push(bytes);
    batch.bytes += bytes.length;
  }
  for (const extent of extents) {
    const to = placed.get(`${extent.blobStart} ${extent.length}`) ?? 0;
    batch.moves.push({ from: extent, to });
    batch.entries.push({
      objectId: extent.objectId,
      ...(extent.start === 0 ? {} : { at: extent.start }),
      start: to,
      length: extent.length,
      crc32: extent.crc32,
      version: extent.version,
    });
  }
  batch.oldBytes += blob.size;
  return true;
}

async function writeCompacted(context: EngineContext, shard: number, batch: VolumeBatch): Promise<void> {
  const volume = await writeVolume(context, shard, batch.data, batch.entries);
  if (!volume.ok) throw new Error(volume.error.reason);
  const database = databaseOf(context, shard);
  const done = await runRepeatable(
    context,
    database,
    compactStatements(database, volume.value, batch.moves, context.now()),
  );
  if (!done.ok) throw new Error(done.error.reason);
}
