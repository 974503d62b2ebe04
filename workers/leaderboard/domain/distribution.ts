/** Distributions of scores: players per range. Ranges have one round width, from the least score to the best. */

/** Most ranges of one distribution. */
export const RANGES_MAX = 50;

export interface ScoreRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
}

export interface CountedRange extends ScoreRange {
  readonly players: number;
}

export interface Distribution {
  /** Ascending, without gaps, including empty ranges. An empty list without players. */
  readonly ranges: readonly CountedRange[];
  readonly players: number;
  /** Milliseconds since 1970. */
  readonly asOf: number;
}

/**
 * @returns at most `rangesMax` ranges. Their width is 1, 2 or 5 times a power of ten; they begin at multiples of it.
 */
export function decideRanges(least: number, best: number, rangesMax: number): ScoreRange[] {
  const width = decideWidth(least, best, rangesMax);
  const first = Math.floor(least / width);
  const last = Math.floor(best / width);
  return Array.from({ length: last - first + 1 }, (_, i) => ({
    from: (first + i) * width,
    to: Math.min((first + i + 1) * width - 1, Number.MAX_SAFE_INTEGER),
  }));
}

function decideWidth(least: number, best: number, rangesMax: number): number {
  for (let power = 1; ; power *= 10) {
    for (const width of [power, 2 * power, 5 * power]) {
      if (Math.floor(best / width) - Math.floor(least / width) < rangesMax) return width;
    }
  }
}

/** Every list that `decideRanges` returns for up to `rangesMax` ranges, the finest last. */
export function decideAllRanges(least: number, best: number, rangesMax: number): ScoreRange[][] {
  const lists: ScoreRange[][] = [];
  for (let most = 1; most <= rangesMax; most++) {
    const ranges = decideRanges(least, best, most);
    if (ranges.length !== lists.at(-1)?.length) lists.push(ranges);
  }
  return lists;
}

/** Adds scores to the counts of ranges that contain them. @returns the new count of each range. */
export function addScores(
  ranges: readonly ScoreRange[],
  before: readonly number[],
  scores: readonly number[],
): number[] {
  const counts = ranges.map((_, i) => before[i] ?? 0);
  const [first, second] = ranges;
  const width = (second?.from ?? Number.POSITIVE_INFINITY) - (first?.from ?? 0);
  for (const score of scores) {
    const at = Math.floor((score - (first?.from ?? 0)) / width);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}

/** @param above players above each range but the last. */
export function countRanges(ranges: readonly ScoreRange[], above: readonly number[], players: number): CountedRange[] {
  return ranges.map((range, i) => ({ ...range, players: (above[i - 1] ?? players) - (above[i] ?? 0) }));
}
