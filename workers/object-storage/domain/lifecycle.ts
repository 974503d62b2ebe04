/**
 * Lifecycle rules: which versions and uploads are due (Amazon S3 User Guide, "Managing the lifecycle of objects"). Pure. The
 * engine checks again in its batch what a decision depends on (`engine/store/due-sql.ts`).
 *
 * Stricter than AWS in one point: deletion markers do not count as newer noncurrent versions, so `NewerNoncurrentVersions`
 * keeps that many versions with data.
 */

/** Every part that is present must hold. */
export interface LifecycleFilter {
  readonly prefix?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Exclusive bounds of the size in bytes. */
  readonly sizeAbove?: number;
  readonly sizeBelow?: number;
}

export interface LifecycleRule {
  readonly id: string;
  readonly isEnabled: boolean;
  readonly filter: LifecycleFilter;
  /** How the filter was written: as `Prefix` of the rule, in `And`, or directly in `Filter`. */
  readonly form: 'prefix' | 'and' | 'one';
  readonly expiration?:
    | { readonly days: number }
    | { readonly dateMs: number }
    | { readonly expiredMarker: boolean }
    | undefined;
  readonly noncurrent?: { readonly days: number; readonly newerVersions: number | null } | undefined;
  readonly abortAfterDays?: number | undefined;
}

export interface LifecycleConfiguration {
  readonly rules: readonly LifecycleRule[];
  /** `x-amz-transition-default-minimum-object-size`. It affects transitions only, so it is stored and returned but not used. */
  readonly minimumSize: string;
}

/** A version and its position among the versions of its name. */
export interface LifecycleSubject {
  readonly name: string;
  readonly size: number;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly isMarker: boolean;
  readonly modifiedAt: number;
  /** Time at which a newer version replaced this one; null for the newest. */
  readonly noncurrentSince: number | null;
  /** Noncurrent versions that are newer, without deletion markers. */
  readonly newerNoncurrent: number;
  /** Whether the name has no other version. */
  readonly isAlone: boolean;
}

export type LifecycleDecision =
  | { readonly kind: 'current' | 'alone'; readonly hasTags: boolean }
  | {
      readonly kind: 'noncurrent';
      readonly hasTags: boolean;
      /** Time by which the newer version must have been written. */
      readonly since: number;
      readonly newerVersions: number;
    };

export const DAY_MS = 86_400_000;
/** S3's limit of `NewerNoncurrentVersions`. */
export const NEWER_VERSIONS_MAX = 100;

/**
 * A number of days after a time, rounded up to the next midnight UTC, as S3 does.
 * @param dayMs shorter than a day for tests. A shortened day has no midnight.
 */
export function dueAfter(sinceMs: number, days: number, dayMs: number): number {
  const due = sinceMs + days * dayMs;
  return dayMs === DAY_MS ? Math.ceil(due / DAY_MS) * DAY_MS : due;
}

/** The latest time since which `days` have passed by now: the inverse of `dueAfter`. */
const passedSince = (now: number, days: number, dayMs: number): number =>
  (dayMs === DAY_MS ? Math.floor(now / DAY_MS) * DAY_MS : now) - days * dayMs;

const hasOwnFacts = ({ tags, sizeAbove, sizeBelow }: LifecycleFilter): boolean =>
  tags !== undefined || sizeAbove !== undefined || sizeBelow !== undefined;

type Matchable = Pick<LifecycleSubject, 'name' | 'size' | 'tags' | 'isMarker'>;

/** Deletion markers have no tags and no size, so a filter by either does not select them. */
export function doesFilterMatch(filter: LifecycleFilter, { name, size, tags, isMarker }: Matchable): boolean {
  if (!name.startsWith(filter.prefix ?? '')) return false;
  if (isMarker) return !hasOwnFacts(filter);
  if (size <= (filter.sizeAbove ?? Number.NEGATIVE_INFINITY)) return false;
  if (size >= (filter.sizeBelow ?? Number.POSITIVE_INFINITY)) return false;
  return Object.entries(filter.tags ?? {}).every(([key, value]) => tags !== null && tags[key] === value);
}

/** @returns the effect of the rules on a version now; null for none. */
export function decideVersion(
  rules: readonly LifecycleRule[],
  subject: LifecycleSubject,
  now: number,
  dayMs: number,
): LifecycleDecision | null {
  for (const rule of rules) {
    if (!rule.isEnabled || !doesFilterMatch(rule.filter, subject)) continue;
    const hasTags = rule.filter.tags !== undefined;
    if (subject.noncurrentSince !== null) {
      if (rule.noncurrent === undefined) continue;
      const since = passedSince(now, rule.noncurrent.days, dayMs);
      const newerVersions = rule.noncurrent.newerVersions ?? 0;
      if (subject.noncurrentSince > since || subject.newerNoncurrent < newerVersions) continue;
      return { kind: 'noncurrent', hasTags, since, newerVersions };
    }
    if (rule.expiration === undefined || (subject.isMarker && !subject.isAlone)) continue;
    if (!isExpired(rule.expiration, subject, now, dayMs)) continue;
    return { kind: subject.isMarker ? 'alone' : 'current', hasTags };
  }
  return null;
}

/** S3 also removes an expired deletion marker once it is as old as the rule requires. */
function isExpired(
  expiration: NonNullable<LifecycleRule['expiration']>,
  { isMarker, modifiedAt }: LifecycleSubject,
  now: number,
  dayMs: number,
): boolean {
  if ('days' in expiration) return modifiedAt <= passedSince(now, expiration.days, dayMs);
  if ('dateMs' in expiration) return expiration.dateMs <= now;
  return isMarker && expiration.expiredMarker;
}

/** Finds the first rule that expires a current object, and the time. Days count as whole days even if tests shorten them. */
export function findExpiry(
  rules: readonly LifecycleRule[],
  object: Matchable & { readonly modifiedAt: number },
): { readonly id: string; readonly atMs: number } | null {
  let first: { id: string; atMs: number } | null = null;
  for (const { id, isEnabled, filter, expiration } of rules) {
    if (!isEnabled || !expiration || 'expiredMarker' in expiration || !doesFilterMatch(filter, object)) continue;
    const atMs = 'days' in expiration ? dueAfter(object.modifiedAt, expiration.days, DAY_MS) : expiration.dateMs;
    if (first === null || atMs < first.atMs) first = { id, atMs };
  }
  return first;
}

/** Finds the first rule that aborts an upload, and the time. */
export function findAbort(
  rules: readonly LifecycleRule[],
  name: string,
  initiatedAt: number,
  dayMs: number,
): { readonly id: string; readonly atMs: number } | null {
  let first: { id: string; atMs: number } | null = null;
  for (const { id, isEnabled, filter, abortAfterDays } of rules) {
    if (!isEnabled || abortAfterDays === undefined || !name.startsWith(filter.prefix ?? '')) continue;
    const atMs = dueAfter(initiatedAt, abortAfterDays, dayMs);
    if (first === null || atMs < first.atMs) first = { id, atMs };
  }
  return first;
}
