import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SeasonLine } from '../../../durable-objects/leaderboard-shard/season-line.ts';
import type { CountAnswer, CountReport } from '../../../workers/leaderboard/domain/shard-report.ts';

const report = { number: 1 } as CountReport;

/** A season that notes its lines: each answers with its number until it is broken or given up. */
function createSeason() {
  const lines: { isBroken: boolean; isGivenUp: boolean }[] = [];
  let isAway = false;
  let slowMs = 0;
  const line = new SeasonLine(async () => {
    if (isAway) throw new Error('the season is away');
    const state = { isBroken: false, isGivenUp: false };
    const version = lines.push(state);
    return {
      async exchange(): Promise<CountAnswer> {
        if (state.isBroken || state.isGivenUp) throw new Error('the line is broken');
        if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs));
        return { version } as CountAnswer;
      },
      [Symbol.dispose]() {
        state.isGivenUp = true;
      },
    };
  });
  const setAway = (away: boolean) => {
    isAway = away;
  };
  const setSlow = (ms: number) => {
    slowMs = ms;
  };
  return { line, lines, setAway, setSlow };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the line of a shard to its season', () => {
  it('is one for many exchanges', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 100; i++) expect((await line.exchange(report)).version).toBe(1);
    expect(lines).toEqual([{ isBroken: false, isGivenUp: false }]);
  });

  it('is another one after it broke, at the next exchange', async () => {
    const { line, lines } = createSeason();
    await line.exchange(report);
    Object.assign(lines[0] ?? {}, { isBroken: true });
    await expect(line.exchange(report)).rejects.toThrow('broken');
    expect((await line.exchange(report)).version).toBe(2);
    expect(lines[0]?.isGivenUp).toBe(true);
  });

  it('is tried again after the season could not be reached', async () => {
    const { line, setAway } = createSeason();
    setAway(true);
    await expect(line.exchange(report)).rejects.toThrow('away');
    setAway(false);
    expect((await line.exchange(report)).version).toBe(1);
  });

  it('is given up within a second after its last exchange, and leaves no timer behind', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 10; i++) {
      expect((await line.exchange(report)).version).toBe(1);
      await vi.advanceTimersByTimeAsync(300);
    }
    expect(lines[0]?.isGivenUp).toBe(false);
    await vi.advanceTimersByTimeAsync(700);
    expect(lines[0]?.isGivenUp).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect((await line.exchange(report)).version).toBe(2);
  });

  it('is not given up while an exchange takes long', async () => {
    const { line, lines, setSlow } = createSeason();
    setSlow(5_000);
    const slow = line.exchange(report);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(lines[0]?.isGivenUp).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await slow).version).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lines[0]?.isGivenUp).toBe(true);
  });

  it('is opened anew when it is old, however busy', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 240; i++) {
      await line.exchange(report);
      await vi.advanceTimersByTimeAsync(250);
    }
    expect(lines.length).toBe(3);
    expect(lines.slice(0, 2).every(({ isGivenUp }) => isGivenUp)).toBe(true);
  });
});
