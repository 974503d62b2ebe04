/**
 * What becomes of one recipient of an outgoing message. Pure: the time and the jitter come in as arguments.
 *
 *   held ──(hold is over)──▶ queued ──▶ sent | delivered | failed
 *     └──▶ canceled             └──▶ deferred ──(4xx, unknown, no connection)──▶ … until it expires, then failed
 *
 * `sent`: another server took it over with 250. `delivered`: it lies in a mailbox of this service.
 */

export const RECIPIENT_STATES = ['held', 'queued', 'deferred', 'sent', 'delivered', 'failed', 'canceled'] as const;
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/** What one attempt came to. `reply` is the server's last reply or, where there was none, our own words. */
export type AttemptOutcome =
  | { readonly kind: 'sent' | 'delivered'; readonly code: number; readonly reply: string }
  /** 5xx, or something that no retry can heal. */
  | { readonly kind: 'refused'; readonly code: number; readonly reply: string }
  /** 4xx, no connection, a check that gave no answer: try again. `code` is null when no server spoke. */
  | { readonly kind: 'deferred'; readonly code: number | null; readonly reply: string }
  /** The message went out to its last byte and no reply came: it may have arrived. Tried again, and said so. */
  | { readonly kind: 'unknown'; readonly reply: string };

export interface RetryPolicy {
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
  readonly expiresAfterMs: number;
  readonly warnAfterMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** RFC 5321 §4.5.4.1: give up after 4–5 days; a delay of 4 h is worth telling the sender (Postfix, sendmail). */
export const RETRY_POLICY: RetryPolicy = {
  firstDelayMs: MINUTE_MS,
  delayMsMax: 4 * HOUR_MS,
  expiresAfterMs: 5 * 24 * HOUR_MS,
  warnAfterMs: 4 * HOUR_MS,
};

/** Part of each delay that jitter takes away at most, so that a crowd of retries spreads out and none exceeds its cap. */
const JITTER_SHARE = 0.25;

/**
 * @param attempts how many were made, 1 or more.
 * @param jitter 0 to 1.
 * @returns milliseconds until the next one: doubling from the first delay up to the cap.
 */
export function decideDelay(attempts: number, jitter: number, policy: RetryPolicy = RETRY_POLICY): number {
  const doubled = policy.firstDelayMs * 2 ** Math.min(attempts - 1, 40);
  return Math.round(Math.min(doubled, policy.delayMsMax) * (1 - JITTER_SHARE * jitter));
}

export interface RecipientProgress {
  readonly state: RecipientState;
  /** Attempts that ended, this one included. */
  readonly attempts: number;
  /** Null unless deferred. */
  readonly nextAttemptAt: number | null;
  readonly lastCode: number | null;
  readonly lastReply: string;
  /** True once an attempt ended in the unknown: the recipient may get the message twice. */
  readonly isUncertain: boolean;
  /** True when it failed because time ran out. */
  readonly isExpired: boolean;
}

/**
 * @param before of this recipient: attempts made so far, when the message was queued, and whether it is uncertain already.
 * @param jitter 0 to 1.
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

/** The last attempt is made when time runs out, not a whole delay before. */
function decideRetry(attempts: number, queuedAt: number, now: number, jitter: number, policy: RetryPolicy) {
  const expiresAt = queuedAt + policy.expiresAfterMs;
  if (now >= expiresAt) return { state: 'failed', nextAttemptAt: null, isExpired: true } as const;
  const nextAttemptAt = Math.min(now + decideDelay(attempts, jitter, policy), expiresAt);
  return { state: 'deferred', nextAttemptAt, isExpired: false } as const;
}

export const isFinal = (state: RecipientState): boolean =>
  state !== 'held' && state !== 'queued' && state !== 'deferred';

/**
 * Queue growth has two causes with two cures. `recipient_down`: attempts are made and fail, so the oldest due work is
 * young while much is deferred. `too_few_consumers`: work that is due lies untouched.
 *
 * @param dueLagMs how long the oldest due recipient has waited for its attempt; 0 when nothing is due.
 */
export function diagnoseQueue(queue: {
  readonly dueLagMs: number;
  readonly deferred: number;
  readonly due: number;
}): 'healthy' | 'recipient_down' | 'too_few_consumers' {
  if (queue.dueLagMs > DUE_LAG_MS_HEALTHY) return 'too_few_consumers';
  return queue.deferred > queue.due ? 'recipient_down' : 'healthy';
}

/** A hint takes a second or two, a sweep at most a minute: what lies longer lacks a consumer. */
const DUE_LAG_MS_HEALTHY = 2 * MINUTE_MS;
