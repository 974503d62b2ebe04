/**
 * Counts per score in bounded space. A bucket is a closed range of scores whose first `bits` binary digits are equal.
 * With 53 bits every score has its own bucket. With fewer bits every older bucket is inside a newer one.
 */
import { countFirst } from '../../../workers/leaderboard/domain/binary-search.ts';

/** Buckets as columns, the form in which objects exchange them. Objects of 0.2.0 send them in any order. */
export interface ScoreBuckets {
  /** The lowest score of each bucket. */
  readonly lows: Float64Array;
  /** The number of players in each bucket. */
  readonly counts: Float64Array;
}

/** Number of bits with which every score has a bucket of its own. */
export const BITS_MAX = 53;
/** Maximum number of buckets of one leaderboard. */
export const BUCKETS_MAX = 32_768;

const WIDTHS = Float64Array.from({ length: BITS_MAX + 1 }, (_, bits) => 2 ** bits);

/** Puts rows in score order. */
export function toScoreBuckets(rows: readonly (readonly [low: number, count: number])[]): ScoreBuckets {
  const sorted = rows.toSorted(([a], [b]) => a - b);
  return {
    lows: Float64Array.from(sorted, (row) => row[0]),
    counts: Float64Array.from(sorted, (row) => row[1]),
  };
}

/** Puts received buckets in score order. */
export function inOrder(buckets: ScoreBuckets): ScoreBuckets {
  const { lows, counts } = buckets;
  for (let at = 1; at < lows.length; at++) {
    if ((lows[at - 1] as number) < (lows[at] as number)) continue;
    return toScoreBuckets(Array.from(lows, (low, i): [number, number] => [low, counts[i] as number]));
  }
  return buckets;
}

/** The number of scores in the bucket that contains a score: a power of two. */
function widthOf(score: number, bits: number): number {
  if (score < 0) return 1;
  const high = Math.floor(score / 2 ** 32);
  const digits = high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(score);
  return digits <= bits ? 1 : (WIDTHS[digits - bits] as number);
}

/** The lowest and the highest score of the bucket that contains a score. */
export function bucketOf(score: number, bits: number): readonly [low: number, high: number] {
  const width = widthOf(score, bits);
  const low = score - (score % width);
  return [low, low + width - 1];
}

/** Sums the counts of buckets in score order into buckets with at most these bits. */
export function foldBuckets({ lows, counts }: ScoreBuckets, bits: number): ScoreBuckets {
  const folded = { lows: new Float64Array(lows.length), counts: new Float64Array(lows.length) };
  let size = 0;
  for (const [at, score] of lows.entries()) {
    const low = score - (score % widthOf(score, bits));
    if (size === 0 || folded.lows[size - 1] !== low) folded.lows[size++] = low;
    (folded.counts[size - 1] as number) += counts[at] as number;
  }
  return { lows: folded.lows.slice(0, size), counts: folded.counts.slice(0, size) };
}

/**
 * Sums counts per score into at most `bucketsMax` buckets with as many bits as possible, but at most `bits`.
 * @param rows scores without repetition, best first
 */
export function foldScores(
  rows: Iterable<readonly [score: number, count: number]>,
  bits: number,
  bucketsMax: number,
): { bits: number; buckets: ScoreBuckets } {
  let most = bits;
  let folded: [low: number, count: number][] = [];
  const add = (score: number, count: number): void => {
    const low = score - (score % widthOf(score, most));
    const last = folded.at(-1);
    if (last?.[0] === low) last[1] += count;
    else folded.push([low, count]);
  };
  for (const [score, count] of rows) {
    add(score, count);
    while (folded.length > bucketsMax) {
      const finer = folded;
      folded = [];
      most--;
      for (const [low, players] of finer) add(low, players);
    }
  }
  return { bits: most, buckets: toScoreBuckets(folded) };
}

/** The index of the first value that is greater than `score` in the first `length` values of an ascending column. */
export const firstAbove = (column: ArrayLike<number>, score: number, length = column.length): number =>
  countFirst(length, (at) => (column[at] as number) <= score);
