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
