/**
 * The ordered index of one shard: every listed player by `(score descending, reached ascending, slot ascending)`, with counts. A
 * rank, the n-th entry and the position of a key each take a binary search and a sum of counts.
 *
 * Entries are in chunks of at most 512, in typed arrays. An entry takes 12 bytes in its chunk and 16 bytes for its slot. The index
 * identifies a player by a slot, a small integer that the caller assigns; user ids stay in SQL.
 *
 * By design: scores and times are integers up to 2^53 − 1. Two entries never share a slot.
 */
import { countFirst } from '../../../workers/leaderboard/domain/binary-search.ts';
import type { PlayerIndex } from './player-index.ts';
import { ABSENT, SlotKeys } from './slot-keys.ts';

const CHUNK_ENTRIES_MAX = 512;

interface Chunk {
  readonly scores: Float64Array;
  readonly slots: Uint32Array;
  count: number;
}

export class OrderedIndex implements PlayerIndex {
  readonly keys = new SlotKeys();
  readonly #chunkMax: number;
  #chunks: Chunk[] = [];
  /** The first score of each chunk, in one array for binary search. */
  #firstScores = new Float64Array(64);
  /** The number of entries of each chunk, in one array for sums. */
  #counts = new Int32Array(64);
  #size = 0;
  // Result of the last #locate(), in fields, because allocating an object per search would be the largest cost of a move.
  #at = 0;
  #position = 0;

  /**
   * Creates an empty index.
   * @param chunkMax maximum number of entries per chunk. Tests set a small one to exercise every split and merge.
   */
  constructor(chunkMax = CHUNK_ENTRIES_MAX) {
    this.#chunkMax = chunkMax;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns the score of a slot, or −1 if the slot is not listed. */
  scoreOf(slot: number): number {
    return this.keys.scoreOf(slot);
  }

  reachedOf(slot: number): number {
    return this.keys.reachedOf(slot);
  }

  /** Adds a player, or moves a player who is already listed. */
  set(slot: number, score: number, reached: number): void {
    if (this.keys.scoreOf(slot) !== ABSENT) this.#unlink(slot);
    this.keys.set(slot, score, reached);
    this.#link(slot, score, reached);
  }

  remove(slot: number): boolean {
    if (this.keys.scoreOf(slot) === ABSENT) return false;
    this.#unlink(slot);
    this.keys.set(slot, ABSENT, 0);
    return true;
  }

  /** Counts the players with a score above `score`. The standard competition rank of a player with this score is one more. */
  countAbove(score: number): number {
    const chunks = countFirst(this.#chunks.length, (at) => (this.#firstScores[at] as number) > score);
    return chunks === 0 ? 0 : this.#countChunks(chunks - 1) + countAboveIn(this.#chunks[chunks - 1] as Chunk, score);
  }

  /** Counts the entries before the key `(score, reached)` in list order. */
  countBefore(score: number, reached: number): number {
    if (this.#size === 0) return 0;
    this.#locate(score, reached, -1);
    return this.#countChunks(this.#at) + this.#position;
  }

  /**
   * Reads a part of the list.
   * @returns up to `limit` slots in list order, beginning with the entry at the 0-based position `start`.
   */
  range(start: number, limit: number): number[] {
    const slots: number[] = [];
    let skip = Math.max(0, start);
    let at = 0;
    for (; at < this.#chunks.length && skip >= (this.#counts[at] as number); at++) skip -= this.#counts[at] as number;
    for (; at < this.#chunks.length && slots.length < limit; at++) {
      const { slots: own, count } = this.#chunks[at] as Chunk;
      const end = Math.min(count, skip + limit - slots.length);
      for (let i = skip; i < end; i++) slots.push(own[i] as number);
      skip = 0;
    }
    return slots;
  }

  /** Yields every score that players have, best first, with its number of players. */
  *scoreCounts(): Generator<[score: number, count: number]> {
    let score = ABSENT;
    let players = 0;
    for (const { scores, count } of this.#chunks) {
      for (let i = 0; i < count; i++, players++) {
        if (scores[i] === score) continue;
        if (players > 0) yield [score, players];
        score = scores[i] as number;
        players = 0;
      }
    }
    if (players > 0) yield [score, players];
  }

  /** Builds the index from the listed slots of `keys`, after `keys` was filled with stored pages. */
  build(): void {
    const order = Uint32Array.from(this.keys.listed());
    const { keys } = this;
    order.sort((a, b) => keys.scoreOf(b) - keys.scoreOf(a) || keys.reachedOf(a) - keys.reachedOf(b) || a - b);
    const perChunk = Math.max(1, Math.floor(this.#chunkMax * 0.875));
    this.#chunks = [];
    for (let start = 0; start < order.length; start += perChunk) {
      const chunk = this.#createChunk();
      chunk.slots.set(order.subarray(start, start + perChunk));
      chunk.count = Math.min(perChunk, order.length - start);
      for (let i = 0; i < chunk.count; i++) chunk.scores[i] = keys.scoreOf(chunk.slots[i] as number);
      this.#chunks.push(chunk);
    }
    this.#size = order.length;
    this.#index(0);
  }

  #createChunk(): Chunk {
    return { scores: new Float64Array(this.#chunkMax), slots: new Uint32Array(this.#chunkMax), count: 0 };
  }

  #countChunks(at: number): number {
    let sum = 0;
    for (let i = 0; i < at; i++) sum += this.#counts[i] as number;
    return sum;
  }

  /** Updates the first scores and the counts from this chunk on, after chunks were added or removed. */
  #index(from: number): void {
    const chunks = this.#chunks;
    const isTooSmall = chunks.length > this.#counts.length;
    if (isTooSmall) {
      this.#firstScores = new Float64Array(chunks.length * 2);
      this.#counts = new Int32Array(chunks.length * 2);
    }
    for (let at = isTooSmall ? 0 : from; at < chunks.length; at++) {
      const { scores, count } = chunks[at] as Chunk;
      this.#firstScores[at] = scores[0] as number;
      this.#counts[at] = count;
    }
  }

  /** Finds the last chunk that begins at or before the key, or else the first one. Requires at least one chunk. */
  #locateChunk(score: number, reached: number, slot: number): Chunk {
    this.#at = countFirst(this.#chunks.length - 1, (before) => {
      const first = this.#firstScores[before + 1] as number;
      if (first !== score) return first > score;
      return this.#isBefore(this.#chunks[before + 1]?.slots[0] as number, reached, slot + 1);
    });
    return this.#chunks[this.#at] as Chunk;
  }

  /** Finds the first entry that is not before the key, and sets `#at` and `#position` to its place. */
  #locate(score: number, reached: number, slot: number): Chunk {
    const chunk = this.#locateChunk(score, reached, slot);
    const [low, high] = [countAboveIn(chunk, score), countAboveIn(chunk, score - 1)];
    const isBefore = (at: number) => this.#isBefore(chunk.slots[low + at] as number, reached, slot);
    // The key is usually the newest of its tie, so that case is checked first: each comparison is a cache miss.
    const isNewest = low < high && isBefore(high - low - 1);
    this.#position = isNewest ? high : low + countFirst(high - low, isBefore);
    return chunk;
  }

  /** Whether the slot `other` is before `slot` in the list, if both have the same score. */
  #isBefore(other: number, reached: number, slot: number): boolean {
    const since = this.keys.reachedOf(other);
    return since !== reached ? since < reached : other < slot;
  }

  #link(slot: number, score: number, reached: number): void {
    if (this.#chunks.length === 0) {
      this.#chunks.push(this.#createChunk());
      this.#index(0);
    }
    let chunk = this.#locate(score, reached, slot);
    while (chunk.count === this.#chunkMax) {
      this.#makeRoom(this.#at, this.#position);
      chunk = this.#locate(score, reached, slot);
    }
    const position = this.#position;
    chunk.scores.copyWithin(position + 1, position, chunk.count);
    chunk.slots.copyWithin(position + 1, position, chunk.count);
    chunk.scores[position] = score;
    chunk.slots[position] = slot;
    this.#add(chunk, 1);
  }

  #unlink(slot: number): void {
    const chunk = this.#locateChunk(this.keys.scoreOf(slot), this.keys.reachedOf(slot), slot);
    // Searches the chunk's slots from the start, because reading 2 KB in sequence is faster than the scattered reads of a binary
    // search.
    this.#position = chunk.slots.indexOf(slot);
    if (this.#position < 0 || this.#position >= chunk.count) throw new Error(`the index lost slot ${slot}`);
    chunk.scores.copyWithin(this.#position, this.#position + 1, chunk.count);
    chunk.slots.copyWithin(this.#position, this.#position + 1, chunk.count);
    this.#add(chunk, -1);
    if (chunk.count < this.#chunkMax >>> 1) this.#join(this.#at);
  }

  /** Updates the counts after an entry was added to or removed from the chunk at `#at`. */
  #add(chunk: Chunk, entries: number): void {
    chunk.count += entries;
    this.#size += entries;
    this.#counts[this.#at] = chunk.count;
    if (this.#position === 0) this.#firstScores[this.#at] = chunk.scores[0] as number;
  }

  /**
   * Makes room in a full chunk: moves entries to the next chunk if that has room, otherwise splits the chunk. An entry after the
   * last one gets a new chunk.
   */
  #makeRoom(at: number, position: number): void {
    const full = this.#chunks[at] as Chunk;
    let next = this.#chunks[at + 1];
    if (next === undefined || next.count > (this.#chunkMax * 3) >>> 2) {
      next = this.#createChunk();
      this.#chunks.splice(at + 1, 0, next);
    }
    moveTail(full, next, position === full.count ? 1 : Math.max(1, (full.count - next.count) >>> 1));
    this.#index(at);
  }

  /** Removes a chunk if it is empty, or joins it with the next one if both fit well into one. */
  #join(at: number): void {
    const chunk = this.#chunks[at] as Chunk;
    const next = this.#chunks[at + 1];
    if (chunk.count > 0) {
      if (next === undefined || chunk.count + next.count > this.#chunkMax * 0.875) return;
      moveTail(chunk, next, chunk.count);
    }
    this.#chunks.splice(at, 1);
    this.#index(at);
  }
}

const countAboveIn = ({ scores, count }: Chunk, score: number): number =>
  countFirst(count, (at) => (scores[at] as number) > score);

/** Moves the last entries of a chunk to the front of the next one. */
function moveTail(from: Chunk, to: Chunk, moved: number): void {
  const start = from.count - moved;
  for (const column of ['scores', 'slots'] as const) {
    to[column].copyWithin(moved, 0, to.count);
    to[column].set(from[column].subarray(start, from.count));
  }
  from.count = start;
  to.count += moved;
}
