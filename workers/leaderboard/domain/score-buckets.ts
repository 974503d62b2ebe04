/**
 * Counts per score in bounded space. A bucket is a closed range of scores whose first `bits` binary digits are equal.
 * With 53 bits every score has its own bucket. With fewer bits every older bucket is inside a newer one.
 */
import { countFirst } from './binary-search.ts';

/** Buckets as flat columns. Objects exchange them in this form. */
export interface ScoreBuckets {
  /** The lowest score of each bucket. */
  readonly lows: Float64Array;
  /** Players in each bucket. */
  readonly counts: Float64Array;
}

/** Every score is exact. */
export const BITS_MAX = 53;
/** Most buckets of one leaderboard. */
export const BUCKETS_MAX = 65_536;

export const toScoreBuckets = (rows: readonly (readonly [low: number, count: number])[]): ScoreBuckets => ({
  lows: Float64Array.from(rows, (row) => row[0]),
  counts: Float64Array.from(rows, (row) => row[1]),
});

/** The lowest and the highest score of a score's bucket. */
export function bucketOf(score: number, bits: number): readonly [low: number, high: number] {
  let width = 1;
  while (score / width >= 2 ** bits) width *= 2;
  const low = score - (score % width);
  return [low, low + width - 1];
}

/** Sums rows in score order into buckets. */
export function foldCounts(rows: Iterable<readonly [score: number, count: number]>, bits: number): [number, number][] {
  const folded: [number, number][] = [];
  for (const [score, count] of rows) {
    const [low] = bucketOf(score, bits);
    const last = folded.at(-1);
    if (last?.[0] === low) last[1] += count;
    else folded.push([low, count]);
  }
  return folded;
}

/** The first position whose value is greater than `score`, in an ascending column. */
export const firstAbove = (column: ArrayLike<number>, score: number): number =>
  countFirst(column.length, (at) => (column[at] as number) <= score);
