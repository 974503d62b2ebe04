/**
 * How the scores of a board count. Objects and archives store scores so that a higher one is better, and none is below zero: those of an
 * ascending board, such as race times, are mirrored, and those of a board with negative scores are raised by 2^52. Only `toStored` and
 * `toShown` implement this.
 */
export const SORTS = ['desc', 'asc'] as const;
export const OPERATORS = ['sum', 'best', 'last'] as const;

export interface ScoreRules {
  readonly sort: (typeof SORTS)[number];
  readonly operator: (typeof OPERATORS)[number];
  /** Whether scores may be negative. Absent if not. */
  readonly isSigned?: boolean;
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

/** What the stored scores of boards with negative scores are raised by. Their scores are between it and its negative. */
const RAISED_BY = 2 ** 52;

type Storing = Pick<ScoreRules, 'sort' | 'isSigned'>;

/** Largest score of a board. The lowest one of a board with negative scores is its negative. */
const scoreMaxOf = ({ isSigned = false }: Pick<ScoreRules, 'isSigned'>): number =>
  isSigned ? RAISED_BY - 1 : Number.MAX_SAFE_INTEGER;

/** Whether a board may have a score. */
export const isScore = (rules: Pick<ScoreRules, 'isSigned'>, score: number): boolean =>
  score <= scoreMaxOf(rules) && score >= (rules.isSigned ? -scoreMaxOf(rules) : 0);

/** The stored form of a score of the API. */
export function toStored({ sort, isSigned = false }: Storing, score: number): number {
  const raised = isSigned ? score + RAISED_BY : score;
  return sort === 'asc' ? Number.MAX_SAFE_INTEGER - raised : raised;
}

/** The score of the API with a stored form. */
export function toShown({ sort, isSigned = false }: Storing, stored: number): number {
  const raised = sort === 'asc' ? Number.MAX_SAFE_INTEGER - stored : stored;
  return isSigned ? raised - RAISED_BY : raised;
}

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
    const sum = (before === null ? 0 : toShown(rules, before)) + points;
    return isScore(rules, sum) ? toStored(rules, sum) : null;
  }
  const posted = toStored(rules, points);
  return rules.operator === 'best' && before !== null ? Math.max(before, posted) : posted;
}
