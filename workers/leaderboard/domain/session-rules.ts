/**
 * The rules of a board that takes results of plays from pages, and what a result breaks. Times are those of the server, because nothing that
 * a page says about time is true.
 */

/** Maximum time from the begin of a play to its result. Shards know events for longer, so each play counts at most once. */
export const PLAY_MS_MAX = 24 * 3_600_000;

export interface SessionRules {
  /** Origins of the pages that may begin plays, such as `https://game.example.com`. */
  readonly origins: readonly string[];
  /** Minimum time from the begin of a play to its result, in seconds. */
  readonly leastSeconds: number;
  /** Minimum of points, for boards where a lower score is better. */
  readonly leastPoints: number;
  /** Maximum of points; null without a limit of its own. */
  readonly mostPoints: number | null;
  /** Maximum of points for each second of the play; null without a limit. */
  readonly mostPointsPerSecond: number | null;
  /** Whether the webhook of the board judges each result that breaks no rule. */
  readonly isJudged: boolean;
}

/** Why a result waits in the quarantine. The last two are found by the shard of the player, `unjudged` and `suspected` by the webhook. */
export const BREACHES = [
  'too_fast',
  'too_few_points',
  'too_many_points',
  'too_many_points_per_second',
  'unjudged',
  'suspected',
  'points_per_day_exceeded',
  'plays_overlap',
] as const;
export type Breach = (typeof BREACHES)[number];

/**
 * Finds the first rule that a result breaks; null if it breaks none.
 * @param elapsedMs time from the begin of the play to its result, in milliseconds
 */
export function findBreach(rules: SessionRules, points: number, elapsedMs: number): Breach | null {
  const { leastSeconds, leastPoints, mostPoints, mostPointsPerSecond } = rules;
  if (elapsedMs < leastSeconds * 1_000) return 'too_fast';
  if (points < leastPoints) return 'too_few_points';
  if (mostPoints !== null && points > mostPoints) return 'too_many_points';
  if (mostPointsPerSecond !== null && points * 1_000 > mostPointsPerSecond * elapsedMs)
    return 'too_many_points_per_second';
  return null;
}
