import { expect, it } from 'vitest';
import { findsBug, playHistory, type SeededBug } from './histories.ts';

it('every name and every right is linearizable from eight regions', async () => {
  for (let seed = 1; seed <= 2; seed++) expect(await playHistory({ seed, operations: 10 })).toEqual([]);
});

// Two further bugs need a rare order of events, so only `npm run test:long -- histories` looks for them.
const BUGS: readonly SeededBug[] = ['no look-up', 'no bucket proof'];

it.each(BUGS)('the check finds a seeded bug: %s', async (bug) => {
  expect(await findsBug(bug, { histories: 30, operations: 10 })).toBe(true);
});
