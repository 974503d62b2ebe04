import { expect, it } from 'vitest';
import { isLockMode, isRetentionPeriod, toRetainUntil } from '../../../workers/storage/domain/object-lock.ts';

it('a retention period is 1 to 36,500 days, or 1 to 100 years', () => {
  expect([0, 1, 36_500, 36_501, 1.5, Number.NaN].map((days) => isRetentionPeriod(days, 'days'))).toEqual([
    ...[false, true, true, false, false, false],
  ]);
  expect([0, 1, 100, 101].map((years) => isRetentionPeriod(years, 'years'))).toEqual([false, true, true, false]);
});

it('a version is retained for whole days, or calendar years', () => {
  const now = Date.UTC(2026, 1, 28, 12);
  expect(toRetainUntil({ mode: 'GOVERNANCE', days: 2 }, now)).toBe(Date.UTC(2026, 2, 2, 12));
  expect(toRetainUntil({ mode: 'COMPLIANCE', years: 2 }, now)).toBe(Date.UTC(2028, 1, 28, 12));
  expect(toRetainUntil({ mode: 'COMPLIANCE', years: 1 }, Date.UTC(2027, 5, 1))).toBe(Date.UTC(2028, 5, 1));
});

it('there are two modes, in upper case', () => {
  expect(['GOVERNANCE', 'COMPLIANCE', 'governance', '', null].map(isLockMode)).toEqual([
    ...[true, true, false, false, false],
  ]);
});
