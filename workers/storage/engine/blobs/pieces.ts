/** Plans which bytes of which blobs a read fetches and checks. */
import { at } from '../../../shared/pure/at.ts';
import { type BlobRange, SEGMENT_BYTES } from '../model/context.ts';
import type { Extent } from '../model/contract.ts';

/** A range of a blob that one CRC-32 covers, so it is always fetched and checked as a whole. */
export interface Unit {
  readonly blobStart: number;
  readonly length: number;
  readonly crc32: number;
}

/** The requested part of one extent: the units to fetch, the bytes to skip in the first unit, and the bytes to return. */
export interface Piece {
  readonly extent: Extent;
  readonly units: readonly Unit[];
  readonly skip: number;
  readonly take: number;
}

/** Plans the pieces that a read of a range needs. @param range inclusive positions in the object. */
export function planPieces(extents: readonly Extent[], range: { start: number; end: number }): Piece[] {
  const pieces: Piece[] = [];
  for (const extent of extents) {
    const from = Math.max(range.start, extent.start);
    const to = Math.min(range.end + 1, extent.start + extent.length);
    if (from >= to) continue;
    pieces.push(planPiece(extent, extent.blobStart + from - extent.start, to - from));
  }
  return pieces;
}

function planPiece(extent: Extent, blobFrom: number, take: number): Piece {
  if (extent.crc32 !== null) {
    const unit = { blobStart: extent.blobStart, length: extent.length, crc32: extent.crc32 };
    return { extent, units: [unit], skip: blobFrom - extent.blobStart, take };
  }
  const units: Unit[] = [];
  const first = Math.floor(blobFrom / SEGMENT_BYTES);
  for (let i = first; i * SEGMENT_BYTES < blobFrom + take; i++) {
    const blobStart = i * SEGMENT_BYTES;
    units.push({
      blobStart,
      length: Math.min(SEGMENT_BYTES, extent.blobSize - blobStart),
      crc32: Number.parseInt(extent.segments.slice(i * 8, i * 8 + 8), 16),
    });
  }
  return { extent, units, skip: blobFrom - first * SEGMENT_BYTES, take };
}

/** The range of the blob that the units of a piece cover. */
export const rangeOf = ({ extent, units }: Piece): BlobRange => {
  const [first, last] = [at(units, 0), at(units, units.length - 1)];
  return { blobId: extent.blobId, start: first.blobStart, length: last.blobStart + last.length - first.blobStart };
};

/** Restricts a piece to the bytes of the blob between two bounds, which must be bounds of units. */
export function cutPiece(piece: Piece, from: number, to: number): Piece {
  const units = piece.units.filter(({ blobStart }) => blobStart >= from && blobStart < to);
  const wantedFrom = at(piece.units, 0).blobStart + piece.skip;
  const { start, length } = rangeOf({ ...piece, units });
  const skip = Math.max(0, wantedFrom - start);
  return { ...piece, units, skip, take: Math.min(start + length, wantedFrom + piece.take) - start - skip };
}
