/** Moves a season that 0.2.0 archived into its shards, with a cut before and after every step. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { importWithCut, watchImports } from './former-seasons.ts';

beforeEach(watchImports);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('reads the same after a cut at any step', async () => {
  const steps = await importWithCut({ at: 0, side: 'before' });
  expect(steps.length).toBeGreaterThan(20);
  for (let at = 1; at <= steps.length; at++) {
    await importWithCut({ at, side: 'before' });
    await importWithCut({ at, side: 'after' });
  }
});
