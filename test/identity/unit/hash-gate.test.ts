import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HashGate } from '../../../workers/identity/secrets/hash-gate.ts';

const HASH_MS = 250;
const never = () => new Promise<never>(() => {});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the password hash gate', () => {
  it('runs one hash at a time with pauses, and refuses more than twenty waiting requests', async () => {
    const gate = new HashGate();
    let [running, most] = [0, 0];
    const starts: number[] = [];
    const hash = async () => {
      starts.push(Date.now());
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, HASH_MS));
      running--;
      return 'key';
    };
    const results = Array.from({ length: 24 }, () => gate.run('known', hash));
    await vi.advanceTimersByTimeAsync(10_000);
    const settled = await Promise.all(results);
    // Expect that one hash runs and twenty requests wait; further ones were refused.
    expect(settled.filter((result) => result.ok)).toHaveLength(21);
    const refused = settled.filter((result) => !result.ok).map((result) => !result.ok && result.error);
    expect(refused).toHaveLength(3);
    expect(refused[0]).toMatchObject({ status: 503, code: 'too_many_logins', retryAfterSeconds: 3 });
    expect([most, starts.length]).toEqual([1, 21]);
    const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(HASH_MS + 100);
    // When the queue is empty, the gate must accept work again.
    const later = gate.run('known', async () => 'later');
    await vi.advanceTimersByTimeAsync(200);
    expect(await later).toEqual({ ok: true, value: 'later' });
  });

  it('serves known people first, and leaves strangers half of the queue', async () => {
    const gate = new HashGate();
    const order: string[] = [];
    const hash = (name: string) => async () => {
      order.push(name);
      await new Promise((resolve) => setTimeout(resolve, HASH_MS));
    };
    const strangers = Array.from({ length: 12 }, (_, at) => gate.run('stranger', hash(`stranger ${at}`)));
    await vi.advanceTimersByTimeAsync(50);
    const known = Array.from({ length: 3 }, (_, at) => gate.run('known', hash(`known ${at}`)));
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await Promise.all(strangers)).filter((result) => !result.ok)).toHaveLength(1);
    expect(new Set((await Promise.all(known)).map((result) => result.ok))).toEqual(new Set([true]));
    expect(order.slice(0, 4)).toEqual(['stranger 0', 'known 0', 'known 1', 'known 2']);
    expect(order).toHaveLength(14);
  });

  it('passes on the error of a hash, and continues', async () => {
    const gate = new HashGate();
    await expect(gate.run('known', () => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory');
    const next = gate.run('known', async () => 1);
    await vi.advanceTimersByTimeAsync(200);
    expect(await next).toEqual({ ok: true, value: 1 });
  });

  it('abandons a hash whose request died, and removes waiting requests that died', async () => {
    const gate = new HashGate();
    void gate.run('known', never);
    const polls: (() => void)[] = [];
    const { setTimeout } = globalThis;
    // Simulate dead requests: their timers never fire. A spy on a fake timer would stay in the files that run after this one.
    globalThis.setTimeout = ((run: () => void) => polls.push(run)) as never;
    for (let n = 0; n < 20; n++) void gate.run('known', never);
    globalThis.setTimeout = setTimeout;
    expect(polls).toHaveLength(20);
    expect(await gate.run('known', async () => 'full')).toMatchObject({ ok: false });
    await vi.advanceTimersByTimeAsync(1_500);
    const next = gate.run('known', async () => 'free');
    await vi.advanceTimersByTimeAsync(500);
    expect(await next).toEqual({ ok: true, value: 'free' });
  });
});
