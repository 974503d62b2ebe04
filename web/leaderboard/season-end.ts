/** Computes when a season ends and how much time is left until then. Pure. */
import { parsePeriod } from '../../workers/leaderboard/domain/season-name.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns the end of a season in milliseconds since 1970; infinity for a board without seasons. */
export function endOfSeason(season: string): number {
  const parsed = parsePeriod(season);
  return parsed === null || parsed.period === 'none' ? Number.POSITIVE_INFINITY : parsed.endsAt;
}

/**
 * The two largest parts of the time that is left, such as 3 days and 4 hours.
 * @returns null if the season is over, or if this device's clock says that it has not begun.
 */
export function timeLeft(season: string, now: number): { days: number; hours: number; minutes: number } | null {
  const leftMs = endOfSeason(season) - now;
  if (leftMs <= 0 || leftMs > 31 * DAY_MS) return null;
  return {
    days: Math.floor(leftMs / DAY_MS),
    hours: Math.floor((leftMs % DAY_MS) / HOUR_MS),
    minutes: Math.floor((leftMs % HOUR_MS) / MINUTE_MS),
  };
}
