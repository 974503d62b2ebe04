/** Tests the rate of posts of a shard: it holds over seconds, refuses early, and tells a burst from a board that is too small. */
import { expect, it } from 'vitest';
import { PostRate } from '../../../durable-objects/leaderboard/domain/post-rate.ts';

it('takes a second of posts at once, then the rate, and says when to come again', () => {
  const rate = new PostRate();
  const now = 1_800_000_000_000;
  const taken = (at: number, posts: number) =>
    Array.from({ length: posts }, () => rate.take(1, 10, at)).filter((waitMs) => waitMs === 0).length;
  expect(taken(now, 50)).toBe(10);
  expect(rate.take(1, 10, now)).toBe(100);
  expect(taken(now + 100, 5)).toBe(1);
  let all = 0;
  for (let ms = 200; ms <= 10_000; ms += 10) all += taken(now + ms, 3);
  // One less by rounding.
  expect([98, 99]).toContain(all);
  expect(rate.take(1, 10, now - 60_000)).toBeGreaterThan(0);
});

it('counts a batch by its updates', () => {
  const rate = new PostRate();
  expect(rate.take(1_000, 25, 1_000_000)).toBe(0);
  expect(rate.take(1_000, 25, 1_000_000)).toBe(1_000);
});

it('says that a board is too small after thirty seconds with refused posts, not after a burst', () => {
  const rate = new PostRate();
  for (let i = 0; i < 1_000; i++) rate.take(1, 1, 5_000_000 + (i % 2));
  expect(rate.takeVerdict()).toBe(false);
  for (let second = 0; second < 30; second++) for (let i = 0; i < 3; i++) rate.take(1, 1, 6_000_000 + second * 1_000);
  expect(rate.takeVerdict()).toBe(true);
  expect(rate.takeVerdict()).toBe(false);
});
