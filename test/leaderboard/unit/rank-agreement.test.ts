import { expect, it } from 'vitest';
import { agreeRanks, settleRanks } from '../../../workers/leaderboard/domain/standing.ts';
import { announceSeed, createRandom } from './random.ts';

const entry = (score: number, rank: number, i = 0) => {
  return { userId: `u${i}`, userName: `U${i}`, score, reached: i, rank };
};

it('agree if they are the ranks of one list, however many others are in it', () => {
  const random = createRandom(announceSeed());
  for (let round = 0; round < 300; round++) {
    const scores = Array.from({ length: 1 + Math.floor(random() * 30) }, () => Math.floor(random() * 12));
    const ranked = scores.map((score, i) => entry(score, 1 + scores.filter((other) => other > score).length, i));
    const some = ranked.filter(() => random() < 0.5);
    expect([some, agreeRanks(some)]).toEqual([some, true]);
    expect(settleRanks(some)).toEqual(some);
  }
});

it('are raised until no two of them contradict each other', () => {
  const random = createRandom(announceSeed());
  for (let round = 0; round < 300; round++) {
    const entries = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, i) =>
      entry(Math.floor(random() * 8), 1 + Math.floor(random() * 10), i),
    );
    const settled = settleRanks(entries);
    expect(settled.map(({ userId }) => userId)).toEqual(entries.map(({ userId }) => userId));
    for (const [i, a] of settled.entries()) {
      expect(a.rank).toBeGreaterThanOrEqual(entries[i]?.rank ?? 0);
      const above = settled.filter((b) => b.score > a.score);
      for (const b of above) expect(b.rank).toBeLessThan(a.rank);
      expect(a.rank).toBeGreaterThan(above.length);
      for (const b of settled) if (b.score === a.score) expect(b.rank).toBe(a.rank);
    }
  }
});

it('disagree if equal scores have two ranks, or a lower score has the same one', () => {
  expect(agreeRanks([entry(9, 1), entry(9, 2)])).toBe(false);
  expect(agreeRanks([entry(9, 2), entry(8, 2)])).toBe(false);
  expect(agreeRanks([entry(9, 1), entry(9, 1), entry(8, 2)])).toBe(false);
  expect(agreeRanks([entry(8, 3), entry(9, 1), entry(9, 1)])).toBe(true);
});
