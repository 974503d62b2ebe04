/** The short form of the ring of faults in background work of mail (`background-ring.ts`). */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FAULTS, prepareRing, runMailCase, WORKS } from './background-ring.ts';

beforeEach(prepareRing);
afterEach(() => void vi.restoreAllMocks());

// Each kind of work meets two kinds of fault at two of its calls. `background-ring.long.test.ts` lets them all meet.
const cases = Object.keys(WORKS).flatMap((work, n) =>
  [0, 1].map((half) => ({ work, how: FAULTS[(n + 3 * half) % FAULTS.length] ?? 'after', at: 1 + ((n + half) % 3) })),
);

it.each(cases)('$work, $how at call $at: nothing is lost, and nothing happens twice', async (each) => {
  await runMailCase(each);
  expect(FAULTS).toContain(each.how);
});
