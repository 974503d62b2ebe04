import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Viewers } from '../../../durable-objects/leaderboard-season/viewers.ts';

/** A list reduced to a number, and viewers that read streams of it. @param readMs duration of the next read. */
function createWorld(readMs: (limit: number) => number = () => 0) {
  const world = { now: 0, failures: 0 };
  const read = async (limit: number) => {
    const ms = readMs(limit);
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    if (world.failures-- > 0) throw new Error('a shard is unreachable');
    return { message: `${world.now}`, shown: `${world.now}` };
  };
  const ctx = { setWebSocketAutoResponse() {}, getWebSockets: () => [], waitUntil() {} };
  const viewers = new Viewers(ctx as unknown as DurableObjectState, read);
  const watch = async (limit: number): Promise<number[]> => {
    const viewer = { limit, client: 'viewer', perClient: 100 };
    const response = await viewers.open(new Request('https://season/live'), viewer, read(limit));
    const seen: number[] = [];
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    const pump = async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (const [, number] of part.value.matchAll(/data: (\d+)/g)) seen.push(Number(number));
      }
    };
    void pump();
    return seen;
  };
  const change = () => {
    world.now++;
    viewers.plan();
  };
  return { world, watch, change };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocketRequestResponsePair', class {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('viewers of the live list', () => {
  it('receive at most ten messages a second, and the newest list last', async () => {
    const { watch, change, world } = createWorld();
    const seen = await watch(10);
    await vi.advanceTimersByTimeAsync(500);
    for (let i = 0; i < 400; i++) {
      change();
      await vi.advanceTimersByTimeAsync(5);
    }
    await vi.advanceTimersByTimeAsync(200);
    expect(seen.length).toBeGreaterThan(15);
    expect(seen.length).toBeLessThanOrEqual(22);
    expect(seen.at(-1)).toBe(world.now);
  });

  it('never receive an older list after a newer one, even if another list is slow to read', async () => {
    let reads = 0;
    const { watch, change, world } = createWorld((limit) => (limit === 5 && reads++ % 2 === 1 ? 350 : 0));
    const lists = [watch(10), watch(5), watch(10)];
    await vi.advanceTimersByTimeAsync(1_000);
    const all = await Promise.all(lists);
    for (let i = 0; i < 100; i++) {
      change();
      await vi.advanceTimersByTimeAsync(30);
    }
    await vi.advanceTimersByTimeAsync(2_000);
    for (const seen of all) {
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(seen.at(-1)).toBe(world.now);
    }
  });

  it('receive a change whose first read failed, without a further change', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { watch, change, world } = createWorld();
    const seen = await watch(10);
    world.failures = 2;
    change();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(seen).toEqual([0, 1]);
  });

  it('receive nothing without a change, and only the heartbeat timer runs', async () => {
    const { watch, change } = createWorld();
    const seen = await watch(10);
    change();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toEqual([0, 1]);
    expect(vi.getTimerCount()).toBe(1);
  });
});
