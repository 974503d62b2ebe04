import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { findsBug, playHistory } from './histories.ts';

const RUN_MS = 300_000;

it('every name and every right is linearizable from eight regions, for five minutes', async () => {
  const given = (env as unknown as { SEED?: string }).SEED;
  const first = given === undefined ? Math.floor(Math.random() * 1e9) : Number(given);
  const until = Date.now() + RUN_MS;
  let runs = 0;
  for (let seed = first; Date.now() < until; seed++, runs++) {
    expect(await playHistory({ seed, operations: 15 }), `SEED=${seed} repeats it`).toEqual([]);
  }
  console.log(`${runs} histories, the first with SEED=${first}`);
  expect(runs).toBeGreaterThan(10);
});

it.each(['no look-up', 'no bucket proof', 'no identity proof', 'no proof after a renewal'] as const)(
  'the check finds a seeded bug: %s',
  async (bug) => {
    expect(await findsBug(bug, { histories: 300, operations: 10 })).toBe(true);
  },
);
