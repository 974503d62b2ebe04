/** The middle level of the ordered index: a run of chunks, with their counts and first keys in parallel arrays. */
import type { ChunkPages } from './chunk-pages.ts';
import type { SlotKeys } from './slot-keys.ts';

/** Chunks per block. A rank needs the sum of their counts. */
export const BLOCK_CHUNKS_MAX = 128;

export class IndexBlock {
  readonly #pages: ChunkPages;
  readonly #keys: SlotKeys;
  /** The chunks in list order. The first `length` places are used. */
  readonly chunks: Uint32Array;
  readonly counts: Int32Array;
  /** The score of each chunk's first entry. */
  readonly firstScores: Float64Array;
  /** When that entry reached its score. */
  readonly firstReached: Float64Array;
  readonly firstSlots: Uint32Array;
  length = 0;
  /** Entries in all its chunks. */
  size = 0;

  constructor(capacity: number, pages: ChunkPages, keys: SlotKeys) {
    this.#pages = pages;
    this.#keys = keys;
    this.chunks = new Uint32Array(capacity);
    this.counts = new Int32Array(capacity);
    this.firstScores = new Float64Array(capacity);
    this.firstReached = new Float64Array(capacity);
    this.firstSlots = new Uint32Array(capacity);
  }

  get byteLength(): number {
    return this.chunks.length * 28;
  }

  chunkAt(position: number): number {
    return this.chunks[position] as number;
  }

  /** Entries in one chunk; −1 outside the block. */
  countAt(position: number): number {
    return position < 0 || position >= this.length ? -1 : (this.counts[position] as number);
  }

  /** The last chunk that begins at or before the key; else the first chunk. */
  findChunk(score: number, reached: number, slot: number): number {
    let low = 1;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.beginsAfter(middle, score, reached, slot)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  /** Whether the first entry of a chunk is after the key. */
  beginsAfter(position: number, score: number, reached: number, slot: number): boolean {
    const first = this.firstScores[position] as number;
    if (first !== score) return first < score;
    const since = this.firstReached[position] as number;
    return since !== reached ? since > reached : (this.firstSlots[position] as number) > slot;
  }

  countAbove(score: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.firstScores[middle] as number) > score) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return 0;
    const last = low - 1;
    return this.countBefore(last) + this.#pages.countAbove(this.chunkAt(last), this.counts[last] as number, score);
  }

  /** Entries in the chunks before this one. */
  countBefore(position: number): number {
    const { counts } = this;
    let sum = 0;
    for (let i = 0; i < position; i++) sum += counts[i] as number;
    return sum;
  }

  /** Updates the count and the first key of a chunk after a change at its beginning. */
  refresh(position: number, count: number): void {
    const chunk = this.chunkAt(position);
    const first = this.#pages.slotAt(chunk, 0);
    this.counts[position] = count;
    this.firstScores[position] = this.#pages.scoreAt(chunk, 0);
    this.firstSlots[position] = first;
    this.firstReached[position] = this.#keys.reachedOf(first);
  }

  insertChunk(position: number, chunk: number): void {
    this.#shift(position + 1, position);
    this.chunks[position] = chunk;
    this.counts[position] = 0;
    this.length++;
  }

  removeChunk(position: number): void {
    this.#pages.giveBack(this.chunkAt(position));
    this.#shift(position, position + 1);
    this.length--;
  }

  #shift(target: number, start: number): void {
    for (const column of this.#columns) column.copyWithin(target, start, this.length);
  }

  /** Moves the chunks from `start` on to the end of another block. */
  giveChunksTo(other: IndexBlock, start: number): void {
    const into = other.#columns;
    for (const [i, column] of this.#columns.entries()) into[i]?.set(column.subarray(start, this.length), other.length);
    const moved = this.length - start;
    const entries = this.countBefore(this.length) - this.countBefore(start);
    other.length += moved;
    other.size += entries;
    this.length = start;
    this.size -= entries;
  }

  get #columns() {
    return [this.chunks, this.counts, this.firstScores, this.firstReached, this.firstSlots];
  }
}
