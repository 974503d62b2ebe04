import { beforeEach, describe, expect, test } from 'vitest';
import { runChangeBesideClients, runRecallBesideUploads, WORKS } from './change-cuts.ts';
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

describe('clients change a bucket', () => {
  test.each([
    ...Object.keys(WORKS).map((name) => [name, (at: number) => runChangeBesideClients(name, at)] as const),
    ['an upload that needs the shares of other shards', runRecallBesideUploads] as const,
  ])('and every change stays, with its event and exact counts, whichever call it precedes: %s', async (name, run) => {
    let runs = 0;
    while (await run(runs++)) await wipe();
    console.log(`${name}, beside clients: ${runs} interleavings`);
    expect(runs).toBeGreaterThan(8);
  });
});
