import { beforeEach, describe, expect, test } from 'vitest';
import { wipe } from './harness.ts';
import { playInterleaving, WORK } from './interleavings.ts';

beforeEach(wipe);

const SEEDS = Number(process.env.SEEDS ?? 3);

describe.each(Object.keys(WORK) as (keyof typeof WORK)[])('while %s', (work) => {
  test('every name has a state from after the start of the work, whichever call the changes precede', async () => {
    let runs = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      for (const isWrittenAgain of [false, true]) {
        for (let at = 0; ; at++) {
          await wipe();
          runs++;
          if (!(await playInterleaving(work, at, isWrittenAgain, seed * 1000 + at))) break;
        }
      }
    }
    console.log(`${work}: ${runs} interleavings`);
    expect(runs).toBeGreaterThan(20);
  });
});
