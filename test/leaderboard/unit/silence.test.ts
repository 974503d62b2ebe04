/** Tests how long callers wait for an object that is late. The clock is simulated. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UnavailableError } from '../../../workers/leaderboard/objects.ts';
import { ask, post, READ_MS } from '../../../workers/leaderboard/silence.ts';

const SHORT_MS = 200;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});

/** Asks an object. @returns how many milliseconds the caller waited, and the answer or the error. */
async function wait<T>(name: string, call: () => Promise<T>, by = ask<T>): Promise<[ms: number, got: unknown]> {
  const startedAt = Date.now();
  const asked = by(name, call).then(
    (value) => [Date.now() - startedAt, value] as [number, unknown],
    (error: unknown) => [Date.now() - startedAt, error] as [number, unknown],
  );
  await vi.advanceTimersByTimeAsync(20_000);
  vi.setSystemTime(startedAt);
  const [ms, got] = await asked;
  vi.setSystemTime(startedAt + ms);
  return [ms, got];
}
const answerAfter = (ms: number) => () => new Promise<string>((resolve) => setTimeout(() => resolve('here'), ms));

describe('an object that does not answer', () => {
  it('makes only the first caller wait long', async () => {
    expect(await wait('a', never)).toEqual([READ_MS, expect.any(UnavailableError)]);
    for (let caller = 0; caller < 5; caller += 1)
      expect(await wait('a', never)).toEqual([SHORT_MS, expect.any(UnavailableError)]);
    // Other objects are not affected.
    expect(await wait('b', answerAfter(1_000))).toEqual([1_000, 'here']);
  });

  it('is asked with patience by one caller after a while, and counts as silent until it answers', async () => {
    await wait('c', never);
    vi.setSystemTime(Date.now() + 2_000);
    expect((await wait('c', never))[0]).toBe(READ_MS);
    expect((await wait('c', never))[0]).toBe(SHORT_MS);
    vi.setSystemTime(Date.now() + 2_000);
    const probe = ask('c', answerAfter(1_500));
    // While one caller waits, the others do not.
    const other = ask('c', never).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(SHORT_MS);
    expect(await other).toBeInstanceOf(UnavailableError);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await probe).toBe('here');
    expect(await wait('c', answerAfter(2_900))).toEqual([2_900, 'here']);
  });
});

it('a post waits 15 seconds, and two for a shard that was late, until it answers', async () => {
  expect((await wait('f', answerAfter(14_000), post))[1]).toBe('here');
  expect(await wait('f', never, post)).toEqual([15_000, expect.any(UnavailableError)]);
  expect(await wait('f', never, post)).toEqual([2_000, expect.any(UnavailableError)]);
  expect((await wait('f', never))[0]).toBe(READ_MS);
  expect(await wait('f', answerAfter(1_900), post)).toEqual([1_900, 'here']);
  expect((await wait('f', answerAfter(14_000), post))[1]).toBe('here');
});

it('an object that fails at once is asked with patience again', async () => {
  const failure = await wait('e', () => Promise.reject(new Error('gone')));
  expect(failure).toEqual([
    0,
    expect.objectContaining({ cause: expect.objectContaining({ cause: new Error('gone') }) }),
  ]);
  expect(await wait('e', answerAfter(2_000))).toEqual([2_000, 'here']);
});
