/**
 * The leaf of the ordered index: a fixed run of entries on typed arrays, best first.
 * Order everywhere: higher score, then earlier `reached`, then lower slot.
 */

/** Entries a chunk holds; one binary search of 9 steps, one `copyWithin` of at most 6 KB. */
export const CHUNK_ENTRIES_MAX = 256;

export class IndexChunk {
  readonly scores: Float64Array;
  readonly slots: Uint32Array;
  count = 0;

  constructor(capacity: number) {
    const bytes = new ArrayBuffer(capacity * 12);
    this.scores = new Float64Array(bytes, 0, capacity);
    this.slots = new Uint32Array(bytes, capacity * 8, capacity);
  }

  /** How many entries have a score above `score`. */
  countAbove(score: number): number {
    const { scores } = this;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((scores[middle] as number) > score) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insertAt(position: number, score: number, slot: number): void {
    const { scores, slots, count } = this;
    if (position < count) {
      scores.copyWithin(position + 1, position, count);
      slots.copyWithin(position + 1, position, count);
    }
    scores[position] = score;
    slots[position] = slot;
    this.count = count + 1;
  }

  removeAt(position: number): void {
    const { scores, slots, count } = this;
    scores.copyWithin(position, position + 1, count);
    slots.copyWithin(position, position + 1, count);
    this.count = count - 1;
  }

  /** Moves the last `moved` entries to the front of the following chunk. */
  giveTailTo(next: IndexChunk, moved: number): void {
    const from = this.count - moved;
    next.scores.copyWithin(moved, 0, next.count);
    next.slots.copyWithin(moved, 0, next.count);
    next.scores.set(this.scores.subarray(from, this.count));
    next.slots.set(this.slots.subarray(from, this.count));
    next.count += moved;
    this.count = from;
  }

  /** Moves the first `moved` entries to the end of the chunk before this one. */
  giveHeadTo(previous: IndexChunk, moved: number): void {
    previous.scores.set(this.scores.subarray(0, moved), previous.count);
    previous.slots.set(this.slots.subarray(0, moved), previous.count);
    previous.count += moved;
    this.scores.copyWithin(0, moved, this.count);
    this.slots.copyWithin(0, moved, this.count);
    this.count -= moved;
  }
}
