import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SeasonLine } from '../../../durable-objects/leaderboard-shard/season-line.ts';
import type { CountAnswer, CountReport } from '../../../workers/leaderboard/domain/shard-report.ts';

const report = { number: 1 } as CountReport;

/** A season that records its connections. Each answers with its number until it is broken or closed. */
function createSeason() {
  const lines: { isBroken: boolean; isClosed: boolean }[] = [];
  let isUnreachable = false;
  let slowMs = 0;
  const line = new SeasonLine(async () => {
    if (isUnreachable) throw new Error('the season is unreachable');
    const state = { isBroken: false, isClosed: false };
    const version = lines.push(state);
    return {
      async exchange(): Promise<CountAnswer> {
        if (state.isBroken || state.isClosed) throw new Error('the line is broken');
        if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs));
        return { version } as CountAnswer;
      },
      [Symbol.dispose]() {
        state.isClosed = true;
      },
    };
  });
  const setUnreachable = (value: boolean) => {
    isUnreachable = value;
  };
  const setSlow = (ms: number) => {
    slowMs = ms;
  };
  return { line, lines, setUnreachable, setSlow };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the connection of a shard to its season', () => {
  it('is reused for many exchanges', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 100; i++) expect((await line.exchange(report)).version).toBe(1);
    expect(lines).toEqual([{ isBroken: false, isClosed: false }]);
  });

  it('is replaced at the next exchange after it broke', async () => {
    const { line, lines } = createSeason();
    await line.exchange(report);
    Object.assign(lines[0] ?? {}, { isBroken: true });
    await expect(line.exchange(report)).rejects.toThrow('broken');
    expect((await line.exchange(report)).version).toBe(2);
    expect(lines[0]?.isClosed).toBe(true);
  });

  it('is opened again after the season was unreachable', async () => {
    const { line, setUnreachable } = createSeason();
    setUnreachable(true);
    await expect(line.exchange(report)).rejects.toThrow('unreachable');
    setUnreachable(false);
    expect((await line.exchange(report)).version).toBe(1);
  });

  it('is closed within a second after its last exchange, and leaves no timer', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 10; i++) {
      expect((await line.exchange(report)).version).toBe(1);
      await vi.advanceTimersByTimeAsync(300);
    }
    expect(lines[0]?.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(700);
    expect(lines[0]?.isClosed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect((await line.exchange(report)).version).toBe(2);
  });

  it('stays open during a long exchange', async () => {
    const { line, lines, setSlow } = createSeason();
    setSlow(5_000);
    const slow = line.exchange(report);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(lines[0]?.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await slow).version).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lines[0]?.isClosed).toBe(true);
  });

  it('is replaced when it is old, even if it is busy', async () => {
    const { line, lines } = createSeason();
    for (let i = 0; i < 240; i++) {
      await line.exchange(report);
      await vi.advanceTimersByTimeAsync(250);
    }
    expect(lines.length).toBe(3);
    expect(lines.slice(0, 2).every(({ isClosed }) => isClosed)).toBe(true);
  });
});
