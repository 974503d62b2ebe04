import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type Activity,
  estimateDollars,
  type Operation,
  priceOfSending,
  USAGE,
} from '../../../workers/shared/telemetry/prices.ts';

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
  const estimate = (operations: Activity['operations'], more: object = {}) => estimateDollars({ operations, ...more });
  expect(estimate({})).toBe(0);
  // Expected dollars per million: 0.30 for the request, 0.04 for two milliseconds, 0.025 for a tenth of a data point, 0.36 for one read.
  expect(estimate({ storage_read: 1_000_000 })).toBeCloseTo(0.725, 10);
  expect(estimate({ storage_read: 500_000, other: 1_000_000 })).toBeCloseTo(0.3625 + 0.365, 10);
  // The fee of $350, five rows, a call of an object, three operations of a queue and two data points.
  expect(estimate({}, { recipients: 1_000_000 })).toBeCloseTo(350 + 5 + 0.15 + 1.2 + 0.5, 10);
  // 150 ms of processor time at $0.02 a million, and a data point.
  expect(estimate({}, { isolateStarts: 1_000_000 })).toBeCloseTo(3 + 0.25, 10);
});

it('counts the duration of a season for each minute with a post, at most for the whole period', () => {
  const season = { periodMs: 30 * 86_400_000, seasonObjects: 34 };
  const busy = estimateDollars({ operations: { score_write: 1_000_000 }, ...season });
  const posts = estimateDollars({ operations: { score_write: 1_000_000 } });
  // 34 objects of 128 MB for 30 days at $12.50 per million GB-s.
  expect(busy - posts).toBeCloseTo((34 * 0.125 * 30 * 86_400 * 12.5) / 1e6, 6);
  const quiet = estimateDollars({ operations: { score_write: 10 }, ...season });
  expect(quiet).toBeLessThan(0.04);
});

it('prices a month of mail after the recipients of the plan', () => {
  expect([0, 3_000, 4_000, 100_000].map(priceOfSending)).toEqual([0, 0, 0.35, 33.95]);
});
