import { expect, it } from 'vitest';
import { playHistory, type SeededBug } from './histories.ts';

it('every name and every right is linearizable from eight regions', async () => {
  for (let seed = 1; seed <= 2; seed++) expect(await playHistory({ seed, operations: 10 })).toEqual([]);
});

const BUGS: readonly SeededBug[] = ['no look-up', 'no bucket proof', 'no identity proof'];

it.each(BUGS)('the check finds a seeded bug: %s', async (bug) => {
  for (let seed = 1; seed <= 30; seed++) {
    const found = await playHistory({ seed, operations: 10, bug });
    if (found.length > 0) return;
  }
  expect.fail('no history showed the bug');
});
