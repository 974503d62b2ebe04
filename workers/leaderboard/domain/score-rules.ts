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

export const DEFAULT_RULES: ScoreRules = { sort: 'desc', operator: 'sum' };
/** Title of the board `default` until an operator gives it another one. */
export const DEFAULT_TITLE = 'Leaderboard';

export const mirror = ({ sort }: Pick<ScoreRules, 'sort'>, score: number): number =>
  sort === 'asc' ? Number.MAX_SAFE_INTEGER - score : score;

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
