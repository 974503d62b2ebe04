import { beforeEach, expect, test } from 'vitest';
import { BACKGROUND_FAULTS, runBackgroundCase, WORKS } from './background-ring.ts';
import { wipe } from './harness.ts';

beforeEach(wipe);

// Each kind of work meets one kind of fault at one of its calls. `background-ring.long.test.ts` lets them all meet.
test.each([...Object.keys(WORKS).entries()])('work %i, %s, loses nothing and brings nothing back', async (n, work) => {
  const how = BACKGROUND_FAULTS[n % BACKGROUND_FAULTS.length] ?? 'meanwhile';
  const { isHit } = await runBackgroundCase({ work, how, at: 2 + (n % 4), hasClients: n % 3 !== 1 });
  expect(isHit).toBe(true);
});

// The others are overtaken by a second worker only in the long ring, or above.
test.each([
  ['packing', 'overtaken before', 3],
  ['the move of a slot', 'overtaken after', 9],
  ['a journal', 'overtaken before', 6],
  ['a snapshot', 'overtaken after', 5],
] as const)('%s, %s, bears a worker whose lease has ended', async (work, how, at) => {
  const { isHit } = await runBackgroundCase({ work, how, at, hasClients: true });
  expect(isHit).toBe(true);
});
