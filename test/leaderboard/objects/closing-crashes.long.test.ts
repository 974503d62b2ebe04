import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWithCut, watchClosings } from './closing-crashes.ts';

beforeEach(watchClosings);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('the end of a month with a power cut', () => {
  it.each(['before', 'after'] as const)('is complete, with one notice, for a cut %s each step', async (side) => {
    let at = 1;
    while ((await runWithCut({ at, side })).length >= at) at++;
    console.log(`${at - 1} steps`);
    expect(at - 1).toBeGreaterThan(8);
  });
});
