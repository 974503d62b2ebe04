/**
 * The leaves of the ordered index: chunks of entries, best first. 64 chunks share two typed arrays. A chunk is a number
 * instead of an object: objects for the chunks of a million players would let the engine's young heap grow by 8 MB.
 * Order everywhere: higher score, then earlier `reached`, then lower slot.
 *
 * The block of a chunk stores its number of entries. Pages are never freed; freed chunks are used again.
 */

/** Entries per chunk: one binary search of 8 steps, one `copyWithin` of at most 3 KB. */
export const CHUNK_ENTRIES_MAX = 256;
const PAGE_BITS = 6;
const PAGE_CHUNKS = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_CHUNKS - 1;

export class ChunkPages {
  readonly chunkMax: number;
  readonly #scores: Float64Array[] = [];
  readonly #slots: Uint32Array[] = [];
  readonly #free: number[] = [];
  #taken = 0;

  constructor(chunkMax: number) {
    this.chunkMax = chunkMax;
  }

  get byteLength(): number {
    return this.#scores.length * PAGE_CHUNKS * this.chunkMax * 12;
  }

  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#taken === this.#scores.length * PAGE_CHUNKS) {
      this.#scores.push(new Float64Array(PAGE_CHUNKS * this.chunkMax));
      this.#slots.push(new Uint32Array(PAGE_CHUNKS * this.chunkMax));
    }
    return this.#taken++;
  }

  giveBack(chunk: number): void {
    this.#free.push(chunk);
  }

  scoreAt(chunk: number, position: number): number {
    return this.#scoresOf(chunk)[this.#start(chunk) + position] as number;
  }

  slotAt(chunk: number, position: number): number {
    return this.#slotsOf(chunk)[this.#start(chunk) + position] as number;
  }

  /** Counts entries with a score above `score` among the first `count` of a chunk. */
  countAbove(chunk: number, count: number, score: number): number {
    const scores = this.#scoresOf(chunk);
    const start = this.#start(chunk);
    let low = start;
    let high = start + count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((scores[middle] as number) > score) low = middle + 1;
      else high = middle;
    }
    return low - start;
  }

  /** The position of a slot. Reading 1 KB in sequence is faster than the eight scattered reads of a binary search. */
  positionOf(chunk: number, count: number, slot: number): number {
    const start = this.#start(chunk);
    const position = this.#slotsOf(chunk).indexOf(slot, start) - start;
    if (position < 0 || position >= count) throw new Error(`the index lost slot ${slot}`);
    return position;
  }

  /** @param count the entries that the chunk holds before. */
  insertAt(chunk: number, count: number, position: number, score: number, slot: number): void {
    const scores = this.#scoresOf(chunk);
    const slots = this.#slotsOf(chunk);
    const start = this.#start(chunk);
    const at = start + position;
    if (position < count) {
      scores.copyWithin(at + 1, at, start + count);
      slots.copyWithin(at + 1, at, start + count);
    }
    scores[at] = score;
    slots[at] = slot;
  }

  /** @param count the entries that the chunk holds before. */
  removeAt(chunk: number, count: number, position: number): void {
    const start = this.#start(chunk);
    const at = start + position;
    this.#scoresOf(chunk).copyWithin(at, at + 1, start + count);
    this.#slotsOf(chunk).copyWithin(at, at + 1, start + count);
  }

  /** Copies entries to another place in this chunk or another. */
  copy(from: number, first: number, count: number, to: number, position: number): void {
    const start = this.#start(from) + first;
    const target = this.#start(to) + position;
    this.#scoresOf(to).set(this.#scoresOf(from).subarray(start, start + count), target);
    this.#slotsOf(to).set(this.#slotsOf(from).subarray(start, start + count), target);
  }

  #start(chunk: number): number {
    return (chunk & PAGE_MASK) * this.chunkMax;
  }

  #scoresOf(chunk: number): Float64Array {
    return this.#scores[chunk >>> PAGE_BITS] as Float64Array;
  }

  #slotsOf(chunk: number): Uint32Array {
    return this.#slots[chunk >>> PAGE_BITS] as Uint32Array;
  }
}
