/** Writes volumes to the locations, and reads blobs and extents with verification of their checksums. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { VolumeBuilder } from '../../domain/volume.ts';
import type { EngineContext } from '../model/context.ts';
import type { Extent, Unavailable } from '../model/contract.ts';
import { BlobHasher } from './digests.ts';
import { type Copies, putCopies, removeBlobs } from './locations.ts';
import { planPieces } from './pieces.ts';
import { ReadFailure, type ReportFault, readPieces } from './read-extents.ts';

export interface WrittenVolume extends Copies {
  readonly blobId: string;
  readonly size: number;
  readonly sha256: string;
  readonly segments: string;
}

export async function writeVolume(
  context: EngineContext,
  shard: number,
  volume: VolumeBuilder,
): Promise<Result<WrittenVolume, Unavailable>> {
  const bytes = volume.build();
  const blobId = crypto.randomUUID();
  const hasher = new BlobHasher();
  hasher.update(bytes);
  const { md5, ...facts } = hasher.digest();
  const description = { kind: 'volume', shard: String(shard), entries: String(volume.entries.length) };
  const copies = await putCopies(context, blobId, bytes, () => md5, description);
  if (copies.ok) return ok({ blobId, ...facts, ...copies.value });
  await removeBlobs(context, [blobId]);
  return copies;
}

/** The facts of a blob record that are needed to read the whole blob. */
export interface BlobFacts {
  readonly blobId: string;
  readonly size: number;
  readonly segments: string;
  readonly locations: number;
}

export const toWholeExtent = (blob: BlobFacts): Extent => ({
  start: 0,
  length: blob.size,
  blobId: blob.blobId,
  blobStart: 0,
  blobSize: blob.size,
  crc32: null,
  segments: blob.segments,
  locations: blob.locations,
  isLost: false,
});

/** Reads a whole blob, checked, each segment from a location where it is intact. @throws ReadFailure */
export function readBlob(context: EngineContext, blob: BlobFacts, report: ReportFault): AsyncGenerator<Uint8Array> {
  return readPieces(context, planPieces([toWholeExtent(blob)], { start: 0, end: blob.size - 1 }), report);
}

export type FetchError = { readonly kind: 'data_lost' } | { readonly kind: 'unavailable' };

/** Appends extents of blobs to a volume, each checked against its own CRC. @returns the offset of each extent in the volume. */
export async function appendExtents(
  context: EngineContext,
  volume: VolumeBuilder,
  extents: readonly Extent[],
  report: ReportFault,
): Promise<Result<number[], FetchError>> {
  const { length } = volume;
  const starts: number[] = [];
  try {
    for (const extent of extents) {
      starts.push(volume.length);
      const pieces = planPieces([{ ...extent, start: 0 }], { start: 0, end: extent.length - 1 });
      for await (const chunk of readPieces(context, pieces, report)) volume.append(chunk);
    }
    return ok(starts);
  } catch (error) {
    volume.cutTo(length);
    if (!(error instanceof ReadFailure)) throw error;
    return err({ kind: error.isGone ? 'data_lost' : 'unavailable' });
  }
}
