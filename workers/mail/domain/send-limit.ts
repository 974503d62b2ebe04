/** Decides to how many recipients an account may send per hour. Pure. */

/** Limits in recipients per hour. An account gets the lower one of `perHour` and the limit for its age. */
export interface SendLimits {
  readonly perHour: number;
  readonly perHourFirstDay: number;
  readonly perHourFirstWeek: number;
}

/**
 * Standing of an account by the complaints about its mail. `lowered`: the limit is that of the first day. `held`: its mail waits until
 * an operator releases it.
 */
export type Standing = 'good' | 'lowered' | 'held';

/** What an account has sent recently. */
export interface SendHistory {
  /** Time since the account's mailbox was created. */
  readonly ageMs: number;
  /** Number of recipients in the last day. `failures` counts those among them that failed permanently. */
  readonly recipients: number;
  readonly failures: number;
  /** What complaints of the last 30 days say. Default: `good`. */
  readonly standing?: Standing;
  /**
   * Numbers of recipients in each minute of the last hour, oldest first. `endsAt` is the end of the minute, in milliseconds since
   * 1970.
   */
  readonly minutes: readonly { readonly endsAt: number; readonly recipients: number }[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/**
 * From this number and share of failures on, the limit is lowered. Senders to lists of guessed or stale addresses see a large share
 * of failures; ordinary senders do not.
 */
const FAILURES_MIN = 10;
const FAILURE_SHARE = 1 / 4;

/**
 * Numbers and shares of complaints from which on the limit is lowered and mail is held. Large receivers ask for less than 0.1 % and
 * take action from 0.3 % on: https://support.google.com/a/answer/81126. The numbers keep one complaint about a few messages from
 * counting as a share.
 */
const COMPLAINTS_LOWERED = { min: 2, share: 0.001 };
const COMPLAINTS_HELD = { min: 5, share: 0.003 };

/** Decides the standing of an account. Both numbers are of the same 30 days. */
export function decideStanding({ recipients, complaints }: { recipients: number; complaints: number }): Standing {
  const isOver = ({ min, share }: { min: number; share: number }) =>
    complaints >= min && complaints >= recipients * share;
  return isOver(COMPLAINTS_HELD) ? 'held' : isOver(COMPLAINTS_LOWERED) ? 'lowered' : 'good';
}

const isInGoodStanding = ({ recipients, failures, standing = 'good' }: SendHistory): boolean =>
  standing === 'good' && (failures < FAILURES_MIN || failures < recipients * FAILURE_SHARE);

/** @returns the limit in recipients per hour. Many failures in the last day, or complaints, lower it to the limit of the first day. */
export function decideSendLimit(limits: SendLimits, history: SendHistory): number {
  const { perHour, perHourFirstDay, perHourFirstWeek } = limits;
  if (history.ageMs < DAY_MS || !isInGoodStanding(history)) return Math.min(perHour, perHourFirstDay);
  return history.ageMs < WEEK_MS ? Math.min(perHour, perHourFirstWeek) : perHour;
}

/** @returns milliseconds until a message to this many recipients may be sent; 0 if it may be sent now. */
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
 * The message has more recipients than the current limit per hour.
 * @returns the time until the account is old enough for a limit that suffices; an hour if none does.
 */
function waitForHigherLimit(limits: SendLimits, history: SendHistory, recipients: number): number {
  const agesMs = [DAY_MS, WEEK_MS].filter((ageMs) => ageMs > history.ageMs);
  const enough = agesMs.find((ageMs) => decideSendLimit(limits, { ...history, ageMs }) >= recipients);
  return enough === undefined ? HOUR_MS : enough - history.ageMs;
}
