/**
 * The ordered index of one shard: every listed player by `(score descending, reached ascending, slot ascending)`, with
 * counts. A rank, the n-th entry and the position of a key take O(log n) steps.
 *
 * Three fixed levels on typed arrays: blocks of at most 128 chunks of at most 256 entries. An entry costs 12 bytes in
 * its chunk and 16 bytes for its slot. Chunks stay about 80% full because neighbors share entries before one splits.
 * Players are slots, small integers that the caller assigns; user ids stay in SQL.
 *
 * By design: counts are doubles, so scores and times are integers up to 2^53 − 1. Two entries never share a slot.
 */
import { CHUNK_ENTRIES_MAX, ChunkPages } from './chunk-pages.ts';
import { BLOCK_CHUNKS_MAX, IndexBlock } from './index-block.ts';
import { ABSENT, SlotKeys } from './slot-keys.ts';

export class OrderedIndex {
  readonly #keys = new SlotKeys();
  readonly #pages: ChunkPages;
  readonly #chunkMax: number;
  readonly #blockMax: number;
  readonly #blocks: IndexBlock[] = [];
  #size = 0;
  // Result of the last #locate(). Fields, because an object per search would be the largest cost of a move.
  #block = 0;
  #chunk = 0;
  #position = 0;

  /** @param limits for tests: small limits exercise every split and merge. */
  constructor(limits: { chunkEntries?: number; blockChunks?: number } = {}) {
    this.#chunkMax = limits.chunkEntries ?? CHUNK_ENTRIES_MAX;
    this.#pages = new ChunkPages(this.#chunkMax);
    this.#blockMax = limits.blockChunks ?? BLOCK_CHUNKS_MAX;
  }

  /** How many players are listed. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of the typed arrays. The overhead of the engine is negligible. */
  get byteLength(): number {
    const blocks = this.#blocks.reduce((sum, block) => sum + block.byteLength, 0);
    return blocks + this.#pages.byteLength + this.#keys.byteLength;
  }

  has(slot: number): boolean {
    return this.#keys.scoreOf(slot) !== ABSENT;
  }

  /** @returns the slot's score, or −1 if it is not listed. */
  scoreOf(slot: number): number {
    return this.#keys.scoreOf(slot);
  }

  reachedOf(slot: number): number {
    return this.#keys.reachedOf(slot);
  }

  /** Adds a player, or moves a listed one. */
  set(slot: number, score: number, reached: number): void {
    if (this.#keys.scoreOf(slot) !== ABSENT) this.#unlink(slot);
    this.#keys.set(slot, score, reached);
    this.#link(slot, score, reached);
  }

  /** @returns whether the slot was listed. */
  remove(slot: number): boolean {
    if (this.#keys.scoreOf(slot) === ABSENT) return false;
    this.#unlink(slot);
    this.#keys.set(slot, ABSENT, 0);
    return true;
  }

  /** Counts players with a score above `score`. A player's standard competition rank is one more. */
  countAbove(score: number): number {
    const blocks = this.#blocks;
    let low = 0;
    let high = blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((blocks[middle] as IndexBlock).firstScores[0] as number) > score) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return 0;
    let sum = (blocks[low - 1] as IndexBlock).countAbove(score);
    for (let i = 0; i < low - 1; i++) sum += (blocks[i] as IndexBlock).size;
    return sum;
  }

  /** Counts entries before the key `(score, reached)` in list order. */
  countBefore(score: number, reached: number): number {
    if (this.#size === 0) return 0;
    this.#locate(score, reached, -1);
    let sum = this.#position + (this.#blocks[this.#block] as IndexBlock).countBefore(this.#chunk);
    for (let i = 0; i < this.#block; i++) sum += (this.#blocks[i] as IndexBlock).size;
    return sum;
  }

  /** @returns up to `limit` slots in list order from the 0-based position `start`. */
  range(start: number, limit: number): number[] {
    const slots: number[] = [];
    let skip = Math.max(0, start);
    for (const block of this.#blocks) {
      if (skip >= block.size) {
        skip -= block.size;
        continue;
      }
      for (let at = 0; at < block.length; at++) {
        const count = block.countAt(at);
        if (skip >= count) {
          skip -= count;
          continue;
        }
        for (let i = skip; i < count; i++) {
          if (slots.length >= limit) return slots;
          slots.push(this.#pages.slotAt(block.chunkAt(at), i));
        }
        skip = 0;
      }
    }
    return slots;
  }

  /** Every score that players have, best first, with its number of players. */
  *scoreCounts(): Generator<[score: number, count: number]> {
    let score = ABSENT;
    let count = 0;
    for (const block of this.#blocks) {
      for (let at = 0; at < block.length; at++) {
        for (let i = 0; i < block.countAt(at); i++) {
          const next = this.#pages.scoreAt(block.chunkAt(at), i);
          if (next !== score) {
            if (count > 0) yield [score, count];
            score = next;
            count = 0;
          }
          count++;
        }
      }
    }
    if (count > 0) yield [score, count];
  }

  /**
   * Fills an empty index.
   * @param order the row numbers in list order; absent if the columns are in list order.
   */
  load(slots: ArrayLike<number>, scores: ArrayLike<number>, reached: ArrayLike<number>, order?: Uint32Array): void {
    if (this.#size > 0) throw new Error('an index is loaded once, while it is empty');
    const perChunk = Math.max(1, Math.floor(this.#chunkMax * 0.875));
    const perBlock = Math.max(1, Math.floor(this.#blockMax * 0.875));
    let block = this.#addBlock(0);
    let count = 0;
    const total = order?.length ?? slots.length;
    for (let i = 0; i < total; i++) {
      const row = order === undefined ? i : (order[i] as number);
      const slot = slots[row] as number;
      const score = scores[row] as number;
      this.#keys.set(slot, score, reached[row] as number);
      if (count === perChunk) {
        if (block.length === perBlock) block = this.#addBlock(this.#blocks.length);
        else block.insertChunk(block.length, this.#pages.take());
        count = 0;
      }
      const at = block.length - 1;
      this.#pages.insertAt(block.chunkAt(at), count, count, score, slot);
      if (count++ === 0) block.refresh(at, 1);
      block.counts[at] = count;
      block.size++;
    }
    this.#size = total;
  }

  /** A block with one chunk, empty until the caller fills it. */
  #addBlock(at: number): IndexBlock {
    const block = new IndexBlock(this.#blockMax, this.#pages, this.#keys);
    block.insertChunk(0, this.#pages.take());
    this.#blocks.splice(at, 0, block);
    return block;
  }

  /** Finds the chunk where the key is or belongs. Needs at least one block. */
  #locateChunk(score: number, reached: number, slot: number): IndexBlock {
    const blocks = this.#blocks;
    let low = 1;
    let high = blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((blocks[middle] as IndexBlock).beginsAfter(0, score, reached, slot)) high = middle;
      else low = middle + 1;
    }
    this.#block = low - 1;
    const block = blocks[low - 1] as IndexBlock;
    this.#chunk = block.findChunk(score, reached, slot);
    return block;
  }

  /** Finds the first entry that is not before the key. */
  #locate(score: number, reached: number, slot: number): IndexBlock {
    const block = this.#locateChunk(score, reached, slot);
    const chunk = block.chunkAt(this.#chunk);
    const count = block.countAt(this.#chunk);
    let low = this.#pages.countAbove(chunk, count, score);
    let high = this.#pages.countAbove(chunk, count, score - 1);
    // The key is usually the newest of its tie. Check that first: each look is a cache miss.
    if (low < high && this.#isBefore(this.#pages.slotAt(chunk, high - 1), reached, slot)) low = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBefore(this.#pages.slotAt(chunk, middle), reached, slot)) low = middle + 1;
      else high = middle;
    }
    this.#position = low;
    return block;
  }

  /** Whether `other` is before `slot`, if both have the same score. */
  #isBefore(other: number, reached: number, slot: number): boolean {
    const since = this.#keys.reachedOf(other);
    return since !== reached ? since < reached : other < slot;
  }

  #link(slot: number, score: number, reached: number): void {
    if (this.#blocks.length === 0) this.#addBlock(0);
    let block = this.#locate(score, reached, slot);
    while (block.countAt(this.#chunk) === this.#chunkMax) {
      this.#makeRoom(this.#block, this.#chunk);
      block = this.#locate(score, reached, slot);
    }
    const count = block.countAt(this.#chunk);
    this.#pages.insertAt(block.chunkAt(this.#chunk), count, this.#position, score, slot);
    this.#note(block, count + 1);
    block.size++;
    this.#size++;
  }

  #unlink(slot: number): void {
    const block = this.#locateChunk(this.#keys.scoreOf(slot), this.#keys.reachedOf(slot), slot);
    const at = this.#block;
    const chunk = block.chunkAt(this.#chunk);
    const count = block.countAt(this.#chunk);
    this.#position = this.#pages.positionOf(chunk, count, slot);
    this.#pages.removeAt(chunk, count, this.#position);
    block.size--;
    this.#size--;
    if (count === 1) block.removeChunk(this.#chunk);
    else {
      this.#note(block, count - 1);
      if (count <= this.#chunkMax >>> 1) this.#joinChunks(block, this.#chunk);
    }
    if (block.length < this.#blockMax >>> 2) this.#joinBlocks(at);
  }

  /** Updates the block after an entry was added or removed at the position found. */
  #note(block: IndexBlock, count: number): void {
    if (this.#position === 0) block.refresh(this.#chunk, count);
    else block.counts[this.#chunk] = count;
  }

  /** Makes room in a full chunk: moves entries to a neighbor under three quarters full, or splits. */
  #makeRoom(blockAt: number, at: number): void {
    const block = this.#blocks[blockAt] as IndexBlock;
    const full = block.countAt(at);
    const roomy = (this.#chunkMax * 3) >>> 2;
    const next = block.countAt(at + 1);
    const previous = block.countAt(at - 1);
    if (next >= 0 && next < roomy) this.#giveTail(block, at, (full - next) >>> 1);
    else if (previous >= 0 && previous < roomy) this.#giveHead(block, at, (full - previous) >>> 1);
    else if (block.length === this.#blockMax) {
      const half = new IndexBlock(this.#blockMax, this.#pages, this.#keys);
      block.giveChunksTo(half, this.#blockMax >>> 1);
      this.#blocks.splice(blockAt + 1, 0, half);
    } else {
      block.insertChunk(at + 1, this.#pages.take());
      this.#giveTail(block, at, full >>> 1);
    }
  }

  /** Moves the last entries of a chunk to the front of the next one. */
  #giveTail(block: IndexBlock, at: number, moved: number): void {
    const [from, to] = [block.chunkAt(at), block.chunkAt(at + 1)];
    const [count, others] = [block.countAt(at), block.countAt(at + 1)];
    this.#pages.copy(to, 0, others, to, moved);
    this.#pages.copy(from, count - moved, moved, to, 0);
    block.refresh(at, count - moved);
    block.refresh(at + 1, others + moved);
  }

  /** Moves some of the first entries of a chunk to the end of the previous one. */
  #giveHead(block: IndexBlock, at: number, moved: number): void {
    const [from, to] = [block.chunkAt(at), block.chunkAt(at - 1)];
    const [count, others] = [block.countAt(at), block.countAt(at - 1)];
    this.#pages.copy(from, 0, moved, to, others);
    this.#pages.copy(from, moved, count - moved, from, 0);
    block.refresh(at, count - moved);
    block.refresh(at - 1, others + moved);
  }

  /** Joins a chunk under half full with a neighbor, if both fit well into one. */
  #joinChunks(block: IndexBlock, at: number): void {
    const fits = (left: number): boolean =>
      left >= 0 && left + 1 < block.length && block.countAt(left) + block.countAt(left + 1) <= this.#chunkMax * 0.875;
    const left = fits(at - 1) ? at - 1 : at;
    if (!fits(left)) return;
    const [into, from] = [block.countAt(left), block.countAt(left + 1)];
    this.#pages.copy(block.chunkAt(left + 1), 0, from, block.chunkAt(left), into);
    block.refresh(left, into + from);
    block.removeChunk(left + 1);
  }

  #joinBlocks(at: number): void {
    const block = this.#blocks[at] as IndexBlock;
    if (block.length === 0) {
      this.#blocks.splice(at, 1);
      return;
    }
    const next = this.#blocks[at + 1];
    if (next === undefined || block.length + next.length > (this.#blockMax * 3) >>> 2) return;
    next.giveChunksTo(block, 0);
    this.#blocks.splice(at + 1, 1);
  }
}
