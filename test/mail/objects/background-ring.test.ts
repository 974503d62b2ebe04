/** The short form of the ring of faults in background work of mail (`background-ring.ts`). */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Fault, prepareRing, runMailCase } from './background-ring.ts';

beforeEach(prepareRing);
afterEach(() => void vi.restoreAllMocks());

// Each kind of work meets two faults, above all at its durable steps. `background-ring.long.test.ts` lets all calls meet all faults.
const CASES: readonly (readonly [work: string, how: Fault, at: number])[] = [
  ['acceptance for three, one full and one that has it', 'silent', 4],
  ['acceptance for three, one full and one that has it', 'after', 17],
  ['processing', 'before', 1],
  ['processing', 'after', 3],
  ['sending', 'late', 5],
  ['sending', 'cut after', 9],
  ['a retry', 'silent', 4],
  ['a retry', 'cut before', 5],
  ['a report', 'cut before', 5],
  ['a report', 'after', 5],
  ['a forward', 'cut after', 4],
  ['a forward', 'late', 14],
  ['a message that is taken back', 'after', 0],
  ['a message that is taken back', 'late', 0],
];

it.each(CASES)('%s: nothing is lost, and nothing happens twice: %s, call %i', async (work, how, at) => {
  expect(await runMailCase({ work, how, at })).not.toBe('');
});
