import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { admitRequest, wasRefused } from '../../../workers/shared/json/request-rates.ts';

/** Makes a rate limiter that behaves like the platform's: it admits a number of calls per key. */
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

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

it.each([
  ['1000', 10],
  ['9999', 10],
  ['10000', 100],
])('of %s posts, admits %i per granted call, and none for a second after a refusal', async (quota, perCall) => {
  const limiter = createLimiter(3);
  const env = { RATE_LIMIT_SCORES: limiter, SCORE_POSTS_PER_TOKEN: quota } as unknown as Env;
  const greedy = `greedy of ${quota}`;
  let admitted = 0;
  while (await admitRequest(env, 'token', greedy)) admitted++;
  expect([admitted, limiter.calls.get(greedy)]).toEqual([3 * perCall, 4]);
  vi.setSystemTime(1_000_999);
  expect(await admitRequest(env, 'token', greedy)).toBe(false);
  expect(limiter.calls.get(greedy)).toBe(4);
  expect(await admitRequest(env, 'token', `modest of ${quota}`)).toBe(true);
});

it('calls the limiter again in the next second, as long as it refuses', async () => {
  const limiter = createLimiter(1);
  const admit = () => admitRequest({ RATE_LIMIT_SCORES: limiter } as unknown as Env, 'token', 'patient');
  while (await admit());
  for (let second = 1; second <= 5; second++) {
    vi.setSystemTime(1_000_000 + 2_000 * second);
    expect(await admit()).toBe(false);
  }
  expect(limiter.calls.get('patient')).toBe(7);
});

it('calls the limiter for each post if the quota is small', async () => {
  const limiter = createLimiter(3);
  const env = { RATE_LIMIT_SCORES: limiter, SCORE_POSTS_PER_TOKEN: '3' } as unknown as Env;
  let admitted = 0;
  while (await admitRequest(env, 'token', 'small')) admitted++;
  expect([admitted, limiter.calls.get('small')]).toEqual([3, 4]);
});

it('calls the limiter for each request of a user, and remembers a refusal for the period', async () => {
  const limiter = createLimiter(1);
  const admit = () => admitRequest({ RATE_LIMIT_USER: limiter } as unknown as Env, 'user', 'ada');
  expect([await admit(), wasRefused('user', 'ada')]).toEqual([true, false]);
  expect([await admit(), wasRefused('user', 'ada')]).toEqual([false, true]);
  expect(await admit()).toBe(false);
  expect(limiter.calls.get('ada')).toBe(3);
  vi.setSystemTime(1_010_000);
  expect(wasRefused('user', 'ada')).toBe(false);
});
