/**
 * Distributions of scores: the number of players per range of scores. All ranges have the same round width, and together they cover
 * the lowest to the highest score.
 */
import { type ScoreRules, toShown, toStored } from './score-rules.ts';

export const RANGES_MAX = 50;

export interface ScoreRange {
  readonly from: number;
  /** Inclusive upper end of the range. */
  readonly to: number;
}

export interface Distribution {
  /** Ranges in ascending order, without gaps, including those without players. Empty if there are no players at all. */
  readonly ranges: readonly (ScoreRange & { readonly players: number })[];
  readonly players: number;
  /** Time as of which the counts are exact, in milliseconds since 1970. */
  readonly asOf: number;
}

/**
 * Divides the scores from the lowest to the highest into ranges.
 * @returns at most `rangesMax` ranges. Their width is 1, 2 or 5 times a power of ten, and each begins at a multiple of the width.
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

/**
 * Counts the players in each range.
 * @param ends lowest and highest stored score, and the number of players.
 * @param countAbove returns the number of players above each of the given stored scores.
 */
export async function distribute(
  rules: ScoreRules,
  { least, best, players }: { readonly least: number; readonly best: number; readonly players: number },
  rangesMax: number,
  countAbove: (scores: readonly number[]) => Promise<readonly number[]>,
): Promise<Distribution['ranges']> {
  const ends = [toShown(rules, least), toShown(rules, best)];
  const ranges = decideRanges(Math.min(...ends), Math.max(...ends), rangesMax);
  const isMirrored = rules.sort === 'asc';
  // The stored scores that separate neighbouring ranges. If scores are mirrored, a lower range has the higher stored scores.
  const limits = ranges.slice(0, -1).map(({ to }) => (isMirrored ? toStored(rules, to) - 1 : toStored(rules, to)));
  const counts = await countAbove(limits);
  const above = isMirrored ? counts.map((count) => players - count) : counts;
  return ranges.map((range, i) => ({ ...range, players: (above[i - 1] ?? players) - (above[i] ?? 0) }));
}
