import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWithCut, watchClosings } from './closing-crashes.ts';

beforeEach(watchClosings);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.each([false, true])('closing a month with a power cut, with a file of the archive lost: %s', (isFileLost) => {
  it.each(['before', 'after'] as const)(
    'ends with one correct archive and no other files, for a cut %s each step',
    async (side) => {
      let at = 1;
      while ((await runWithCut({ at, side, isFileLost })).length >= at) at++;
      console.log(`${at - 1} steps`);
      expect(at - 1).toBeGreaterThan(60);
    },
  );
});
