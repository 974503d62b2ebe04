/** Reads pieces from the cache of the data centre, and stores in it the pieces that were read from a location. */
import type { BlobRange, EdgeBytes, EntryWriter } from '../model/context.ts';
import { entriesOf } from './edge-bytes.ts';
import { cutPiece, type Piece, rangeOf, type Unit } from './pieces.ts';

/** A cache entry that holds bytes of a piece, with the cached bytes. */
export interface Cached {
  readonly entry: BlobRange;
  readonly body: ReadableStream<Uint8Array>;
}

/**
 * Divides a piece by what the cache has. Yields the cached parts, each opened, up to the first part that is not cached, and then
 * the rest as one part. The parts are opened one after the other, because an opened answer occupies one of the six connections of
 * the request.
 */
export async function* divide(
  edge: EdgeBytes | null,
  piece: Piece,
): AsyncGenerator<{ readonly piece: Piece; readonly cached: Cached | null }, undefined> {
  const end = endOf(rangeOf(piece));
  for (const entry of edge ? entriesOf(piece.extent, rangeOf(piece)) : []) {
    const part = cutPiece(piece, entry.start, endOf(entry));
    const body = (await edge?.match(entry, rangeOf(part))) ?? null;
    if (body === null) {
      yield { piece: cutPiece(piece, entry.start, end), cached: null };
      return;
    }
    yield { piece: part, cached: { entry, body } };
    if (endOf(entry) >= end) return;
  }
  yield { piece, cached: null };
}

const endOf = ({ start, length }: BlobRange): number => start + length;

/**
 * Writes cache entries from the units of a piece, as these are checked. Only entries that the piece covers completely are written.
 */
export class EntryCollector {
  readonly #edge: EdgeBytes;
  readonly #whole: readonly BlobRange[];
  #entry: BlobRange | null = null;
  #writer: EntryWriter | null = null;

  constructor(edge: EdgeBytes, piece: Piece) {
    this.#edge = edge;
    const { start, length } = rangeOf(piece);
    this.#whole = entriesOf(piece.extent, { start, length }).filter(
      (entry) => entry.start >= start && endOf(entry) <= start + length,
    );
  }

  add(unit: Unit, bytes: Uint8Array): void {
    const begun = this.#whole.find((entry) => entry.start === unit.blobStart);
    if (begun) {
      this.#entry = begun;
      this.#writer = this.#edge.store(begun);
    }
    this.#writer?.write(bytes);
    if (this.#entry && unit.blobStart + unit.length === endOf(this.#entry)) this.end(true);
  }

  end(isWhole: boolean): void {
    this.#writer?.end(isWhole);
    this.#writer = null;
    this.#entry = null;
  }
}
