/**
 * Object Lock (Amazon S3 User Guide, "Locking objects with Object Lock"). Pure. The engine decides the same rules inside
 * its batches (`engine/store/lock-sql.ts`).
 */

export type LockMode = 'GOVERNANCE' | 'COMPLIANCE';

/** Retention that a new object gets if its request sets none. */
export type DefaultRetention = { readonly mode: LockMode } & ({ readonly days: number } | { readonly years: number });

/** Object Lock configuration of a bucket. Object Lock cannot be disabled once it is enabled. */
export interface ObjectLockConfiguration {
  readonly defaultRetention: DefaultRetention | null;
}

/** Maximum retention periods that PutObjectLockConfiguration accepts. */
const DAYS_MAX = 36_500;
const YEARS_MAX = 100;
const DAY_MS = 86_400_000;

export const isLockMode = (text: string | null): text is LockMode => text === 'GOVERNANCE' || text === 'COMPLIANCE';

export const isRetentionPeriod = (count: number, unit: 'days' | 'years'): boolean =>
  Number.isInteger(count) && count >= 1 && count <= (unit === 'days' ? DAYS_MAX : YEARS_MAX);

/** End of a default retention. A year is a calendar year, not 365 days. */
export function toRetainUntil(retention: DefaultRetention, now: number): number {
  if ('days' in retention) return now + retention.days * DAY_MS;
  const date = new Date(now);
  return date.setUTCFullYear(date.getUTCFullYear() + retention.years);
}
