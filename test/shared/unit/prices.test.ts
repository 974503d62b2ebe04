import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { estimateDollars, type Operation, USAGE } from '../../../workers/shared/telemetry/prices.ts';

type Budget = Record<string, { rows_written?: number; r2_a?: number; r2_b?: number; do_requests?: number }>;
const budget: Budget = JSON.parse(readFileSync(join(import.meta.dirname, '../../../bench/budget.json'), 'utf8'));

/** The measured operation of the benchmark that represents each operation of the cost estimate. */
const MEASURED: Readonly<Record<Exclude<Operation, 'other'>, string>> = {
  storage_read: 'get-1m',
  storage_write: 'put-1m',
  storage_delete: 'delete',
  score_read: 'board-top',
  score_write: 'board-post',
  mail_read: 'mail-open',
  mail_in: 'mail-in',
  mail_out: 'mail-out',
};

it.each(Object.entries(MEASURED))('counts for %s what the benchmark measured for %s', (name, measured) => {
  const counted = measured.startsWith('board-') ? ['request'] : ['request', 'background'];
  const phases = counted.map((phase) => budget[`${measured} warm ${phase}`] ?? {});
  const sum = (of: 'rows_written' | 'r2_a' | 'r2_b' | 'do_requests') =>
    phases.reduce((total, phase) => total + (phase[of] ?? 0), 0);
  const { rowWritten = 0, classA = 0, classB = 0, objectRequest = 0 } = USAGE[name as Operation];
  expect([rowWritten, classA, classB, objectRequest]).toEqual([
    sum('rows_written'),
    sum('r2_a'),
    sum('r2_b'),
    sum('do_requests'),
  ]);
});

it('estimates dollars from counts', () => {
  expect(estimateDollars({})).toBe(0);
  // Expected dollars per million: 0.30 for the request, 0.04 for two milliseconds, 0.36 for one read.
  expect(estimateDollars({ storage_read: 1_000_000 })).toBeCloseTo(0.7, 10);
  expect(estimateDollars({ storage_read: 500_000, other: 1_000_000 })).toBeCloseTo(0.35 + 0.34, 10);
});
