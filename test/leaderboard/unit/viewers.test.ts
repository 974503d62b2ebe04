import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TopList } from '../../../durable-objects/leaderboard/protocol.ts';
import { ViewFeed } from '../../../durable-objects/leaderboard/season/view-feed.ts';
import { Viewers } from '../../../durable-objects/leaderboard/view/viewers.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocketRequestResponsePair', class {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Makes a top list whose content is just a number. */
const toList = (n: number) => ({ message: `${n}`, shown: `${n}` });

/** Makes viewers that read event streams. */
function createViewers() {
  const ctx = { setWebSocketAutoResponse() {}, getWebSockets: () => [] };
  const viewers = new Viewers(ctx as unknown as DurableObjectState);
  const open = (limit: number, n: number, perClient = 100) =>
    viewers.open(new Request('https://view/live'), { limit, client: 'viewer', perClient }, toList(n));
  const watch = (limit: number, n: number): number[] => {
    const seen: number[] = [];
    const body = open(limit, n).body as ReadableStream<Uint8Array>;
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const pump = async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (const [, number] of part.value.matchAll(/data: (\d+)/g)) seen.push(Number(number));
      }
    };
    void pump();
    return seen;
  };
  return { viewers, open, watch };
}

describe('viewers of the live list', () => {
  it('receive the list at once and each change of the entries that they see, made once per number of entries', async () => {
    const { viewers, watch } = createViewers();
    const [ten, five, other] = [watch(10, 0), watch(5, 0), watch(10, 0)];
    const made: number[] = [];
    for (const n of [1, 1, 2]) {
      viewers.send((limit) => {
        made.push(limit);
        return toList(limit === 5 ? 0 : n);
      });
      await vi.advanceTimersByTimeAsync(1);
    }
    expect([ten, five, other]).toEqual([[0, 1, 2], [0], [0, 1, 2]]);
    expect(made).toEqual([10, 5, 10, 5, 10, 5]);
  });

  it('receive only the newest list after they were slow', async () => {
    const { viewers, open } = createViewers();
    const body = open(10, 0).body as ReadableStream<Uint8Array>;
    for (let n = 1; n <= 9; n++) {
      viewers.send(() => toList(n));
      await vi.advanceTimersByTimeAsync(1);
    }
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('data: 9')) text += (await reader.read()).value;
    expect([...text.matchAll(/data: (\d+)/g)].length).toBeLessThan(5);
  });

  it('of one client are limited, and a stream that was ended makes room', async () => {
    const { viewers, open } = createViewers();
    const first = open(10, 0, 1);
    expect([open(10, 0, 1).status, viewers.count]).toEqual([429, 1]);
    await first.body?.cancel();
    viewers.send(() => toList(1));
    await vi.advanceTimersByTimeAsync(1);
    expect([open(10, 0, 1).status, vi.getTimerCount()]).toEqual([200, 1]);
    viewers.closeAll();
    expect([viewers.count, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

/** Makes a season with views that answer, fail or hang. */
function createFeed() {
  const state = { list: 0, mode: 'reads' as 'reads' | 'idle' | 'fails' | 'hangs', names: ['enam:0'], onNews: () => {} };
  const got: [view: string, list: number][] = [];
  const stub = (view: string) => ({
    async news(_season: string, { players }: TopList): Promise<boolean> {
      got.push([view, players]);
      state.onNews();
      if (state.mode === 'fails') throw new Error('the view is gone');
      if (state.mode === 'hangs') await new Promise(() => {});
      return state.mode === 'reads';
    },
  });
  const env = { LEADERBOARD_VIEW: { idFromName: (name: string) => name, get: stub } } as unknown as Env;
  const store = {
    readViews: () => state.names,
    addView: (name: string) => void state.names.push(name),
    removeView(name: string) {
      state.names = state.names.filter((each) => each !== name);
    },
  };
  const feed = new ViewFeed(env, store as never, '2026-11', () => ({ entries: [], players: state.list, asOf: 1 }));
  const change = () => {
    state.list++;
    feed.plan();
  };
  return { feed, state, got, change };
}

describe('the views of a season', () => {
  it('receive at most ten lists a second, and the newest one last', async () => {
    const { feed, got, change, state } = createFeed();
    feed.register('weur:0');
    expect(state.names).toEqual(['enam:0', 'weur:0']);
    for (let i = 0; i < 400; i++) {
      change();
      await vi.advanceTimersByTimeAsync(5);
    }
    await vi.advanceTimersByTimeAsync(200);
    const own = got.filter(([view]) => view.endsWith('weur:0'));
    expect(own.length).toBeGreaterThan(15);
    expect(own.length).toBeLessThanOrEqual(21);
    expect([own.at(-1)?.[1], got.length]).toEqual([state.list, own.length * 2]);
  });

  it('are removed when they have no readers', async () => {
    const { got, change, state } = createFeed();
    state.mode = 'idle';
    change();
    await vi.advanceTimersByTimeAsync(200);
    change();
    await vi.advanceTimersByTimeAsync(200);
    expect([got.length, state.names, vi.getTimerCount()]).toEqual([1, [], 0]);
  });

  it('are kept if they register while they answer that they have no readers', async () => {
    const { feed, got, change, state } = createFeed();
    state.mode = 'idle';
    state.onNews = () => feed.register('enam:0');
    change();
    await vi.advanceTimersByTimeAsync(200);
    expect(state.names).toEqual(['enam:0']);
    change();
    await vi.advanceTimersByTimeAsync(200);
    expect(got.map(([, list]) => list)).toEqual([1, 2]);
  });

  it.each(['fails', 'hangs'] as const)(
    'receive a change that could not be sent, without a further change: %s',
    async (mode) => {
      vi.spyOn(console, 'error').mockImplementation(() => {});
      const { got, change, state } = createFeed();
      state.mode = mode;
      change();
      await vi.advanceTimersByTimeAsync(200);
      change();
      state.mode = 'reads';
      await vi.advanceTimersByTimeAsync(10_000);
      expect([got[0]?.[1], got.at(-1)?.[1]]).toEqual([1, 2]);
    },
  );
});
