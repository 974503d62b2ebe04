/**
 * Counts per score in bounded space. A bucket is a closed range of scores whose first `bits` binary digits are equal.
 * With 53 bits every score has its own bucket. With fewer bits every older bucket is inside a newer one.
 */
import { countFirst } from '../../../workers/leaderboard/domain/binary-search.ts';

/** Buckets as columns, the form in which objects exchange them. */
export interface ScoreBuckets {
  /** The lowest score of each bucket. */
  readonly lows: Float64Array;
  /** The number of players in each bucket. */
  readonly counts: Float64Array;
}

/** Number of bits with which every score has a bucket of its own. */
export const BITS_MAX = 53;
/** Maximum number of buckets of one leaderboard. */
export const BUCKETS_MAX = 65_536;

export const toScoreBuckets = (rows: readonly (readonly [low: number, count: number])[]): ScoreBuckets => ({
  lows: Float64Array.from(rows, (row) => row[0]),
  counts: Float64Array.from(rows, (row) => row[1]),
});

/** The lowest and the highest score of the bucket that contains a score. */
export function bucketOf(score: number, bits: number): readonly [low: number, high: number] {
  let width = 1;
  while (score / width >= 2 ** bits) width *= 2;
  const low = score - (score % width);
  return [low, low + width - 1];
}

/** Sums counts per score, in score order, into counts per bucket. */
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

/** The index of the first value that is greater than `score` in an ascending column. */
export const firstAbove = (column: ArrayLike<number>, score: number): number =>
  countFirst(column.length, (at) => (column[at] as number) <= score);
