import { expect, it } from 'vitest';
import {
  addScores,
  countRanges,
  decideAllRanges,
  decideRanges,
} from '../../../workers/leaderboard/domain/distribution.ts';
import { announceSeed, createRandom } from './random.ts';

it('divides any scores into round ranges without gaps, with every player in one range', () => {
  const random = createRandom(announceSeed());
  for (let round = 0; round < 500; round++) {
    const size = 2 ** Math.floor(random() * 54);
    const scores = Array.from({ length: 1 + Math.floor(random() * 40) }, () => Math.floor(random() * size));
    const limit = 1 + Math.floor(random() * 50);
    const [least, best] = [Math.min(...scores), Math.max(...scores)];
    const ranges = decideRanges(least, best, limit);
    expect(ranges.length).toBeLessThanOrEqual(limit);
    const above = ranges.slice(0, -1).map(({ to }) => scores.filter((score) => score > to).length);
    for (const [i, { from, to, players }] of countRanges(ranges, above, scores.length).entries()) {
      expect(players).toBe(scores.filter((score) => score >= from && score <= to).length);
      if (i > 0) expect(from).toBe((ranges[i - 1]?.to ?? 0) + 1);
    }
    expect(ranges[0]?.from).toBeLessThanOrEqual(least);
    expect(ranges.at(-1)?.to).toBeGreaterThanOrEqual(best);
  }
});

it('counts scores of several files into any requested list of ranges', () => {
  const random = createRandom(announceSeed());
  for (let round = 0; round < 80; round++) {
    const size = 2 ** Math.floor(random() * 54);
    const scores = Array.from({ length: 1 + Math.floor(random() * 40) }, () => Math.floor(random() * size));
    const [least, best] = [Math.min(...scores), Math.max(...scores)];
    const lists = decideAllRanges(least, best, 50);
    const cut = Math.floor(random() * scores.length);
    for (let limit = 1; limit <= 50; limit++) {
      const ranges = lists.findLast((each) => each.length <= limit) ?? [];
      expect(ranges).toEqual(decideRanges(least, best, limit));
      const counts = addScores(ranges, addScores(ranges, [], scores.slice(0, cut)), scores.slice(cut));
      expect(counts).toEqual(ranges.map(({ from, to }) => scores.filter((each) => each >= from && each <= to).length));
    }
  }
});

it('uses the smallest width of 1, 2 or 5 times a power of ten that fits', () => {
  expect(decideRanges(0, 9, 10)).toHaveLength(10);
  expect(decideRanges(0, 10, 10)[0]).toEqual({ from: 0, to: 1 });
  expect(decideRanges(7, 7, 1)).toEqual([{ from: 7, to: 7 }]);
  expect(decideRanges(0, Number.MAX_SAFE_INTEGER, 50).at(-1)?.to).toBe(Number.MAX_SAFE_INTEGER);
});
