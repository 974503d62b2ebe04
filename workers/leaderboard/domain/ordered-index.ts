/**
 * The ordered index of one shard: every listed player by `(score descending, reached ascending, slot ascending)`, counted,
 * so that a rank, the n-th entry or the place of a key takes O(log n) steps.
 *
 * Three fixed levels on typed arrays: blocks of at most 128 chunks of at most 512 entries. An entry costs 12 bytes in its
 * chunk (chunks stay about 80% full because neighbours share before one is split) and 16 bytes beside its slot.
 * Players are slots, small integers that the caller hands out; user ids stay in SQL.
 *
 * By design: it counts in doubles, so scores and times are integers up to 2^53 − 1; two entries never share a slot.
 */
import { BLOCK_CHUNKS_MAX, IndexBlock } from './index-block.ts';
import { CHUNK_ENTRIES_MAX, IndexChunk } from './index-chunk.ts';
import { ABSENT, SlotKeys } from './slot-keys.ts';

export class OrderedIndex {
  readonly #keys = new SlotKeys();
  readonly #chunkMax: number;
  readonly #blockMax: number;
  readonly #blocks: IndexBlock[] = [];
  readonly #reachedOf = (slot: number): number => this.#keys.reachedOf(slot);
  #size = 0;
  // Where the last #locate() pointed: fields, because an object for each search would be the largest cost of a move.
  #block = 0;
  #chunk = 0;
  #position = 0;

  /** @param limits smaller ones make a test meet every split and merge. */
  constructor(limits: { chunkEntries?: number; blockChunks?: number } = {}) {
    this.#chunkMax = limits.chunkEntries ?? CHUNK_ENTRIES_MAX;
    this.#blockMax = limits.blockChunks ?? BLOCK_CHUNKS_MAX;
  }

  /** How many players are listed. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of the typed arrays; what the engine adds per array is about one byte a player. */
  get byteLength(): number {
    const blocks = this.#blocks.reduce((sum, block) => sum + block.byteLength, 0);
    return blocks + this.#keys.byteLength;
  }

  has(slot: number): boolean {
    return this.#keys.scoreOf(slot) !== ABSENT;
  }

  /** @returns the slot's score, or −1 when it is not listed. */
  scoreOf(slot: number): number {
    return this.#keys.scoreOf(slot);
  }

  reachedOf(slot: number): number {
    return this.#keys.reachedOf(slot);
  }

  /** Lists a player, or moves one that is listed. */
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

  /** How many players have a score above `score`; a player's standard competition rank is one more. */
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

  /** How many entries stand in list order before the key `(score, reached)`. */
  countBefore(score: number, reached: number): number {
    if (this.#size === 0) return 0;
    this.#locate(score, reached, -1);
    let sum = this.#position + (this.#blocks[this.#block] as IndexBlock).countBefore(this.#chunk);
    for (let i = 0; i < this.#block; i++) sum += (this.#blocks[i] as IndexBlock).size;
    return sum;
  }

  /** @returns up to `limit` slots in list order, from the 0-based place `start` on. */
  range(start: number, limit: number): number[] {
    const slots: number[] = [];
    let skip = Math.max(0, start);
    for (const block of this.#blocks) {
      if (skip >= block.size) {
        skip -= block.size;
        continue;
      }
      for (const chunk of block.chunks) {
        if (skip >= chunk.count) {
          skip -= chunk.count;
          continue;
        }
        for (let i = skip; i < chunk.count; i++) {
          if (slots.length >= limit) return slots;
          slots.push(chunk.slots[i] as number);
        }
        skip = 0;
      }
    }
    return slots;
  }

  /** Every score that somebody has, best first, with how many have it. */
  *scoreCounts(): Generator<[score: number, count: number]> {
    let score = ABSENT;
    let count = 0;
    for (const block of this.#blocks) {
      for (const chunk of block.chunks) {
        for (let i = 0; i < chunk.count; i++) {
          const next = chunk.scores[i] as number;
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
   * Fills an empty index from columns that are in list order already.
   * @param order the row numbers in list order; absent, the columns are.
   */
  load(slots: ArrayLike<number>, scores: ArrayLike<number>, reached: ArrayLike<number>, order?: Uint32Array): void {
    if (this.#size > 0) throw new Error('an index is loaded once, while it is empty');
    const perChunk = Math.max(1, Math.floor(this.#chunkMax * 0.875));
    const perBlock = Math.max(1, Math.floor(this.#blockMax * 0.875));
    let block: IndexBlock | undefined;
    let chunk: IndexChunk | undefined;
    const total = order?.length ?? slots.length;
    for (let i = 0; i < total; i++) {
      const row = order === undefined ? i : (order[i] as number);
      const slot = slots[row] as number;
      this.#keys.set(slot, scores[row] as number, reached[row] as number);
      if (chunk === undefined || chunk.count === perChunk) {
        if (block === undefined || block.chunks.length === perBlock) {
          block = new IndexBlock(this.#blockMax);
          this.#blocks.push(block);
        }
        chunk = new IndexChunk(this.#chunkMax);
        block.chunks.push(chunk);
      }
      chunk.insertAt(chunk.count, scores[row] as number, slot);
    }
    for (const each of this.#blocks) {
      for (let i = 0; i < each.chunks.length; i++) {
        each.refresh(i, this.#reachedOf);
        each.size += each.counts[i] as number;
      }
    }
    this.#size = total;
  }

  /** Points at the chunk where the key stands or belongs; needs at least one block. */
  #locateChunk(score: number, reached: number, slot: number): IndexChunk {
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
    return block.chunks[this.#chunk] as IndexChunk;
  }

  /** Points at the first entry that is not before the key. */
  #locate(score: number, reached: number, slot: number): void {
    const chunk = this.#locateChunk(score, reached, slot);
    const { slots } = chunk;
    let low = chunk.countAbove(score);
    let high = chunk.countAbove(score - 1);
    // Most often the key is the newest of its tie: look there before searching, each look is a cache miss.
    if (low < high && this.#isBefore(slots[high - 1] as number, reached, slot)) low = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBefore(slots[middle] as number, reached, slot)) low = middle + 1;
      else high = middle;
    }
    this.#position = low;
  }

  /** Whether, of two with one score, `other` stands before `slot`. */
  #isBefore(other: number, reached: number, slot: number): boolean {
    const since = this.#keys.reachedOf(other);
    return since !== reached ? since < reached : other < slot;
  }

  #link(slot: number, score: number, reached: number): void {
    if (this.#blocks.length === 0) {
      const first = new IndexBlock(this.#blockMax);
      first.insertChunk(0, new IndexChunk(this.#chunkMax));
      this.#blocks.push(first);
    }
    this.#locate(score, reached, slot);
    while ((this.#blocks[this.#block] as IndexBlock).chunks[this.#chunk]?.count === this.#chunkMax) {
      this.#makeRoom(this.#block, this.#chunk);
      this.#locate(score, reached, slot);
    }
    const block = this.#blocks[this.#block] as IndexBlock;
    const chunk = block.chunks[this.#chunk] as IndexChunk;
    chunk.insertAt(this.#position, score, slot);
    if (this.#position === 0) block.refresh(this.#chunk, this.#reachedOf);
    else block.counts[this.#chunk] = chunk.count;
    block.size++;
    this.#size++;
  }

  #unlink(slot: number): void {
    const chunk = this.#locateChunk(this.#keys.scoreOf(slot), this.#keys.reachedOf(slot), slot);
    const at = this.#block;
    const block = this.#blocks[at] as IndexBlock;
    // Reading 2 KB in a row is faster than the nine scattered looks of a binary search.
    this.#position = chunk.slots.indexOf(slot);
    if (this.#position < 0 || this.#position >= chunk.count) throw new Error(`the index lost slot ${slot}`);
    chunk.removeAt(this.#position);
    block.size--;
    this.#size--;
    if (chunk.count === 0) block.removeChunk(this.#chunk);
    else {
      if (this.#position === 0) block.refresh(this.#chunk, this.#reachedOf);
      else block.counts[this.#chunk] = chunk.count;
      if (chunk.count < this.#chunkMax >>> 1) this.#joinChunks(block, this.#chunk);
    }
    if (block.chunks.length < this.#blockMax >>> 2) this.#joinBlocks(at);
  }

  /** A full chunk gives to a neighbour of its block that is under three quarters, or is split. */
  #makeRoom(blockAt: number, at: number): void {
    const block = this.#blocks[blockAt] as IndexBlock;
    const full = block.chunks[at] as IndexChunk;
    const roomy = (this.#chunkMax * 3) >>> 2;
    const next = block.chunks[at + 1];
    const previous = block.chunks[at - 1];
    if (next !== undefined && next.count < roomy) {
      full.giveTailTo(next, (full.count - next.count) >>> 1);
      block.refresh(at + 1, this.#reachedOf);
    } else if (previous !== undefined && previous.count < roomy) {
      full.giveHeadTo(previous, (full.count - previous.count) >>> 1);
      block.refresh(at - 1, this.#reachedOf);
    } else if (block.chunks.length === this.#blockMax) {
      const half = new IndexBlock(this.#blockMax);
      block.giveChunksTo(half, this.#blockMax >>> 1);
      this.#blocks.splice(blockAt + 1, 0, half);
      return;
    } else {
      const half = new IndexChunk(this.#chunkMax);
      full.giveTailTo(half, full.count >>> 1);
      block.insertChunk(at + 1, half);
      block.refresh(at + 1, this.#reachedOf);
    }
    block.refresh(at, this.#reachedOf);
  }

  /** Joins a chunk that is under half with a neighbour, where both fit well into one. */
  #joinChunks(block: IndexBlock, at: number): void {
    const fits = (left: IndexChunk | undefined, right: IndexChunk | undefined): left is IndexChunk =>
      left !== undefined && right !== undefined && left.count + right.count <= this.#chunkMax * 0.875;
    const left = fits(block.chunks[at - 1], block.chunks[at]) ? at - 1 : at;
    const into = block.chunks[left];
    const from = block.chunks[left + 1];
    if (!fits(into, from) || from === undefined) return;
    from.giveHeadTo(into, from.count);
    block.removeChunk(left + 1);
    block.refresh(left, this.#reachedOf);
  }

  #joinBlocks(at: number): void {
    const block = this.#blocks[at] as IndexBlock;
    if (block.chunks.length === 0) {
      this.#blocks.splice(at, 1);
      return;
    }
    const next = this.#blocks[at + 1];
    if (next === undefined || block.chunks.length + next.chunks.length > (this.#blockMax * 3) >>> 2) return;
    next.giveChunksTo(block, 0);
    this.#blocks.splice(at + 1, 1);
  }
}
