/** A season is one UTC month, named `YYYY-MM`. */

export interface SeasonTimes {
  /** Milliseconds since 1970, inclusive. */
  readonly startsAt: number;
  /** Exclusive. */
  readonly endsAt: number;
}

const SEASON = /^(\d{4})-(0[1-9]|1[0-2])$/;

export function parseSeason(name: string): SeasonTimes | null {
  const match = SEASON.exec(name);
  if (match === null) return null;
  const [year, month] = [Number(match[1]), Number(match[2])];
  return { startsAt: Date.UTC(year, month - 1), endsAt: Date.UTC(year, month) };
}

/** @param at milliseconds since 1970. */
export const seasonAt = (at: number): string => new Date(at).toISOString().slice(0, 7);

export function previousSeason(name: string): string {
  const times = parseSeason(name);
  if (times === null) throw new Error(`${name} is not a season`);
  return seasonAt(times.startsAt - 1);
}
