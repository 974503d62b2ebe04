/**
 * Counts per score in bounded space. A bucket is a closed interval of scores, usually of one score. A layout is the set
 * of intervals with several scores ("mixed"). Layouts only become coarser: every older bucket is inside a newer one.
 */

/** Buckets in ascending order of score, as flat columns. Objects exchange them in this form. */
export interface ScoreBuckets {
  readonly lows: Float64Array;
  readonly highs: Float64Array;
  readonly counts: Float64Array;
}

export const NO_BUCKETS: ScoreBuckets = {
  lows: new Float64Array(0),
  highs: new Float64Array(0),
  counts: new Float64Array(0),
};

/** Most buckets of one leaderboard. */
export const BUCKETS_MAX = 65_536;

export function toScoreBuckets(rows: readonly (readonly [low: number, high: number, count: number])[]): ScoreBuckets {
  return {
    lows: Float64Array.from(rows, (row) => row[0]),
    highs: Float64Array.from(rows, (row) => row[1]),
    counts: Float64Array.from(rows, (row) => row[2]),
  };
}

/** The first position whose value is greater than `score`, in an ascending column. */
export function firstAbove(column: ArrayLike<number>, score: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] as number) > score) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The mixed intervals, ascending and disjoint. Every other score has its own bucket. */
export class BucketLayout {
  readonly lows: Float64Array;
  readonly highs: Float64Array;

  constructor(lows: Float64Array = new Float64Array(0), highs: Float64Array = new Float64Array(0)) {
    this.lows = lows;
    this.highs = highs;
  }

  /** The bucket of a score. */
  find(score: number): readonly [low: number, high: number] {
    const at = firstAbove(this.lows, score) - 1;
    const high = this.highs[at];
    return high !== undefined && high >= score ? [this.lows[at] as number, high] : [score, score];
  }

  /** A layout with these intervals added. Overlapping ones are joined. */
  coarsen(intervals: readonly (readonly [low: number, high: number])[]): BucketLayout {
    const all: [number, number][] = intervals.map(([low, high]) => [low, high]);
    for (let i = 0; i < this.lows.length; i++) all.push([this.lows[i] as number, this.highs[i] as number]);
    all.sort((a, b) => a[0] - b[0]);
    const joined: [number, number][] = [];
    for (const [low, high] of all) {
      const last = joined.at(-1);
      if (last !== undefined && low <= last[1]) last[1] = Math.max(last[1], high);
      else joined.push([low, high]);
    }
    return new BucketLayout(
      Float64Array.from(joined, (interval) => interval[0]),
      Float64Array.from(joined, (interval) => interval[1]),
    );
  }
}

/**
 * Chooses neighboring buckets to join so that at most `target` are left. Scores of many players stay separate, so that
 * most ranks stay exact without asking the shards.
 * @returns the intervals for `coarsen`.
 */
export function decideJoins(buckets: ScoreBuckets, target: number): [low: number, high: number][] {
  const { lows, highs, counts } = buckets;
  const groupsWithin = (limit: number, join?: (from: number, to: number) => void): number => {
    let groups = 0;
    let start = 0;
    let weight = 0;
    for (let i = 0; i < lows.length; i++) {
      const count = counts[i] as number;
      if (i > start && weight + count > limit) {
        join?.(start, i - 1);
        groups++;
        start = i;
        weight = 0;
      }
      weight += count;
    }
    join?.(start, lows.length - 1);
    return groups + 1;
  };
  if (lows.length <= target) return [];
  let low = 1;
  let high = counts.reduce((sum, count) => sum + count, 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (groupsWithin(middle) <= target) high = middle;
    else low = middle + 1;
  }
  const joins: [number, number][] = [];
  groupsWithin(low, (from, to) => {
    if (to > from) joins.push([lows[from] as number, highs[to] as number]);
  });
  return joins;
}
