import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { CHANGE_FAULTS, runChangeWithFault, WORKS } from './change-cuts.ts';
import { wipe } from './harness.ts';

beforeEach(wipe);

const struck: Record<string, number> = {};
afterAll(() => console.log(`faults in jobs and lifecycle rules: ${JSON.stringify(struck)}`));

/** Distance between the store calls that are tested; 1 tests every call. */
const STEP = Number(process.env.CUT_STEP ?? 1);

describe.each(Object.keys(WORKS))('%s', (name) => {
  test.each(CHANGE_FAULTS)('ends in the same state as without a fault, at each call: %s', async (how) => {
    const { outcome: expected, calls } = await runChangeWithFault(name, how, null);
    let hits = 0;
    for (let at = 0; at < calls; at += STEP) {
      await wipe();
      const { outcome, hit } = await runChangeWithFault(name, how, at);
      expect(outcome, `${name}, ${how} call ${at} (${hit})`).toEqual(expected);
      if (hit !== null) hits++;
    }
    struck[`${name}, ${how}`] = hits;
    expect(hits).toBeGreaterThan(1);
  });
});
