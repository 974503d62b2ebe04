/** Counts of all other shards: their players per bucket of scores, summed for binary search. */
import { BucketLayout, firstAbove, NO_BUCKETS, type ScoreBuckets } from './score-buckets.ts';

export interface CountAbove {
  /** Players who certainly have a higher score. */
  readonly above: number;
  /** Players in the same bucket as the score, about whom the shards must be asked. If 0, `above` is exact. */
  readonly unsure: number;
}

export class OtherCounts {
  layout = new BucketLayout();
  #buckets: ScoreBuckets = NO_BUCKETS;
  /** Players in each bucket and above; one longer than the buckets. */
  #fromHere = new Float64Array(1);

  get players(): number {
    return this.#fromHere[0] as number;
  }

  replace(buckets: ScoreBuckets, layout: BucketLayout): void {
    this.layout = layout;
    this.#buckets = buckets;
    this.#sum();
  }

  /** Sets the absolute counts of some buckets, ascending. A count of 0 removes a bucket. */
  apply(changes: ScoreBuckets): void {
    const old = this.#buckets;
    const most = old.lows.length + changes.lows.length;
    const merged = { lows: new Float64Array(most), highs: new Float64Array(most), counts: new Float64Array(most) };
    let size = 0;
    let at = 0;
    const copyTo = (end: number) => {
      for (const column of ['lows', 'highs', 'counts'] as const) {
        merged[column].set(old[column].subarray(at, end), size);
      }
      size += end - at;
      at = end;
    };
    for (let i = 0; i < changes.lows.length; i++) {
      const low = changes.lows[i] as number;
      const next = firstAbove(old.lows, low);
      const isKnown = next > 0 && old.lows[next - 1] === low;
      copyTo(isKnown ? next - 1 : next);
      at = next;
      const count = changes.counts[i] as number;
      if (count === 0) continue;
      merged.lows[size] = low;
      merged.highs[size] = changes.highs[i] as number;
      merged.counts[size] = count;
      size++;
    }
    copyTo(old.lows.length);
    this.#buckets = {
      lows: merged.lows.subarray(0, size),
      highs: merged.highs.subarray(0, size),
      counts: merged.counts.subarray(0, size),
    };
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
