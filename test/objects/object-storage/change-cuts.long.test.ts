import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { runChangeWithCut, WORKS } from './change-cuts.ts';
import { wipe } from './harness.ts';

beforeEach(wipe);

const cuts: Record<string, number> = {};
afterAll(() => console.log(`power cuts in jobs and lifecycle rules: ${JSON.stringify(cuts)}`));

/** Tries each call, or each nth. */
const STEP = Number(process.env.CUT_STEP ?? 1);

describe.each(Object.keys(WORKS))('%s', (name) => {
  test.each(['cut before', 'cut after'] as const)('ends as if nothing had happened, at each call: %s', async (how) => {
    const { outcome: expected } = await runChangeWithCut(name, how, null);
    let tried = 0;
    for (let at = 0; ; at += STEP) {
      await wipe();
      const { outcome, hit } = await runChangeWithCut(name, how, at);
      expect(outcome, `${name}, ${how} call ${at} (${hit})`).toEqual(expected);
      if (hit === null) break;
      tried++;
    }
    cuts[`${name}, ${how}`] = tried;
    expect(tried).toBeGreaterThan(1);
  });
});
