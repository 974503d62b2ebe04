/** A shard's copy of the counts of all other shards: their players per bucket of scores, summed for binary search. */
import { BITS_MAX, bucketOf, firstAbove, type ScoreBuckets } from './score-buckets.ts';

export interface CountAbove {
  /** Number of players who certainly have a higher score. */
  readonly above: number;
  /** Number of players in the same bucket as the score, about whom the other shards must be asked. If 0, `above` is exact. */
  readonly unsure: number;
}

export class OtherCounts {
  bits = BITS_MAX;
  readonly #counts = new Map<number, number>();
  /** The lowest score of each bucket, ascending. Null after a bucket was added or removed, until the next read. */
  #lows: Float64Array | null = new Float64Array(0);
  /** The number of players in each bucket and all higher ones, followed by a 0. Null after a change, until the next read. */
  #sums: Float64Array | null = new Float64Array(1);

  /** Whether every score has a bucket of its own. */
  get isExact(): boolean {
    return this.bits === BITS_MAX;
  }

  get players(): number {
    return this.#sum().sums[0] as number;
  }

  /** Sets the absolute counts of some buckets, or replaces those of all. A count of 0 removes a bucket. */
  apply({ isFull, bits, buckets }: { isFull: boolean; bits: number; buckets: ScoreBuckets | null }): void {
    if (isFull) {
      this.#counts.clear();
      this.bits = bits;
      this.#lows = null;
      this.#sums = null;
    }
    for (const [i, low] of (buckets?.lows ?? []).entries()) {
      const count = buckets?.counts[i] as number;
      if ((count === 0) === this.#counts.has(low)) this.#lows = null;
      if (count === 0) this.#counts.delete(low);
      else this.#counts.set(low, count);
      this.#sums = null;
    }
  }

  countAbove(score: number): CountAbove {
    const { lows, sums } = this.#sum();
    const above = sums[firstAbove(lows, score)] as number;
    const [low, high] = bucketOf(score, this.bits);
    return { above, unsure: score < high ? (this.#counts.get(low) ?? 0) : 0 };
  }

  /** Computes the sums when a rank is read and not on each change, because several answers may arrive between two reads. */
  #sum(): { lows: Float64Array; sums: Float64Array } {
    this.#lows ??= Float64Array.from(this.#counts.keys()).sort();
    const lows = this.#lows;
    if (this.#sums === null) {
      this.#sums = new Float64Array(lows.length + 1);
      for (let i = lows.length - 1; i >= 0; i--) {
        this.#sums[i] = (this.#sums[i + 1] as number) + (this.#counts.get(lows[i] as number) as number);
      }
    }
    return { lows, sums: this.#sums };
  }
}
