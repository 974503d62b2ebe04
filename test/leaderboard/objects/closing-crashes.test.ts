/** Cuts the power at some of the hundreds of steps. `closing-crashes.long.test.ts` does so at all of them. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { announceSeed, createRandom } from '../unit/random.ts';
import { runWithCut, watchClosings } from './closing-crashes.ts';

beforeEach(watchClosings);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Distance between two steps at which the power is cut. */
const STRIDE = 16;

describe('closing a month with a power cut', () => {
  it('ends with one correct archive and no other files, for some of the steps', async () => {
    const random = createRandom(announceSeed());
    const steps = await runWithCut({ at: 0, side: 'before', isFileLost: true });
    expect(steps.length).toBeGreaterThan(100);
    for (let at = 1 + Math.floor(random() * STRIDE); at <= steps.length; at += STRIDE) {
      const side = random() < 0.5 ? 'before' : 'after';
      expect((await runWithCut({ at, side, isFileLost: true }))[at - 1]).toBe(steps[at - 1]);
    }
  });

  it('does not restore a player who was erased between the publication of the archive and the crash', async () => {
    const steps = await runWithCut({ at: 0, side: 'after', isFileLost: false });
    const at = steps.indexOf('DIRECTORY.run') + 1;
    expect((await runWithCut({ at, side: 'after', isFileLost: false })).indexOf('DIRECTORY.run') + 1).toBe(at);
  });
});
