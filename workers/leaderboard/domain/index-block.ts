/** The middle level of the ordered index: a run of chunks with their counts and first keys beside each other. */
import type { IndexChunk } from './index-chunk.ts';

/** Chunks a block holds; its counts are summed one after the other for a rank. */
export const BLOCK_CHUNKS_MAX = 128;

export class IndexBlock {
  readonly chunks: IndexChunk[] = [];
  readonly counts: Int32Array;
  /** The score of each chunk's first entry. */
  readonly firstScores: Float64Array;
  /** When that entry reached it. */
  readonly firstReached: Float64Array;
  readonly firstSlots: Uint32Array;
  size = 0;

  constructor(capacity: number) {
    this.counts = new Int32Array(capacity);
    this.firstScores = new Float64Array(capacity);
    this.firstReached = new Float64Array(capacity);
    this.firstSlots = new Uint32Array(capacity);
  }

  /** The last chunk that begins at or before the key; the first one when none does. */
  findChunk(score: number, reached: number, slot: number): number {
    let low = 1;
    let high = this.chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.beginsAfter(middle, score, reached, slot)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  }

  /** Whether the first entry of a chunk stands after the key. */
  beginsAfter(chunk: number, score: number, reached: number, slot: number): boolean {
    const first = this.firstScores[chunk] as number;
    if (first !== score) return first < score;
    const since = this.firstReached[chunk] as number;
    return since !== reached ? since > reached : (this.firstSlots[chunk] as number) > slot;
  }

  countAbove(score: number): number {
    let low = 0;
    let high = this.chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.firstScores[middle] as number) > score) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return 0;
    return this.countBefore(low - 1) + (this.chunks[low - 1] as IndexChunk).countAbove(score);
  }

  /** Entries in the chunks before this one. */
  countBefore(chunk: number): number {
    const { counts } = this;
    let sum = 0;
    for (let i = 0; i < chunk; i++) sum += counts[i] as number;
    return sum;
  }

  /** Brings a chunk's count and first key up to date after it was changed. */
  refresh(chunk: number, reachedOf: (slot: number) => number): void {
    const { scores, slots, count } = this.chunks[chunk] as IndexChunk;
    this.counts[chunk] = count;
    this.firstScores[chunk] = scores[0] as number;
    this.firstSlots[chunk] = slots[0] as number;
    this.firstReached[chunk] = reachedOf(slots[0] as number);
  }

  insertChunk(position: number, chunk: IndexChunk): void {
    this.chunks.splice(position, 0, chunk);
    this.#shift(position + 1, position, this.chunks.length - 1);
  }

  removeChunk(position: number): void {
    this.chunks.splice(position, 1);
    this.#shift(position, position + 1, this.chunks.length + 1);
  }

  #shift(target: number, start: number, end: number): void {
    for (const column of [this.counts, this.firstScores, this.firstReached, this.firstSlots]) {
      column.copyWithin(target, start, end);
    }
  }

  /** Moves the chunks from `start` on to the end of another block. */
  giveChunksTo(other: IndexBlock, start: number): void {
    const at = other.chunks.length;
    const end = this.chunks.length;
    other.counts.set(this.counts.subarray(start, end), at);
    other.firstScores.set(this.firstScores.subarray(start, end), at);
    other.firstReached.set(this.firstReached.subarray(start, end), at);
    other.firstSlots.set(this.firstSlots.subarray(start, end), at);
    const moved = this.chunks.splice(start);
    for (const chunk of moved) {
      other.chunks.push(chunk);
      other.size += chunk.count;
      this.size -= chunk.count;
    }
  }

  get byteLength(): number {
    const columns = this.counts.byteLength + this.firstScores.byteLength * 2 + this.firstSlots.byteLength;
    return this.chunks.reduce((sum, chunk) => sum + chunk.scores.byteLength + chunk.slots.byteLength, columns);
  }
}
