/**
 * How the scores of a board count. Objects and archives store scores so that a higher one is better: those of an ascending board,
 * such as race times, are mirrored. Only `mirror` implements this; it also converts a stored score back to that of the API.
 */
export const SORTS = ['desc', 'asc'] as const;
export const OPERATORS = ['sum', 'best', 'last'] as const;

export interface ScoreRules {
  readonly sort: (typeof SORTS)[number];
  readonly operator: (typeof OPERATORS)[number];
}

/**
 * The rules of a board as a shard knows them. They come with each post, and the shard keeps the newest. Sort and operator never
 * change; the limit changes at a stated moment.
 */
export interface BoardRules extends ScoreRules {
  /** Time from which they hold, in milliseconds since 1970. It is also their version: newer rules have a later time. */
  readonly from: number;
  /** Maximum of points that a player gets in a day of UTC; null without a limit. */
  readonly pointsPerDayMax: number | null;
  /** The limit before `from`. */
  readonly pointsPerDayBefore: number | null;
}

/** The limit of points per day at a time, in milliseconds since 1970; null without a limit. */
export const pointsPerDayAt = (
  { from, pointsPerDayMax, pointsPerDayBefore }: BoardRules,
  now: number,
): number | null => (now < from ? pointsPerDayBefore : pointsPerDayMax);

export const DEFAULT_RULES: ScoreRules = { sort: 'desc', operator: 'sum' };
/** Title of the board `default` until an operator gives it another one. */
export const DEFAULT_TITLE = 'Leaderboard';

export const mirror = ({ sort }: Pick<ScoreRules, 'sort'>, score: number): number =>
  sort === 'asc' ? Number.MAX_SAFE_INTEGER - score : score;

/**
 * Whether the data of a player's score becomes that of a post: with `best` if the post makes the score, with `last` always, with `sum` if
 * the post has data.
 */
export const keepsData = (
  { operator }: ScoreRules,
  { data }: { readonly data?: string | null },
  isSame: boolean,
): boolean => (operator === 'best' ? !isSame : operator === 'last' || data !== null);

/**
 * Computes a player's next stored score.
 * @param before stored score so far; null for a new player.
 * @returns null if the next score cannot be stored.
 */
export function nextScore(rules: ScoreRules, before: number | null, points: number): number | null {
  if (rules.operator === 'sum') {
    const sum = (before === null ? 0 : mirror(rules, before)) + points;
    return Number.isSafeInteger(sum) ? mirror(rules, sum) : null;
  }
  const posted = mirror(rules, points);
  return rules.operator === 'best' && before !== null ? Math.max(before, posted) : posted;
}
