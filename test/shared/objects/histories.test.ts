import { expect, it } from 'vitest';
import { findsBug, playHistory } from './histories.ts';

it('every name and every right is linearizable from eight regions', async () => {
  expect(await playHistory({ seed: 1, operations: 10 })).toEqual([]);
});

// `npm run test:long -- histories` looks for three further bugs. Two of them need a rare order of events.
it('the check finds a seeded bug: no look-up', async () => {
  expect(await findsBug('no look-up', { histories: 30, operations: 10 })).toBe(true);
});
