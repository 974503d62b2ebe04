/**
 * How many uploads run at a time: as many as make the line faster. After a round of requests at one number, one more is tried. If that
 * transfers clearly more per second, it stays and the next one is tried; otherwise the number goes back for some rounds. A refused or
 * broken request halves it. Pure.
 */
export interface Pace {
  /** Number of requests at a time. */
  readonly limit: number;
  /** Whether `limit` is one more than the number that `rate` was measured at. */
  readonly isTrial: boolean;
  /** Work per millisecond in the last round without a trial. */
  readonly rate: number;
  /** Rounds until the next trial. */
  readonly roundsToTrial: number;
  readonly round: { readonly startedAt: number; readonly done: number; readonly work: number };
}

/** Browsers open at most six HTTP/1 connections to a host. One stays free for the page itself. */
const LIMIT_MAX_HTTP1 = 5;
/** HTTP/2 and 3 carry all requests on one connection. More than this many only use memory. */
const LIMIT_MAX = 12;
/** The cost of a request besides its bytes, so that a round of small files counts too. */
const REQUEST_BYTES = 32 * 1024;
/** Gain from which one request more is worth it. Less may be chance. */
const GAIN_MIN = 1.1;
const ROUNDS_BETWEEN_TRIALS = 4;

export const limitMax = (protocol: string): number => (/^h[23]/.test(protocol) ? LIMIT_MAX : LIMIT_MAX_HTTP1);

const begin = (now: number) => ({ startedAt: now, done: 0, work: 0 });

export const startPace = (now: number): Pace => ({
  limit: 3,
  isTrial: false,
  rate: 0,
  roundsToTrial: 1,
  round: begin(now),
});

/** The pace after a request that succeeded. A round has two requests for each one at a time. */
export function afterSuccess(pace: Pace, bytes: number, now: number, max: number): Pace {
  const { limit, isTrial, rate, roundsToTrial, round } = pace;
  const done = round.done + 1;
  const work = round.work + bytes + REQUEST_BYTES;
  if (done < limit * 2) return { ...pace, round: { ...round, done, work } };
  const measured = work / Math.max(1, now - round.startedAt);
  const next = { ...pace, round: begin(now) };
  if (isTrial && measured < rate * GAIN_MIN)
    return { ...next, limit: limit - 1, isTrial: false, roundsToTrial: ROUNDS_BETWEEN_TRIALS };
  if (!isTrial && roundsToTrial > 1) return { ...next, rate: measured, roundsToTrial: roundsToTrial - 1 };
  if (limit >= max) return { ...next, isTrial: false, rate: measured, roundsToTrial: 1 };
  return { ...next, limit: limit + 1, isTrial: true, rate: measured };
}

/** The pace after a network error, or an answer 429 or 503. */
export const afterRefusal = (pace: Pace, now: number): Pace => ({
  limit: Math.max(1, Math.floor(pace.limit / 2)),
  isTrial: false,
  rate: 0,
  roundsToTrial: ROUNDS_BETWEEN_TRIALS,
  round: begin(now),
});
