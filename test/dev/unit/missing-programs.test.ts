import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { describeMissing } from '../../support/missing-programs.ts';
import { hasClient } from '../../support/real-client.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tessera-missing-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const { CI, TESSERA_TEST_MISSING } = process.env;
const restore = (name: string, value: string | undefined) => {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
};
afterEach(() => {
  restore('CI', CI);
  restore('TESSERA_TEST_MISSING', TESSERA_TEST_MISSING);
});

it('a program that is not installed gives one line: what was skipped, and how to install it', () => {
  const path = join(scratch, 'missing.jsonl');
  process.env.TESSERA_TEST_MISSING = path;
  delete process.env.CI;
  expect(describeMissing(path)).toEqual([]);
  expect(hasClient('node')).toBe(true);
  expect(hasClient('/no/such/aws', 'node')).toBe(false);
  expect(hasClient('no-such-program', '/no/such/aws')).toBe(false);
  expect(readFileSync(path, 'utf8').trim().split('\n').length).toBe(3);
  expect(describeMissing(path)).toEqual([
    'aws is missing (apt-get install awscli). Skipped tests of dev/unit/missing-programs.',
    'no-such-program is missing (apt-get install no-such-program). Skipped tests of dev/unit/missing-programs.',
  ]);
});

it('a missing program fails the tests in CI, which installs them all', () => {
  process.env.CI = 'true';
  expect(() => hasClient('no-such-program')).toThrow('CI lacks no-such-program');
});
