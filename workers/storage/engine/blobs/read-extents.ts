/**
 * Reads an object's extents without ever returning a wrong byte. Every segment (or small extent) is fetched whole,
 * compared with its CRC-32, and only then passed on. If a location fails, hangs or returns wrong bytes, the read
 * continues at the same segment from the next location, and the fault is reported for repair. While one extent is read,
 * the next one is opened. Bytes that the cache of the data centre has are read from there first.
 */
import { crc32 } from 'node:zlib';
import { at } from '../../../shared/pure/at.ts';
import { isSuspected, noteOutcome } from '../../../shared/stores/quorum.ts';
import { type EngineContext, inTime, locationOf, SEGMENT_BYTES } from '../model/context.ts';
import { type ByteSource, createByteSource } from './byte-source.ts';
import { type Cached, divide, EntryCollector } from './edge-pieces.ts';
import { askLocation, toBlobKey } from './locations.ts';
import { type Piece, rangeOf } from './pieces.ts';

/**
 * Thrown if no location returned the bytes intact. If `isGone`, every location answered. Otherwise a location that did not answer
 * may still have them.
 */
export class ReadFailure extends Error {
  readonly isGone: boolean;
  readonly blobId: string;
  constructor(blobId: string, isGone: boolean) {
    super(isGone ? 'no location has a good copy' : 'a location does not answer');
    this.blobId = blobId;
    this.isGone = isGone;
  }
}

/** Called when a location has no intact copy of a blob. */
export type ReportFault = (blobId: string, location: number) => void;

/** Yields the checked bytes of the pieces, in order. @throws ReadFailure */
export async function* readPieces(
  context: EngineContext,
  pieces: readonly Piece[],
  report: ReportFault,
): AsyncGenerator<Uint8Array> {
  const readers = openPieces(context, pieces, report);
  let opened = await readers.next();
  let following: typeof opened | Promise<typeof opened> | null = null;
  try {
    while (!opened.done) {
      following = readers.next();
      yield* opened.value.read();
      opened = await following;
    }
  } finally {
    if (!opened.done) opened.value.close();
    const unread = await following;
    if (unread && !unread.done) unread.value.close();
  }
}

/**
 * Opens the pieces one after the other. A piece is divided into a part that is in the cache of the data centre and one that is not.
 */
async function* openPieces(
  context: EngineContext,
  pieces: readonly Piece[],
  report: ReportFault,
): AsyncGenerator<PieceReader, undefined> {
  for (const piece of pieces) {
    for await (const { piece: part, cached } of divide(context.edge, piece)) {
      const reader = new PieceReader(context, part, report, cached);
      reader.openAhead();
      yield reader;
    }
  }
}

class PieceReader {
  readonly #context: EngineContext;
  readonly #piece: Piece;
  readonly #report: ReportFault;
  /**
   * Locations in the order in which they are tried. A failed one goes to the end, because its other segments may be
   * intact.
   */
  readonly #order: number[];
  /** Number of locations that have failed for the present segment. They are at the end of `#order`. */
  #left = 0;
  #isEveryAnswerIn = true;
  #source: ByteSource | null = null;
  #opening: Promise<boolean> | null = null;
  #rest: Uint8Array = new Uint8Array(0);
  /** Bytes from the cache. They are read in place of those of a location, until a checksum shows that they are wrong. */
  #cached: Cached | null;
  readonly #collector: EntryCollector | null;

  constructor(context: EngineContext, piece: Piece, report: ReportFault, cached: Cached | null) {
    this.#context = context;
    this.#piece = piece;
    this.#report = report;
    this.#cached = cached;
    this.#collector = context.edge && !cached ? new EntryCollector(context.edge, piece) : null;
    // The order begins with the nearest location. Locations that the blob record does not list come last: they may have a copy that
    // arrived late. Within both groups, locations that did not answer lately come after the others.
    const doubtOf = (location: number) =>
      Number(!this.#isNamed(location)) * 2 + Number(isSuspected(locationOf(context, location)));
    this.#order = [...context.nearest].sort((a, b) => doubtOf(a) - doubtOf(b));
  }

  #isNamed(location: number): boolean {
    return ((this.#piece.extent.locations >> location) & 1) === 1;
  }

  /** Time to wait for a location. It is short while another location may have the bytes. */
  #timeoutMs(): number {
    const { lateLocationMs, locationTimeoutMs } = this.#context.limits;
    const isOther = this.#order.slice(1, this.#order.length - this.#left).some((location) => this.#isNamed(location));
    return isOther ? Math.min(lateLocationMs, locationTimeoutMs) : locationTimeoutMs;
  }

  openAhead(): void {
    if (this.#cached) this.#openCached(this.#cached);
    else this.#opening ??= this.#open(0);
  }

  #openCached({ body }: Cached): void {
    const { length } = rangeOf(this.#piece);
    this.#source = createByteSource(body, { atLeastBytes: Math.min(SEGMENT_BYTES, length), expectedBytes: length });
  }

  async *read(): AsyncGenerator<Uint8Array> {
    let { skip, take } = this.#piece;
    for (let i = 0; i < this.#piece.units.length && take > 0; i++) {
      const bytes = await this.#readUnit(i);
      this.#collector?.add(at(this.#piece.units, i), bytes);
      const wanted = bytes.subarray(skip, skip + take);
      skip = 0;
      take -= wanted.length;
      yield wanted;
    }
    this.close();
  }

  async #readUnit(index: number): Promise<Uint8Array> {
    const unit = at(this.#piece.units, index);
    if (this.#cached) {
      const bytes = await this.#fill(unit.length);
      if (bytes !== null && crc32(bytes) === unit.crc32) return bytes;
      this.#leaveCache(this.#cached);
    }
    for (this.#left = 0; this.#left < this.#order.length; this.#left++) {
      this.#opening ??= this.#open(index);
      if (await this.#opening) {
        const bytes = await this.#fill(unit.length);
        if (bytes !== null && crc32(bytes) === unit.crc32) return bytes;
      }
      this.#leaveLocation();
    }
    throw new ReadFailure(this.#piece.extent.blobId, this.#isEveryAnswerIn);
  }

  #leaveCache({ entry }: Cached): void {
    this.#context.edge?.remove(entry);
    this.close();
    this.#cached = null;
    this.#rest = new Uint8Array(0);
    this.#isEveryAnswerIn = true;
  }

  #leaveLocation(): void {
    const location = at(this.#order, 0);
    this.#order.push(...this.#order.splice(0, 1));
    this.#report(this.#piece.extent.blobId, location);
    this.close();
    this.#opening = null;
    this.#rest = new Uint8Array(0);
  }

  close(): void {
    this.#collector?.end(false);
    void this.#source?.cancel('left').catch(() => {});
    this.#source = null;
  }

  /** Opens the blob at the present location, from the given unit on. */
  async #open(index: number): Promise<boolean> {
    const location = this.#order[0];
    if (location === undefined) return false;
    const { units, extent } = this.#piece;
    const { blobStart: offset, length } = at(units, index);
    const last = at(units, units.length - 1);
    const bucket = locationOf(this.#context, location);
    const range = { offset, length: last.blobStart + last.length - offset };
    const ask = () => bucket.get(toBlobKey(extent.blobId), { range });
    const answer = await askLocation(this.#context, location, ask, this.#timeoutMs());
    if (!answer.ok && !/range|10039/i.test(answer.error.reason)) {
      this.#isEveryAnswerIn = false;
      noteOutcome(bucket, false);
    } else noteOutcome(bucket, true);
    if (!answer.ok || answer.value === null) return false;
    this.#source = createByteSource(answer.value.body, {
      atLeastBytes: Math.min(SEGMENT_BYTES, length),
      expectedBytes: last.blobStart + last.length - offset,
    });
    return true;
  }

  /**
   * Reads the next bytes from the present source.
   * @returns exactly `length` bytes, or null when the location does not return them.
   */
  async #fill(length: number): Promise<Uint8Array | null> {
    const chunks: Uint8Array[] = [];
    let have = 0;
    try {
      while (have < length) {
        const chunk = this.#rest.length > 0 ? this.#rest : await this.#readInTime();
        if (chunk === null) return null;
        const piece = chunk.subarray(0, length - have);
        this.#rest = chunk.subarray(piece.length);
        chunks.push(piece);
        have += piece.length;
      }
    } catch {
      this.#isEveryAnswerIn = false;
      return null;
    }
    return chunks.length === 1 ? at(chunks, 0) : Buffer.concat(chunks, length);
  }

  async #readInTime(): Promise<Uint8Array | null> {
    if (!this.#source) return null;
    const timeoutMs = this.#cached ? this.#context.limits.edgeTimeoutMs : this.#timeoutMs();
    const chunk = await inTime(this.#source.read(), timeoutMs, 'late' as const);
    if (chunk !== 'late') return chunk;
    this.#isEveryAnswerIn = false;
    if (!this.#cached) noteOutcome(locationOf(this.#context, at(this.#order, 0)), false);
    return null;
  }
}
