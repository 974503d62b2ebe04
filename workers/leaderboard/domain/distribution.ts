/** How many players have how many points: ranges of scores of one round width, from the least score to the best. */

export interface ScoreRange {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
}

export interface CountedRange extends ScoreRange {
  readonly players: number;
}

export interface Distribution {
  /** Ascending and without gaps; empty ranges are among them. None when nobody plays. */
  readonly ranges: readonly CountedRange[];
  readonly players: number;
  /** Milliseconds since 1970. */
  readonly asOf: number;
}

/** @returns at most `rangesMax` ranges whose width is 1, 2 or 5 times a power of ten and which begin at multiples of it. */
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

/** @param above for each range but the last, how many players are above it. */
export function countRanges(ranges: readonly ScoreRange[], above: readonly number[], players: number): CountedRange[] {
  return ranges.map((range, i) => ({ ...range, players: (above[i - 1] ?? players) - (above[i] ?? 0) }));
}
