import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FAULTS, prepareRing, runMailCase, WORKS } from './background-ring.ts';

beforeEach(prepareRing);
afterEach(() => void vi.restoreAllMocks());

const cases: Record<string, number> = {};
afterAll(() => console.info(`faults injected into background work of mail: ${JSON.stringify(cases)}`));

describe.each(Object.keys(WORKS))('%s', (work) => {
  it.each(FAULTS)('loses nothing and happens once: %s', async (how) => {
    let at = 0;
    while ((await runMailCase({ work, how, at })) !== '') at++;
    cases[`${work}, ${how}`] = at;
    expect(at).toBeGreaterThan(0);
  });
});
