/** Some cuts of the hundreds; closing-crashes.long.test.ts plays each. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { announceSeed, createRandom } from '../../unit/leaderboard/random.ts';
import { playCut, watchClosings } from './closing-crashes.ts';

beforeEach(watchClosings);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** One cut in so many steps. */
const STRIDE = 16;

describe('a month’s end whose power is cut', () => {
  it('ends with one true archive and nothing else, cut at some of its steps', async () => {
    const random = createRandom(announceSeed());
    const steps = await playCut({ at: 0, side: 'before', isFileLost: true });
    expect(steps.length).toBeGreaterThan(100);
    for (let at = 1 + Math.floor(random() * STRIDE); at <= steps.length; at += STRIDE) {
      const side = random() < 0.5 ? 'before' : 'after';
      expect((await playCut({ at, side, isFileLost: true }))[at - 1]).toBe(steps[at - 1]);
    }
  });

  it('names nobody again who was erased between the publishing of the archive and the crash', async () => {
    const steps = await playCut({ at: 0, side: 'after', isFileLost: false });
    const at = steps.indexOf('DIRECTORY.run') + 1;
    expect((await playCut({ at, side: 'after', isFileLost: false })).indexOf('DIRECTORY.run') + 1).toBe(at);
  });
});
