/**
 * Packs small objects from D1 into volumes, and compacts volumes that are mostly dead. Both write a new volume to every location
 * first. One batch then updates each object that has not changed since it was read. An object that was deleted or replaced in the
 * meantime leaves only dead space.
 */

import { logError } from '../../shared/telemetry/log.ts';
import { count } from '../domain/counting.ts';
import { epochMsOf, fromVersionOrder } from '../domain/version-order.ts';
import { VolumeBuilder } from '../domain/volume.ts';
import { createFaultReport } from '../engine/actions/reading.ts';
import { isIntact, mendSmall } from '../engine/actions/small-objects.ts';
import { removeEarlyCopies } from '../engine/blobs/early-copies.ts';
import { appendExtents, writeVolume } from '../engine/blobs/volumes.ts';
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
import { findSmallById } from '../engine/store/small-store.ts';

const VOLUME_ENTRIES_MAX = 20_000;
const PAGE_ROWS_MAX = 500;
/**
 * Maximum size in bytes of a page of inline data. D1 answers with text, so several representations of a page are in memory at once.
 */
const PAGE_BYTES = 1024 ** 2;

export interface PackReport {
  volumes: number;
  objects: number;
  bytes: number;
  /** Bytes that the indexes and footers of volumes take. */
  overhead_bytes: number;
}

export const emptyPackReport = (): PackReport => ({ volumes: 0, objects: 0, bytes: 0, overhead_bytes: 0 });

/** Whether a shard has enough waiting bytes or objects for a volume, or an object that has waited long enough. */
export async function isPackingDue(context: EngineContext, shard: number): Promise<boolean> {
  const { count, bytes, oldest } = await measureInline(context, shard, VOLUME_ENTRIES_MAX);
  if (count === 0) return false;
  const { packBytesMin, packAgeMaxMs } = context.limits;
  const ageMs = context.now() - epochMsOf(fromVersionOrder(oldest));
  return bytes >= packBytesMin || count >= VOLUME_ENTRIES_MAX || ageMs >= packAgeMaxMs;
}

/** Packs waiting objects into one volume. @returns false when no object was waiting. */
export async function packVolume(context: EngineContext, shard: number, report: PackReport): Promise<boolean> {
  const { volumeBytesMax } = context.limits;
  const builder = new VolumeBuilder(volumeBytesMax);
  const { entries } = builder;
  const places: { readonly id: number; readonly objectId: string; readonly start: number }[] = [];
  let pageRows = Math.ceil(PAGE_BYTES / context.limits.inlineBytesMax);
  for (let after = 0, isFull = false; !isFull && entries.length < VOLUME_ENTRIES_MAX; ) {
    const before = builder.length;
    const rows = await selectInline(context, shard, after, pageRows);
    for (const row of rows) {
      const { id, objectId, size, crc32, version } = row;
      isFull = builder.length + size > volumeBytesMax && entries.length > 0;
      if (isFull) break;
      const data = isIntact(row) ? row.data : await mendInline(context, shard, id);
      if (data === null) continue;
      const start = builder.append(Buffer.from(data, 'base64'));
      entries.push({ objectId, start, length: size, crc32, version });
      places.push({ id, objectId, start });
    }
    if (rows.length < pageRows) break;
    after = rows.at(-1)?.id ?? 0;
    const meanBytes = (builder.length - before) / rows.length;
    pageRows = Math.min(PAGE_ROWS_MAX, Math.ceil(PAGE_BYTES / Math.max(meanBytes, 1)));
  }
  if (entries.length === 0) return false;
  const volume = await writeVolume(context, shard, builder);
  if (!volume.ok) throw new Error(volume.error.reason);
  const database = databaseOf(context, shard);
  // After a lost answer the batch is repeated. If the outcome stays unknown, the volume is either in use or an orphan, which the
  // orphan collector finds out later.
  const packed = await runRepeatable(context, database, packStatements(database, volume.value, places, context.now()));
  if (!packed.ok) throw new Error(packed.error.reason);
  // A quorum of the locations has reported size and MD5 of the volume.
  if (context.hasEarlyCopies)
    await removeEarlyCopies(
      context,
      entries.map(({ version }) => String(version?.ord)),
    );
  const bytes = entries.reduce((sum, entry) => sum + entry.length, 0);
  count(report, { volumes: 1 });
  count(report, { objects: entries.length });
  count(report, { bytes: bytes });
  count(report, { overhead_bytes: volume.value.size - bytes });
  return true;
}

/**
 * Repairs inline bytes that do not match their CRC-32. A volume never takes damaged bytes, because its own checksums would then
 * match them.
 * @returns the intact bytes; null if the version stays inline, or was removed meanwhile.
 */
async function mendInline(context: EngineContext, shard: number, id: number): Promise<string | null> {
  const row = await findSmallById(context, shard, id);
  if (row === null || row.data === null) return null;
  if (isIntact(row)) return row.data;
  const found = await mendSmall(context, shard, row);
  return found.kind === 'found' ? found.data : null;
}

export interface CompactReport {
  volumes: number;
  live_bytes: number;
}

/** Moves the live data of sparse volumes into new ones. The old volumes are reclaimed after the grace period. */
export async function compactVolumes(
  context: EngineContext,
  shard: number,
  blobIds: readonly string[],
  report: CompactReport,
): Promise<void> {
  const { volumeBytesMax } = context.limits;
  let batch = newBatch(volumeBytesMax);
  for (const blobId of blobIds) {
    const extents = await selectVolumeExtents(context, shard, blobId);
    const bytes = extents.reduce((sum, extent) => sum + extent.length, 0);
    if (batch.volume.length > 0 && batch.volume.length + bytes > volumeBytesMax) {
      await writeCompacted(context, shard, batch);
      batch = newBatch(volumeBytesMax);
    }
    if (await gatherVolume(context, shard, blobId, extents, batch)) {
      count(report, { volumes: 1 });
      count(report, { live_bytes: bytes });
    }
  }
  if (batch.moves.length > 0) await writeCompacted(context, shard, batch);
}

interface VolumeBatch {
  readonly volume: VolumeBuilder;
  readonly moves: { readonly from: VolumeExtent; readonly to: number }[];
}

const newBatch = (bytesMax: number): VolumeBatch => ({ volume: new VolumeBuilder(bytesMax), moves: [] });

/**
 * Appends the live data of a volume to a new one.
 * @returns false if the volume cannot be read. It is then left unchanged for scrub.
 */
async function gatherVolume(
  context: EngineContext,
  shard: number,
  blobId: string,
  extents: readonly VolumeExtent[],
  batch: VolumeBatch,
): Promise<boolean> {
  const [blob] = await selectBlobs(context, shard, [blobId]);
  if (!blob || extents.length === 0) return false;
  // Several objects may refer to the same extent of the volume, because copies are made by reference. Each extent is appended once.
  const places = [...new Map(extents.map((extent) => [`${extent.blobStart} ${extent.length}`, extent])).values()];
  const appended = await appendExtents(
    context,
    batch.volume,
    places.map((extent) => ({
      ...extent,
      blobSize: blob.size,
      segments: '',
      locations: blob.locations,
      isLost: false,
    })),
    createFaultReport(context, shard),
  );
  if (!appended.ok) {
    logError('volume_compaction_skipped', appended.error.kind, { blob_id: blobId });
    return false;
  }
  const placed = new Map(places.map((extent, i) => [`${extent.blobStart} ${extent.length}`, appended.value[i]]));
  for (const extent of extents) {
    const to = placed.get(`${extent.blobStart} ${extent.length}`) ?? 0;
    batch.moves.push({ from: extent, to });
    batch.volume.entries.push({
      objectId: extent.objectId,
      ...(extent.start === 0 ? {} : { at: extent.start }),
      start: to,
      length: extent.length,
      crc32: extent.crc32,
      version: extent.version,
    });
  }
  return true;
}

async function writeCompacted(context: EngineContext, shard: number, batch: VolumeBatch): Promise<void> {
  const volume = await writeVolume(context, shard, batch.volume);
  if (!volume.ok) throw new Error(volume.error.reason);
  const database = databaseOf(context, shard);
  const done = await runRepeatable(
    context,
    database,
    compactStatements(database, volume.value, batch.moves, context.now()),
  );
  if (!done.ok) throw new Error(done.error.reason);
}
