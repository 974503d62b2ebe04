/**
 * State machine of one recipient of an outgoing message. Pure: time and jitter are arguments.
 * - `held`: becomes `queued` when the hold ends, or `canceled`.
 * - `queued`, `deferred`: wait for an attempt. It leads to `sent`, `delivered` or `failed`, or to `deferred` after a reply 4xx, an
 * unknown outcome or without a connection. After the expiry, it leads to `failed` instead of `deferred`.
 * - `sent`: another server accepted the message with 250. What it reports later leads to `delivered` or `failed`
 * (`delivery-event.ts`).
 * - `delivered`: the message is stored in a mailbox of this service, or another server reported that it was delivered.
 */

export const RECIPIENT_STATES = ['held', 'queued', 'deferred', 'sent', 'delivered', 'failed', 'canceled'] as const;
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** Outcome of one attempt for a recipient. `reply` is the server's last reply, or our own text if there was none. */
export type AttemptOutcome =
  | { readonly kind: 'delivered'; readonly code: number; readonly reply: string }
  /** `reference` is the transport's id of the message, by which its delivery events name it; absent if it reports no events. */
  | { readonly kind: 'sent'; readonly code: number; readonly reply: string; readonly reference?: string }
  /** A reply 5xx, or a failure that no retry can repair. */
  | {
      readonly kind: 'refused';
      readonly code: number;
      readonly reply: string;
      /** Set if our own spam or virus check refused the message. It goes back to its author. */
      readonly isBlocked?: true;
    }
  /**
   * The service's suppression list has the address. `until` is when the entry ends; `never` if it does not end, `unknown` if the list
   * cannot be read.
   */
  | { readonly kind: 'suppressed'; readonly reply: string; readonly until: number | 'never' | 'unknown' }
  /** Retry later: a reply 4xx, no connection, or a check without an answer. `code` is null if no server replied. */
  | { readonly kind: 'deferred'; readonly code: number | null; readonly reply: string }
  /**
   * The message was sent completely but no reply came, so it may have arrived. It is sent again, and the recipient is marked as
   * uncertain.
   */
  | { readonly kind: 'unknown'; readonly reply: string };

export interface RetryPolicy {
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
  readonly expiresAfterMs: number;
  readonly warnAfterMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Default policy. Attempts end after 5 days (RFC 5321 §4.5.4.1: at least 4–5 days). The sender is warned after 4 h, as by Postfix
 * and sendmail.
 */
export const RETRY_POLICY: RetryPolicy = {
  firstDelayMs: MINUTE_MS,
  delayMsMax: 4 * HOUR_MS,
  expiresAfterMs: 5 * 24 * HOUR_MS,
  warnAfterMs: 4 * HOUR_MS,
};

/** Largest part of a delay that jitter subtracts. Jitter spreads retries, and by subtracting it never exceeds the maximum delay. */
const JITTER_SHARE = 0.25;

/**
 * @param attempts number of attempts so far, at least 1.
 * @param jitter random number from 0 to 1.
 * @returns milliseconds until the next attempt. The delay doubles from the first delay up to the maximum.
 */
export function decideDelay(attempts: number, jitter: number, policy: RetryPolicy = RETRY_POLICY): number {
  const doubled = policy.firstDelayMs * 2 ** Math.min(attempts - 1, 40);
  return Math.round(Math.min(doubled, policy.delayMsMax) * (1 - JITTER_SHARE * jitter));
}

/** Times between which an attempt may be, so that it can be at the time of another one. */
export interface AttemptWindow {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Window of the attempt after a failed one: all that the jitter can make of its delay, and not after the expiry.
 * @param state the state after the failed attempt.
 */
export function retryWindow(
  { attempts, queuedAt }: { readonly attempts: number; readonly queuedAt: number },
  now: number,
  policy: RetryPolicy = RETRY_POLICY,
): AttemptWindow {
  const expiresAt = queuedAt + policy.expiresAfterMs;
  return {
    earliest: Math.min(now + decideDelay(attempts, 1, policy), expiresAt),
    latest: Math.min(now + decideDelay(attempts, 0, policy), expiresAt),
  };
}

/** Window after a wait without an attempt, such as that for a held destination. */
export const waitWindow = (until: number, now: number): AttemptWindow => ({
  earliest: until - Math.max(0, until - now) * JITTER_SHARE,
  latest: until,
});

/** Longest delay of a queue message: https://developers.cloudflare.com/queues/configuration/batching-retries/#delay-messages */
export const HINT_DELAY_MS_MAX = 12 * HOUR_MS;

export interface RecipientProgress {
  readonly state: RecipientState;
  /** Number of finished attempts, including this one. */
  readonly attempts: number;
  /** Time of the next attempt; null unless the state is `deferred`. */
  readonly nextAttemptAt: number | null;
  readonly lastCode: number | null;
  readonly lastReply: string;
  /** True once an attempt had an unknown outcome, so that the recipient may receive the message twice. */
  readonly isUncertain: boolean;
  /** True if the recipient failed because the time for attempts had passed. */
  readonly isExpired: boolean;
  /** True if the attempt found the address on a suppression list; absent otherwise. */
  readonly isSuppressed?: true;
}

interface Attempted {
  readonly attempts: number;
  readonly queuedAt: number;
  readonly isUncertain: boolean;
  readonly isSuppressed?: boolean;
}

/**
 * Decides the state of a recipient after an attempt.
 * @param before the state before: attempts so far, when the message was queued, and whether the recipient is uncertain already.
 * @param jitter random number from 0 to 1.
 */
export function decideProgress(
  before: Attempted,
  outcome: AttemptOutcome,
  now: number,
  jitter: number,
  policy: RetryPolicy = RETRY_POLICY,
): RecipientProgress {
  const attempts = before.attempts + 1;
  const { isUncertain } = before;
  const base = { attempts, lastReply: outcome.reply, isUncertain, isExpired: false };
  switch (outcome.kind) {
    case 'sent':
    case 'delivered':
      return { ...base, state: outcome.kind, nextAttemptAt: null, lastCode: outcome.code };
    case 'refused':
      return { ...base, state: 'failed', nextAttemptAt: null, lastCode: outcome.code };
    case 'suppressed': {
      const expiresAt = before.queuedAt + policy.expiresAfterMs;
      return { ...base, ...decideSuppressed(outcome.until, before.isSuppressed === true, expiresAt, now) };
    }
    case 'deferred':
    case 'unknown': {
      const retry = decideRetry(attempts, before.queuedAt, now, jitter, policy);
      const lastCode = outcome.kind === 'deferred' ? outcome.code : null;
      return { ...base, ...retry, lastCode, isUncertain: before.isUncertain || outcome.kind === 'unknown' };
    }
  }
}

/** Cloudflare needs some time to enforce the end of a suppression, so the attempt is made a little later. */
const SUPPRESSION_MARGIN_MS = 5 * MINUTE_MS;
/** Delay of the one further attempt if the end is unknown: that of a suppression after a soft bounce. */
const SUPPRESSION_UNKNOWN_MS = 24 * HOUR_MS;

/**
 * If the suppression ends before the message expires, the recipient waits for its end; otherwise it fails at once. By design, the
 * reasons name the address and the domain only: another user of the domain may have caused the suppression.
 */
function decideSuppressed(until: number | 'never' | 'unknown', isRepeated: boolean, expiresAt: number, now: number) {
  const fail = (when: string) => {
    const lastReply = `5.7.1 not sent${when}, because this address refused mail of this domain`;
    return { state: 'failed', nextAttemptAt: null, lastCode: null, isSuppressed: true, lastReply } as const;
  };
  if (until === 'never') return fail('');
  if (until === 'unknown' && isRepeated) return fail('');
  const nextAttemptAt = until === 'unknown' ? now + SUPPRESSION_UNKNOWN_MS : until + SUPPRESSION_MARGIN_MS;
  const time = new Date(nextAttemptAt).toISOString().slice(0, 16).replace('T', ' ');
  if (nextAttemptAt > expiresAt) return fail(until === 'unknown' ? '' : ` until ${time} UTC`);
  const lastReply = `not sent until ${time} UTC, because this address refused mail of this domain`;
  return { state: 'deferred', nextAttemptAt, lastCode: null, isSuppressed: true, lastReply } as const;
}

/** If the next retry would be after the expiry, the last attempt is at the time of expiry. */
function decideRetry(attempts: number, queuedAt: number, now: number, jitter: number, policy: RetryPolicy) {
  const expiresAt = queuedAt + policy.expiresAfterMs;
  if (now >= expiresAt) return { state: 'failed', nextAttemptAt: null, isExpired: true } as const;
  const nextAttemptAt = Math.min(now + decideDelay(attempts, jitter, policy), expiresAt);
  return { state: 'deferred', nextAttemptAt, isExpired: false } as const;
}

/** Whether the recipient's server put a message off that another server had accepted from us, which tries again itself. */
export const isDelayed = ({ state, lastCode }: { state: RecipientState; lastCode: number | null }): boolean =>
  state === 'sent' && lastCode !== null && lastCode >= 400 && lastCode < 500;

export const isFinal = (state: RecipientState): boolean =>
  state !== 'held' && state !== 'queued' && state !== 'deferred';

/**
 * Names the cause of a growing queue. `recipient_down`: attempts fail, so many recipients are deferred although due ones do not
 * wait long. `too_few_consumers`: due recipients are not attempted.
 * @param queue `dueLagMs`: how long the oldest due recipient has waited for its attempt; 0 if none is due. `due`: number of due
 * recipients without a failed attempt. Others count as deferred, even when their retry is due.
 */
export function diagnoseQueue(queue: {
  readonly dueLagMs: number;
  readonly deferred: number;
  readonly due: number;
}): 'healthy' | 'recipient_down' | 'too_few_consumers' {
  if (queue.dueLagMs > DUE_LAG_MS_HEALTHY) return 'too_few_consumers';
  return queue.deferred > 0 && queue.deferred >= queue.due ? 'recipient_down' : 'healthy';
}

/**
 * Maximum normal wait of a due recipient. A hint takes a second or two, and the mailbox's alarm replaces a lost hint within
 * seconds. A longer wait means too few consumers.
 */
const DUE_LAG_MS_HEALTHY = 2 * MINUTE_MS;
