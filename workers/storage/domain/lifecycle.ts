/**
 * Lifecycle rules: which versions and uploads are due (Amazon S3 User Guide, "Managing the lifecycle of objects"). Pure. The engine
 * checks the facts of a decision again in the batch that deletes (`engine/store/due-sql.ts`).
 *
 * Stricter than AWS in one point: delete markers do not count as newer noncurrent versions, so `NewerNoncurrentVersions`
 * keeps that many versions with data.
 */

/** Filter of a lifecycle rule. Every part that is present must match. */
export interface LifecycleFilter {
  readonly prefix?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Exclusive bounds of the object's size in bytes. */
  readonly sizeAbove?: number;
  readonly sizeBelow?: number;
}

export interface LifecycleRule {
  readonly id: string;
  readonly isEnabled: boolean;
  readonly filter: LifecycleFilter;
  /** Form in which the filter was written: as `Prefix` of the rule, in `And`, or directly in `Filter`. */
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
  /**
   * Value of `x-amz-transition-default-minimum-object-size`. It affects transitions only, so it is stored and returned but not
   * used.
   */
  readonly minimumSize: string;
}

/** A version with its position among the versions of its name. */
export interface LifecycleSubject {
  readonly name: string;
  readonly size: number;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly isMarker: boolean;
  readonly modifiedAt: number;
  /** Time in milliseconds at which a newer version replaced this one; null for the newest version. */
  readonly noncurrentSince: number | null;
  /** Number of noncurrent versions of the name that are newer than this one, without delete markers. */
  readonly newerNoncurrent: number;
  /** Whether this version is the only one of its name. */
  readonly isAlone: boolean;
}

export type LifecycleDecision =
  | { readonly kind: 'current' | 'alone'; readonly hasTags: boolean }
  | {
      readonly kind: 'noncurrent';
      readonly hasTags: boolean;
      /** Latest time at which the next newer version may have been written for this deletion to be due. */
      readonly since: number;
      readonly newerVersions: number;
    };

export const DAY_MS = 86_400_000;
/** Maximum of `NewerNoncurrentVersions`, as in S3. */
export const NEWER_VERSIONS_MAX = 100;

/**
 * A number of days after a time, rounded up to the next midnight UTC, as S3 does.
 * @param dayMs length of a day. Tests shorten it; the time is then not rounded up.
 */
export function dueAfter(sinceMs: number, days: number, dayMs: number): number {
  const due = sinceMs + days * dayMs;
  return dayMs === DAY_MS ? Math.ceil(due / DAY_MS) * DAY_MS : due;
}

/** Latest start of a period of `days` days that has ended by `now`: the inverse of `dueAfter`. */
const passedSince = (now: number, days: number, dayMs: number): number =>
  (dayMs === DAY_MS ? Math.floor(now / DAY_MS) * DAY_MS : now) - days * dayMs;

const hasOwnFacts = ({ tags, sizeAbove, sizeBelow }: LifecycleFilter): boolean =>
  tags !== undefined || sizeAbove !== undefined || sizeBelow !== undefined;

type Matchable = Pick<LifecycleSubject, 'name' | 'size' | 'tags' | 'isMarker'>;

/** Whether a lifecycle filter selects a version. Delete markers have no tags and no size, so a filter by either selects none. */
export function doesFilterMatch(filter: LifecycleFilter, { name, size, tags, isMarker }: Matchable): boolean {
  if (!name.startsWith(filter.prefix ?? '')) return false;
  if (isMarker) return !hasOwnFacts(filter);
  if (size <= (filter.sizeAbove ?? Number.NEGATIVE_INFINITY)) return false;
  if (size >= (filter.sizeBelow ?? Number.POSITIVE_INFINITY)) return false;
  return Object.entries(filter.tags ?? {}).every(([key, value]) => tags !== null && tags[key] === value);
}

/** Decides about one version now. @returns the effect that the lifecycle rules have on it; null for none. */
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

/**
 * Whether an expiration is due for a version. As in S3, a delete marker that is alone also expires once it is as old as the rule
 * requires.
 */
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

/**
 * Finds the lifecycle rule that expires a current object first, and the time at which it does. Days count as whole days even if
 * tests shorten them.
 */
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

/** Finds the lifecycle rule that aborts an upload first, and the time at which it does. */
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
