/**
 * State machine of one recipient of an outgoing message. Pure: time and jitter are arguments.
 * - `held`: becomes `queued` when the hold ends, or `canceled`.
 * - `queued`, `deferred`: wait for an attempt. It leads to `sent`, `delivered` or `failed`, or to `deferred` after a reply 4xx, an
 * unknown outcome or without a connection. After the expiry, it leads to `failed` instead of `deferred`.
 * - `sent`: another server accepted the message with 250.
 * - `delivered`: the message is stored in a mailbox of this service.
 */

export const RECIPIENT_STATES = ['held', 'queued', 'deferred', 'sent', 'delivered', 'failed', 'canceled'] as const;
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** Outcome of one attempt for a recipient. `reply` is the server's last reply, or our own text if there was none. */
export type AttemptOutcome =
  | { readonly kind: 'sent' | 'delivered'; readonly code: number; readonly reply: string }
  /** A reply 5xx, or a failure that no retry can repair. */
  | { readonly kind: 'refused'; readonly code: number; readonly reply: string }
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
}

/**
 * Decides the state of a recipient after an attempt.
 * @param before the state before: attempts so far, when the message was queued, and whether the recipient is uncertain already.
 * @param jitter random number from 0 to 1.
 */
export function decideProgress(
  before: { readonly attempts: number; readonly queuedAt: number; readonly isUncertain: boolean },
  outcome: AttemptOutcome,
  now: number,
  jitter: number,
  policy: RetryPolicy = RETRY_POLICY,
): RecipientProgress {
  const attempts = before.attempts + 1;
  const base = { attempts, lastReply: outcome.reply, isUncertain: before.isUncertain, isExpired: false };
  switch (outcome.kind) {
    case 'sent':
    case 'delivered':
      return { ...base, state: outcome.kind, nextAttemptAt: null, lastCode: outcome.code };
    case 'refused':
      return { ...base, state: 'failed', nextAttemptAt: null, lastCode: outcome.code };
    case 'deferred':
    case 'unknown': {
      const retry = decideRetry(attempts, before.queuedAt, now, jitter, policy);
      const lastCode = outcome.kind === 'deferred' ? outcome.code : null;
      return { ...base, ...retry, lastCode, isUncertain: before.isUncertain || outcome.kind === 'unknown' };
    }
  }
}

/** If the next retry would be after the expiry, the last attempt is at the time of expiry. */
function decideRetry(attempts: number, queuedAt: number, now: number, jitter: number, policy: RetryPolicy) {
  const expiresAt = queuedAt + policy.expiresAfterMs;
  if (now >= expiresAt) return { state: 'failed', nextAttemptAt: null, isExpired: true } as const;
  const nextAttemptAt = Math.min(now + decideDelay(attempts, jitter, policy), expiresAt);
  return { state: 'deferred', nextAttemptAt, isExpired: false } as const;
}

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
