/**
 * The players of one shard, or of several, per bucket of scores: two columns in score order. A batch of changes takes a binary search
 * for each and at most one move of the columns. The sums for ranks are computed when a rank is read, once after each batch.
 */
import { firstAbove, foldBuckets, inOrder, type ScoreBuckets } from './score-buckets.ts';

/** Differences of the counts of buckets, in score order. */
export interface BucketChanges {
  readonly lows: Float64Array;
  readonly deltas: Float64Array;
}

const GROWTH = 1.125;
/** Number of empty buckets that stay in the columns until they are more than half of them. */
const EMPTY_MIN = 16;

export class BucketCounts {
  #lows = new Float64Array(0);
  #counts = new Uint32Array(0);
  /** Number of buckets in the columns, which may have room for more. */
  #length = 0;
  #empty = 0;
  #players = 0;
  /** The number of players in each bucket and all higher ones, followed by a 0. Null after a change, until the next read. */
  #sums: Float64Array | null = null;

  get players(): number {
    return this.#players;
  }

  /** Number of buckets that have players. */
  get size(): number {
    return this.#length - this.#empty;
  }

  /** The lowest score of the lowest bucket that has players; 0 without players. */
  get least(): number {
    this.#dropEmpty();
    return this.#length === 0 ? 0 : (this.#lows[0] as number);
  }

  countOf(low: number): number {
    const at = this.#find(low);
    return at < 0 ? 0 : (this.#counts[at] as number);
  }

  /**
   * Compares with counts that were received.
   * @param isFull whether buckets that were not received have no players. Otherwise they did not change.
   */
  compare(received: ScoreBuckets | null, isFull: boolean): BucketChanges {
    const { lows, counts } = inOrder(received ?? { lows: new Float64Array(0), counts: new Float64Array(0) });
    const changed: number[] = [];
    const deltas: number[] = [];
    const note = (low: number, delta: number): void => {
      if (delta === 0) return;
      changed.push(low);
      deltas.push(delta);
    };
    let own = 0;
    const noteMissing = (below: number): void => {
      for (; isFull && own < this.#length && (this.#lows[own] as number) < below; own++)
        note(this.#lows[own] as number, -(this.#counts[own] as number));
    };
    for (const [at, low] of lows.entries()) {
      noteMissing(low);
      note(low, (counts[at] as number) - this.countOf(low));
      if (isFull && this.#lows[own] === low) own++;
    }
    noteMissing(Number.POSITIVE_INFINITY);
    return { lows: Float64Array.from(changed), deltas: Float64Array.from(deltas) };
  }

  add({ lows, deltas }: BucketChanges): void {
    if (lows.length === 0) return;
    this.#sums = null;
    const fresh: number[] = [];
    for (const [i, low] of lows.entries()) {
      const at = this.#find(low);
      if (at < 0) fresh.push(i);
      else this.#change(at, deltas[i] as number);
    }
    if (fresh.length > 0) {
      this.#insert(
        Float64Array.from(fresh, (i) => lows[i] as number),
        Float64Array.from(fresh, (i) => deltas[i] as number),
      );
    }
    if (this.#empty > EMPTY_MIN && this.#empty > this.#length / 2) this.#dropEmpty();
  }

  /** Counts the players in buckets that begin above a score. */
  countAbove(score: number): number {
    const sums = this.#sum();
    return sums[firstAbove(this.#lows, score, this.#length)] as number;
  }

  /**
   * Finds the best bucket with at least `above` players in the buckets above it.
   * @returns its lowest score, and that of the bucket above it with the number of players from there on; null for what does not exist.
   */
  findBelow(above: number): { low: number | null; better: { low: number; players: number } | null } {
    const sums = this.#sum();
    let [first, end] = [0, this.#length];
    while (first < end) {
      const middle = (first + end) >>> 1;
      if ((sums[middle + 1] as number) >= above) first = middle + 1;
      else end = middle;
    }
    return {
      low: first === 0 ? null : (this.#lows[first - 1] as number),
      better: first === this.#length ? null : { low: this.#lows[first] as number, players: sums[first] as number },
    };
  }

  /** The buckets that have players, in score order. */
  toBuckets(): ScoreBuckets {
    this.#dropEmpty();
    return {
      lows: this.#lows.slice(0, this.#length),
      counts: Float64Array.from(this.#counts.subarray(0, this.#length)),
    };
  }

  /** The same players in buckets of at most these bits. */
  fold(bits: number): BucketCounts {
    const folded = new BucketCounts();
    folded.add(folded.compare(foldBuckets(this.toBuckets(), bits), true));
    return folded;
  }

  #find(low: number): number {
    const at = firstAbove(this.#lows, low, this.#length) - 1;
    return this.#lows[at] === low ? at : -1;
  }

  #change(at: number, delta: number): void {
    const before = this.#counts[at] as number;
    this.#counts[at] = before + delta;
    this.#players += delta;
    if (before + delta === 0) this.#empty++;
    else if (before === 0) this.#empty--;
  }

  /** Inserts new buckets, from the highest on, so that each part of the columns moves once. */
  #insert(lows: Float64Array, counts: Float64Array): void {
    this.#grow(this.#length + lows.length);
    let end = this.#length;
    for (let i = lows.length - 1; i >= 0; i--) {
      const at = firstAbove(this.#lows, lows[i] as number, end);
      this.#lows.copyWithin(at + i + 1, at, end);
      this.#counts.copyWithin(at + i + 1, at, end);
      this.#lows[at + i] = lows[i] as number;
      this.#counts[at + i] = counts[i] as number;
      this.#players += counts[i] as number;
      end = at;
    }
    this.#length += lows.length;
  }

  #grow(length: number): void {
    if (length <= this.#lows.length) return;
    const room = Math.ceil(length * GROWTH);
    const [lows, counts] = [this.#lows, this.#counts];
    this.#lows = new Float64Array(room);
    this.#lows.set(lows);
    this.#counts = new Uint32Array(room);
    this.#counts.set(counts);
  }

  #dropEmpty(): void {
    if (this.#empty === 0) return;
    let length = 0;
    for (let at = 0; at < this.#length; at++) {
      if (this.#counts[at] === 0) continue;
      this.#lows[length] = this.#lows[at] as number;
      this.#counts[length++] = this.#counts[at] as number;
    }
    this.#length = length;
    this.#empty = 0;
    this.#sums = null;
  }

  #sum(): Float64Array {
    if (this.#sums !== null && this.#empty === 0) return this.#sums;
    this.#dropEmpty();
    const sums = new Float64Array(this.#length + 1);
    for (let at = this.#length - 1; at >= 0; at--) sums[at] = (sums[at + 1] as number) + (this.#counts[at] as number);
    this.#sums = sums;
    return sums;
  }
}
