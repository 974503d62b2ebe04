/** How many recipients an account may send to per hour. Pure. */

/** Recipients per hour. An account gets the smaller of `perHour` and the limit of its age. */
export interface SendLimits {
  readonly perHour: number;
  readonly perHourFirstDay: number;
  readonly perHourFirstWeek: number;
}

/** Counts of the recent messages of an account. */
export interface SendHistory {
  /** Time since the mailbox was created. */
  readonly ageMs: number;
  /** Recipients of the last day, and those among them that failed permanently. */
  readonly recipients: number;
  readonly failures: number;
  /** Recipients per minute of the last hour, oldest first. `endsAt` is the end of the minute, in milliseconds since 1970. */
  readonly minutes: readonly { readonly endsAt: number; readonly recipients: number }[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Senders to lists of guessed or stale addresses see a large share of failures; ordinary senders do not. */
const FAILURES_MIN = 10;
const FAILURE_SHARE = 1 / 4;

const isInGoodStanding = ({ recipients, failures }: SendHistory): boolean =>
  failures < FAILURES_MIN || failures < recipients * FAILURE_SHARE;

/** @returns recipients per hour. Many failures in the last day bring back the limit of the first day. */
export function decideSendLimit(limits: SendLimits, history: SendHistory): number {
  const { perHour, perHourFirstDay, perHourFirstWeek } = limits;
  if (history.ageMs < DAY_MS || !isInGoodStanding(history)) return Math.min(perHour, perHourFirstDay);
  return history.ageMs < WEEK_MS ? Math.min(perHour, perHourFirstWeek) : perHour;
}

/** @returns milliseconds until a message to this many recipients may be sent; 0 for now. */
export function decideSendWait(limits: SendLimits, history: SendHistory, recipients: number, now: number): number {
  const limit = decideSendLimit(limits, history);
  if (recipients > limit) return waitForHigherLimit(limits, history, recipients);
  let excess = history.minutes.reduce((sum, minute) => sum + minute.recipients, recipients) - limit;
  if (excess <= 0) return 0;
  for (const minute of history.minutes) {
    excess -= minute.recipients;
    if (excess <= 0) return Math.max(1, minute.endsAt + HOUR_MS - now);
  }
  return HOUR_MS;
}

/**
 * The message has more recipients than the account may send to in an hour, so it must wait until the account is older and its limit
 * higher.
 */
function waitForHigherLimit(limits: SendLimits, history: SendHistory, recipients: number): number {
  const agesMs = [DAY_MS, WEEK_MS].filter((ageMs) => ageMs > history.ageMs);
  const enough = agesMs.find((ageMs) => decideSendLimit(limits, { ...history, ageMs }) >= recipients);
  return enough === undefined ? HOUR_MS : enough - history.ageMs;
}
