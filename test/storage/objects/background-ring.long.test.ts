import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { BACKGROUND_FAULTS, runBackgroundCase, WORKS } from './background-ring.ts';
import { wipe } from './harness.ts';

beforeEach(wipe);

const cases: Record<string, number> = {};
afterAll(() => console.log(`faults injected into background work: ${JSON.stringify(cases)}`));

/** Each kind of fault takes every third call, so each call meets three kinds of fault, with and without clients before it. */
const STEP = 3;

describe.each(Object.keys(WORKS))('%s', (work) => {
  test.each([...BACKGROUND_FAULTS.entries()])('loses nothing and brings nothing back: fault %i, %s', async (n, how) => {
    let at = n % STEP;
    for (; ; at += STEP) {
      const hasClients = how === 'meanwhile' || at % 2 === 0;
      if (!(await runBackgroundCase({ work, how, at, hasClients })).isHit) break;
      await wipe();
    }
    cases[`${work}, ${how}`] = at;
    expect(at).toBeGreaterThan(1);
  });
});
