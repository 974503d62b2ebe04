import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CountAnswer, CountReport } from '../../../durable-objects/leaderboard/domain/shard-counts.ts';
import { SeasonLink } from '../../../durable-objects/leaderboard/shard/season-link.ts';
import type { ShardBoard } from '../../../durable-objects/leaderboard/shard/shard-board.ts';

/** Makes a board that counts its reports, and a season that answers, fails or hangs. */
function createLink(shards = 4) {
  const state = {
    mode: 'answers' as 'answers' | 'fails' | 'hangs',
    sessions: 0,
    closed: 0,
    hasChanges: true,
    needsFull: 0,
  };
  const sent: number[] = [];
  const acknowledged: number[] = [];
  let number = 0;
  const board = {
    address: { season: '2026-11', shard: 1, shards },
    counts: {
      get hasChanges() {
        return state.hasChanges;
      },
      acknowledge(report: number) {
        acknowledged.push(report);
        state.hasChanges = false;
      },
    },
    players: { makeReport: () => ({ number: ++number }) as CountReport },
  } as unknown as ShardBoard;
  const open = async () => {
    state.sessions++;
    const exchange = async (report: CountReport): Promise<CountAnswer> => {
      sent.push(report.number);
      if (state.mode === 'hangs') await new Promise(() => {});
      if (state.mode === 'fails') throw new Error('the season is gone');
      return { needsFull: state.needsFull-- > 0 } as CountAnswer;
    };
    return Object.assign(exchange, {
      [Symbol.dispose]() {
        state.closed++;
      },
    });
  };
  const link = new SeasonLink(
    board,
    open,
    () => Date.now(),
    () => {},
  );
  return { link, state, sent, acknowledged };
}

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-10T12:00:00Z') });
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('the link of a shard with its season', () => {
  it('exchanges before a rank only if the last exchange is over a second old', async () => {
    const { link, sent } = createLink();
    await link.refresh();
    await link.refresh();
    vi.setSystemTime(Date.now() + 1_000);
    await link.refresh();
    expect(sent).toEqual([1]);
    vi.setSystemTime(Date.now() + 1);
    await link.refresh();
    expect(sent).toEqual([1, 2]);
  });

  it('exchanges nothing for a season of one shard', async () => {
    const { link, sent } = createLink(1);
    await link.refresh();
    expect(sent).toEqual([]);
  });

  it('pushes changes after 100 ms, once for all that came meanwhile', async () => {
    const { link, state, sent } = createLink();
    link.planPush();
    link.planPush();
    await vi.advanceTimersByTimeAsync(99);
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([1]);
    link.planPush();
    await vi.advanceTimersByTimeAsync(500);
    expect(sent).toEqual([1]);
    state.hasChanges = true;
    link.planPush();
    await vi.advanceTimersByTimeAsync(100);
    expect(sent).toEqual([1, 2]);
  });

  it('sends another report at once if the season needs a full one', async () => {
    const { link, state, sent, acknowledged } = createLink();
    state.needsFull = 2;
    await link.refresh();
    expect([sent, acknowledged]).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  it('waits for a season that hangs once, and then skips it for a second', async () => {
    const { link, state, sent } = createLink();
    state.mode = 'hangs';
    let isDone = false;
    const refreshed = link.refresh().then(() => {
      isDone = true;
    });
    await vi.advanceTimersByTimeAsync(299);
    expect(isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await refreshed;
    await link.refresh();
    expect(sent).toEqual([1]);
  });

  it('repeats a failed call once, then tries each second until the changes are pushed', async () => {
    const { link, state, sent, acknowledged } = createLink();
    state.mode = 'fails';
    link.planPush();
    await vi.advanceTimersByTimeAsync(100);
    expect([sent, acknowledged]).toEqual([[1, 2], []]);
    await link.refresh();
    await vi.advanceTimersByTimeAsync(999);
    expect(sent).toEqual([1, 2]);
    state.mode = 'answers';
    await vi.advanceTimersByTimeAsync(1);
    expect([sent, acknowledged]).toEqual([[1, 2, 3], [3]]);
  });

  it('uses one session for many exchanges, closes it when idle, and replaces an old one', async () => {
    const { link, state, sent } = createLink();
    for (let i = 0; i < 9; i++) {
      await link.push();
      await vi.advanceTimersByTimeAsync(900);
    }
    expect([sent.length, state.sessions, state.closed]).toEqual([9, 1, 0]);
    await vi.advanceTimersByTimeAsync(100);
    expect(state.closed).toBe(1);
    for (let i = 0; i < 30; i++) {
      await link.push();
      await vi.advanceTimersByTimeAsync(900);
    }
    expect([state.sessions, state.closed]).toEqual([3, 2]);
    link.stop();
    await vi.advanceTimersByTimeAsync(0);
    expect(state.closed).toBe(3);
  });
});
