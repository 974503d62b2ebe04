/** What a shard knows of all the other shards: their players per bucket of scores, summed for binary search. */
import { BucketLayout, firstAbove, NO_BUCKETS, type ScoreBuckets, toScoreBuckets } from './score-buckets.ts';

export interface CountAbove {
  /** Players who certainly have a higher score. */
  readonly above: number;
  /** Players whose bucket also holds the score, and who must be asked for; 0 makes `above` exact. */
  readonly unsure: number;
}

export class OtherCounts {
  layout = new BucketLayout();
  #buckets: ScoreBuckets = NO_BUCKETS;
  /** Players at or after each bucket; one longer than the buckets. */
  #fromHere = new Float64Array(1);

  get players(): number {
    return this.#fromHere[0] as number;
  }

  replace(buckets: ScoreBuckets, layout: BucketLayout): void {
    this.layout = layout;
    this.#buckets = buckets;
    this.#sum();
  }

  /** Absolute counts of some buckets, ascending; a count of 0 ends a bucket. */
  apply(changes: ScoreBuckets): void {
    if (changes.lows.length === 0) return;
    const old = this.#buckets;
    const rows: [number, number, number][] = [];
    let i = 0;
    for (let j = 0; j <= changes.lows.length; j++) {
      const low = changes.lows[j] ?? Number.POSITIVE_INFINITY;
      while (i < old.lows.length && (old.lows[i] as number) < low) {
        rows.push([old.lows[i] as number, old.highs[i] as number, old.counts[i] as number]);
        i++;
      }
      if (old.lows[i] === low) i++;
      const count = changes.counts[j] ?? 0;
      if (count > 0) rows.push([low, changes.highs[j] as number, count]);
    }
    this.#buckets = toScoreBuckets(rows);
    this.#sum();
  }

  countAbove(score: number): CountAbove {
    const { lows, highs, counts } = this.#buckets;
    const next = firstAbove(lows, score);
    const above = this.#fromHere[next] as number;
    const isInside = next > 0 && (lows[next - 1] as number) <= score && score < (highs[next - 1] as number);
    return { above, unsure: isInside ? (counts[next - 1] as number) : 0 };
  }

  #sum(): void {
    const { counts } = this.#buckets;
    const sums = new Float64Array(counts.length + 1);
    for (let i = counts.length - 1; i >= 0; i--) sums[i] = (sums[i + 1] as number) + (counts[i] as number);
    this.#fromHere = sums;
  }
}
