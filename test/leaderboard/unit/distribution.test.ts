import { expect, it } from 'vitest';
import { decideRanges, distribute } from '../../../workers/leaderboard/domain/distribution.ts';
import { DEFAULT_RULES, SORTS, toStored } from '../../../workers/leaderboard/domain/score-rules.ts';
import { announceSeed, createRandom } from './random.ts';

it.each(SORTS)(
  'divides any scores into round ranges without gaps, with every player in one range: %s',
  async (sort) => {
    const random = createRandom(announceSeed());
    const rules = { ...DEFAULT_RULES, sort };
    for (let round = 0; round < 500; round++) {
      const size = 2 ** Math.floor(random() * 54);
      const scores = Array.from({ length: 1 + Math.floor(random() * 40) }, () => Math.floor(random() * size));
      const limit = 1 + Math.floor(random() * 50);
      const stored = scores.map((score) => toStored(rules, score));
      const ends = { least: Math.min(...stored), best: Math.max(...stored), players: scores.length };
      const ranges = await distribute(rules, ends, limit, async (limits) =>
        limits.map((each) => stored.filter((score) => score > each).length),
      );
      const [least, best] = [Math.min(...scores), Math.max(...scores)];
      expect(ranges.length).toBeLessThanOrEqual(limit);
      expect(ranges.map(({ from, to }) => ({ from, to }))).toEqual(decideRanges(least, best, limit));
      for (const [i, { from, to, players }] of ranges.entries()) {
        expect(players).toBe(scores.filter((score) => score >= from && score <= to).length);
        if (i > 0) expect(from).toBe((ranges[i - 1]?.to ?? 0) + 1);
      }
      expect(ranges[0]?.from).toBeLessThanOrEqual(least);
      expect(ranges.at(-1)?.to).toBeGreaterThanOrEqual(best);
    }
  },
);

it('uses the smallest width of 1, 2 or 5 times a power of ten that fits', () => {
  expect(decideRanges(0, 9, 10)).toHaveLength(10);
  expect(decideRanges(0, 10, 10)[0]).toEqual({ from: 0, to: 1 });
  const widths = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
  const widthOf = (best: number) => (decideRanges(0, best, 10)[0]?.to ?? 0) + 1;
  expect(widths.map((width) => widthOf(10 * width - 1))).toEqual(widths);
  expect(widths.slice(0, -1).map((width) => widthOf(10 * width))).toEqual(widths.slice(1));
  expect(decideRanges(7, 7, 1)).toEqual([{ from: 7, to: 7 }]);
  expect(decideRanges(0, Number.MAX_SAFE_INTEGER, 50).at(-1)?.to).toBe(Number.MAX_SAFE_INTEGER);
});
