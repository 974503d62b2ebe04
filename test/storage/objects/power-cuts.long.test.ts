import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { wipe } from './harness.ts';
import { runWithPowerCut, WORKS } from './power-cuts.ts';

beforeEach(wipe);

const cuts: Record<string, number> = {};
afterAll(() => console.log(`power cuts in background work: ${JSON.stringify(cuts)}`));

describe.each(Object.keys(WORKS))('%s', (name) => {
  test.each(['cut before', 'cut after'] as const)(
    'loses nothing and leaves no orphans, at each call: %s',
    async (how) => {
      let at = 0;
      for (; await runWithPowerCut(name, how, at); at++) await wipe();
      cuts[`${name}, ${how}`] = at;
      expect(at).toBeGreaterThan(1);
    },
  );
});
