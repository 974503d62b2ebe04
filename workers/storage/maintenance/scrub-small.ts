/**
 * The part of the scrub that checks small objects: inline bytes, versions that are set aside, and objects packed into volumes. A
 * volume may match its own checksum although an object in it is damaged, if the bytes were damaged before they were packed.
 */

import { crc32 } from 'node:zlib';
import { logError } from '../../shared/telemetry/log.ts';
import { count } from '../domain/counting.ts';
import { findSmallBytes, isIntact, mendSmall, reportDamaged } from '../engine/actions/small-objects.ts';
import { planPieces } from '../engine/blobs/pieces.ts';
import { ReadFailure, readPieces } from '../engine/blobs/read-extents.ts';
import { toWholeExtent } from '../engine/blobs/volumes.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { BlobRow } from '../engine/store/blob-store.ts';
import { selectInlineAfter } from '../engine/store/check-store.ts';
import {
  findSmallById,
  listPlacesInVolume,
  listSetAside,
  listSmallAt,
  listVersionsOfPlace,
  restoreData,
  type SmallRow,
  type VolumePlace,
} from '../engine/store/small-store.ts';
import type { LostVersion, ScrubReport } from './scrub-report.ts';

const INLINE_PAGE = 500;
const SET_ASIDE_PAGE = 100;

const toLostVersion = (row: SmallRow): LostVersion => ({
  bucket: row.bucketName ?? '',
  name: Buffer.from(row.nameHex, 'hex').toString(),
  object_id: row.objectId,
});

/** Repairs a damaged version, or adds it to the report as lost. */
async function mend(context: EngineContext, shard: number, row: SmallRow, report: ScrubReport): Promise<void> {
  const found = await mendSmall(context, shard, row);
  if (found.kind === 'found') count(report, { repaired_objects: 1 });
  else report.lost_versions.push(toLostVersion(row));
}

/** Checks one page of inline data. @returns the row id after which to continue; null at the end. */
export async function scrubInline(
  context: EngineContext,
  shard: number,
  after: number,
  report: ScrubReport,
): Promise<number | null> {
  const rows = await selectInlineAfter(context, shard, after, INLINE_PAGE);
  for (const copy of rows) {
    count(report, { inline_objects: 1 });
    if (isIntact(copy)) continue;
    const row = await findSmallById(context, shard, copy.id);
    if (row === null || row.data === null || isIntact(row)) continue;
    count(report, { inline_damaged: 1 });
    await mend(context, shard, row, report);
  }
  return rows.length < INLINE_PAGE ? null : (rows.at(-1)?.id ?? null);
}

/** Searches again for the bytes of all versions that are set aside. Those that stay lost are reported by name. */
export async function scrubSetAside(context: EngineContext, shard: number, report: ScrubReport): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await listSetAside(context, shard, after, SET_ASIDE_PAGE);
    for (const row of rows) {
      if (row.blobHex === '') count(report, { inline_damaged: 1 });
      else count(report, { packed_damaged: 1 });
      await mend(context, shard, row, report);
    }
    after = rows.at(-1)?.id ?? 0;
    if (rows.length < SET_ASIDE_PAGE) return;
  }
}

/**
 * Checks the objects of a volume against their own CRC-32.
 * @param bytes an intact copy of the volume; null if there is none. Each object is then read from the location that has it intact.
 */
export async function scrubVolume(
  context: EngineContext,
  shard: number,
  { blob, bytes }: { readonly blob: BlobRow; readonly bytes: Uint8Array | null },
  report: ScrubReport,
): Promise<void> {
  for (const place of await listPlacesInVolume(context, shard, blob.blobId)) {
    count(report, { packed_objects: 1 });
    const isGood = bytes
      ? crc32(bytes.subarray(place.start, place.start + place.length)) === place.crc32
      : await canBeRead(context, blob, place);
    if (!isGood) await mendPlace(context, shard, { blob, place }, report);
  }
}

/** Whether a place can be read intact. True if a location does not answer, because it may have the bytes. */
async function canBeRead(context: EngineContext, blob: BlobRow, place: VolumePlace): Promise<boolean> {
  const { length } = place;
  const extent = { ...toWholeExtent(blob), blobStart: place.start, length, crc32: place.crc32 };
  try {
    for await (const _ of readPieces(context, planPieces([extent], { start: 0, end: length - 1 }), () => {}));
    return true;
  } catch (error) {
    if (!(error instanceof ReadFailure)) throw error;
    return !error.isGone;
  }
}

/**
 * Repairs all versions of a damaged place with the bytes that any of them has in a journal page or snapshot. Objects of several
 * parts that use the place stay damaged and are reported.
 */
async function mendPlace(
  context: EngineContext,
  shard: number,
  { blob, place }: { readonly blob: BlobRow; readonly place: VolumePlace },
  report: ScrubReport,
): Promise<void> {
  // Versions that are set aside were reported and searched for at the start of the cycle.
  const rows = (await listSmallAt(context, shard, blob.blobId, place.start)).filter(({ id }) => id > 0);
  let found: string | null = null;
  let isSure = true;
  for (const row of rows) {
    const recovery = await findSmallBytes(context, shard, row);
    if (recovery.kind === 'found') found = recovery.data;
    if (recovery.kind === 'unknown') isSure = false;
    if (found !== null) break;
  }
  for (const row of rows) {
    count(report, { packed_damaged: 1 });
    if (found !== null && isIntact({ ...row, data: found })) {
      await restoreData(context, shard, row, found);
      count(report, { repaired_objects: 1 });
    } else {
      report.lost_versions.push(toLostVersion(row));
      if (isSure) await reportDamaged(context, shard, row);
    }
  }
  for (const version of await listVersionsOfPlace(context, shard, blob.blobId, place)) {
    count(report, { packed_damaged: 1 });
    report.lost_versions.push(version);
    logError('packed_damaged', 'no intact copy of a part is left', { object_id: version.object_id, shard });
  }
}
