/** Scores as pages show them. The API has integers; a board says how many of their digits are decimals. */
import { formatDecimal } from '../shared/format.ts';

let decimals = 0;

/** Sets the decimals of the board that the page shows, before it shows scores. */
export function showDecimals(count: number): void {
  decimals = count;
}

export const formatScore = (score: number): string => formatDecimal(score / 10 ** decimals, decimals);
