/** Writes a volume to the locations, and fetches blobs whole and checked. */
import { err, ok, type Result } from '../../../shared/result.ts';
import { buildVolume, type VolumeEntry } from '../../domain/volume.ts';
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
  data: readonly Uint8Array[],
  entries: readonly VolumeEntry[],
): Promise<Result<WrittenVolume, Unavailable>> {
  const bytes = buildVolume(data, entries);
  const blobId = crypto.randomUUID();
  const hasher = new BlobHasher();
  hasher.update(bytes);
  const { md5, ...facts } = hasher.digest();
  const description = { kind: 'volume', shard: String(shard), entries: String(entries.length) };
  const copies = await putCopies(context, blobId, bytes, () => md5, description);
  if (copies.ok) return ok({ blobId, ...facts, ...copies.value });
  await removeBlobs(context, [blobId]);
  return copies;
}

/** The facts of a blob record that are needed to read all of it. */
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

/** Checked bytes of a whole blob, each segment from a location where it is intact. @throws ReadFailure */
export function readBlob(context: EngineContext, blob: BlobFacts, report: ReportFault): AsyncGenerator<Uint8Array> {
  return readPieces(context, planPieces([toWholeExtent(blob)], { start: 0, end: blob.size - 1 }), report);
}

export type FetchError = { readonly kind: 'data_lost' } | { readonly kind: 'unavailable' };

/** Fetches some extents of blobs in the order given, each checked against its own CRC. */
export async function fetchExtents(
  context: EngineContext,
  extents: readonly Extent[],
  report: ReportFault,
): Promise<Result<Uint8Array[], FetchError>> {
  const fetched: Uint8Array[] = [];
  try {
    for (const extent of extents) {
      const chunks: Uint8Array[] = [];
      const pieces = planPieces([{ ...extent, start: 0 }], { start: 0, end: extent.length - 1 });
      for await (const chunk of readPieces(context, pieces, report)) chunks.push(chunk);
      fetched.push(Buffer.concat(chunks));
    }
    return ok(fetched);
  } catch (error) {
    if (!(error instanceof ReadFailure)) throw error;
    return err({ kind: error.isGone ? 'data_lost' : 'unavailable' });
  }
}
