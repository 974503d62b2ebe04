import { expect, it } from 'vitest';
import { admitPost } from '../../../workers/leaderboard/score-rate.ts';

/** Behaves like the platform's rate limiter: a number of calls per key. */
function createLimiter(limit: number) {
  const calls = new Map<string, number>();
  return {
    calls,
    async limit({ key }: { key: string }) {
      calls.set(key, (calls.get(key) ?? 0) + 1);
      return { success: (calls.get(key) ?? 0) <= limit };
    },
  };
}

it('admits ten posts per granted call, and none for a second after a refusal', async () => {
  const limiter = createLimiter(3);
  let admitted = 0;
  while (await admitPost(limiter, 'greedy', 1_000)) admitted++;
  expect([admitted, limiter.calls.get('greedy')]).toEqual([30, 4]);
  expect(await admitPost(limiter, 'greedy', 1_999)).toBe(false);
  expect(limiter.calls.get('greedy')).toBe(4);
  expect(await admitPost(limiter, 'modest', 1_000)).toBe(true);
});

it('calls the limiter again in the next second, as long as it refuses', async () => {
  const limiter = createLimiter(1);
  let now = 0;
  while (await admitPost(limiter, 'patient', now)) now++;
  for (let second = 1; second <= 5; second++) expect(await admitPost(limiter, 'patient', 2_000 * second)).toBe(false);
  expect(limiter.calls.get('patient')).toBe(7);
});
