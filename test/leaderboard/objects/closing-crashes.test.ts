/** Cuts the power at some of the steps. `closing-crashes.long.test.ts` does so at all of them. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { announceSeed, createRandom } from '../unit/random.ts';
import { runWithCut, watchClosings } from './closing-crashes.ts';

beforeEach(watchClosings);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Distance between two steps at which the power is cut. */
const STRIDE = 12;

describe('the end of a month with a power cut', () => {
  it('is complete, with one notice, for some of the steps', async () => {
    const random = createRandom(announceSeed());
    const steps = await runWithCut({ at: 0, side: 'before' });
    expect(steps.length).toBeGreaterThan(8);
    for (let at = 1 + Math.floor(random() * STRIDE); at <= steps.length; at += STRIDE) {
      const side = random() < 0.5 ? 'before' : 'after';
      expect((await runWithCut({ at, side }))[at - 1]).toBe(steps[at - 1]);
    }
  });
});
