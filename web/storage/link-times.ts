/** How long a presigned link may be valid. It ends when the key that signed it does. Pure. */
const EXPIRIES = [
  [1, 'hour', 3600],
  [1, 'day', 86_400],
  [7, 'day', 604_800],
] as const;

/** Longest time of a presigned link, by S3's rule. */
const LINK_SECONDS_MAX = 604_800;

export interface LinkTimes {
  /** Times that end before the key does. */
  readonly choices: readonly { readonly count: number; readonly unit: 'hour' | 'day'; readonly seconds: number }[];
  /** Seconds until the key ends, if that is the longest possible time; otherwise null. */
  readonly secondsToKeyEnd: number | null;
}

/** @param keyEndsAt time of the key's end in milliseconds; null if it has none. */
export function findLinkTimes(keyEndsAt: number | null, now: number): LinkTimes {
  const seconds = keyEndsAt === null ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor((keyEndsAt - now) / 1000));
  return {
    choices: EXPIRIES.filter(([, , length]) => length <= seconds).map(([count, unit, length]) => ({
      count,
      unit,
      seconds: length,
    })),
    secondsToKeyEnd: seconds < LINK_SECONDS_MAX ? seconds : null,
  };
}
