import { expect, it } from 'vitest';
import { admitPost } from '../../../workers/leaderboard/score-rate.ts';

/** As the platform's: so many questions a key. */
function createLimiter(limit: number) {
  const asked = new Map<string, number>();
  return {
    asked,
    async limit({ key }: { key: string }) {
      asked.set(key, (asked.get(key) ?? 0) + 1);
      return { success: (asked.get(key) ?? 0) <= limit };
    },
  };
}

it('admits ten posts for each question that the limiter grants, and none for a second after it refused', async () => {
  const limiter = createLimiter(3);
  let admitted = 0;
  while (await admitPost(limiter, 'greedy', 1_000)) admitted++;
  expect([admitted, limiter.asked.get('greedy')]).toEqual([30, 4]);
  expect(await admitPost(limiter, 'greedy', 1_999)).toBe(false);
  expect(limiter.asked.get('greedy')).toBe(4);
  expect(await admitPost(limiter, 'modest', 1_000)).toBe(true);
});

it('asks again when the second is over, for as long as it is refused', async () => {
  const limiter = createLimiter(1);
  let now = 0;
  while (await admitPost(limiter, 'patient', now)) now++;
  for (let second = 1; second <= 5; second++) expect(await admitPost(limiter, 'patient', 2_000 * second)).toBe(false);
  expect(limiter.asked.get('patient')).toBe(7);
});
