/**
 * Runs password hashes one at a time in an isolate, with a short queue. A hash holds the isolate's only thread for 100 to 250 ms,
 * so an unlimited burst of logins would stop every other request.
 *
 * Waiters poll: workerd treats a promise that another request resolves as a hang once that request has died. A request
 * that dies releases nothing either, so a place in the queue and a running hash both expire.
 */
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';

/** Maximum number of waiting requests. The last one waits for about seven seconds. */
const WAITING_MAX = 20;
/** Maximum number of waiting strangers. The other places are kept for people at a place from which they logged in before. */
const STRANGERS_WAITING_MAX = 10;
const POLL_MS = 20;
/** Pause between two hashes, in which other requests run. */
const REST_MS = 100;
/** Time after which a waiter that has not polled, or a hash that has not ended, counts as lost because its request died. */
const LOST_MS = 1_000;
const BUSY = problem(503, 'too_many_logins', 'Too many logins at once. Retry.', { retryAfterSeconds: 3 });

/** Whether a request is of somebody at a known place or with a session or link, or of a stranger. */
export type Hasher = 'known' | 'stranger';

export class HashGate {
  /** The waiting requests, with the time of each one's last poll. */
  readonly #waiting = new Map<symbol, { readonly seenAt: number; readonly who: Hasher }>();
  #startedAt = 0;
  #isRunning = false;
  /**
   * End of the last hash; null until a waiter notices the end, because the clock of a Worker does not advance during a computation.
   */
  #endedAt: number | null = 0;

  /**
   * Waits for the gate and runs a hash. Known requests go first.
   * @returns the hash, or 503 if the queue is full. In that case the work did not start.
   */
  async run<T>(who: Hasher, work: () => Promise<T>): Promise<Result<T, Problem>> {
    const admitted = this.admit(who);
    if (!admitted.ok) return admitted;
    const waiter = Symbol();
    while (!this.#isFree() || (who === 'stranger' && this.#countWaiting('known') > 0)) {
      this.#waiting.set(waiter, { seenAt: Date.now(), who });
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    this.#waiting.delete(waiter);
    const startedAt = Date.now();
    this.#startedAt = startedAt;
    this.#endedAt = null;
    this.#isRunning = true;
    try {
      return ok(await work());
    } finally {
      if (this.#startedAt === startedAt) this.#isRunning = false;
    }
  }

  /** Checks the queue early, for callers that have other work before the hash. @returns 503 if the queue is full. */
  admit(who: Hasher): Result<null, Problem> {
    const strangers = this.#countWaiting('stranger');
    const isFull = this.#waiting.size >= WAITING_MAX || (who === 'stranger' && strangers >= STRANGERS_WAITING_MAX);
    return isFull ? err(BUSY) : ok(null);
  }

  /** Counts the waiting requests of a kind, and forgets those that died. */
  #countWaiting(kind: Hasher): number {
    let waiting = 0;
    for (const [waiter, { seenAt, who }] of this.#waiting) {
      if (Date.now() - seenAt > LOST_MS) this.#waiting.delete(waiter);
      else if (who === kind) waiting += 1;
    }
    return waiting;
  }

  #isFree(): boolean {
    const now = Date.now();
    if (this.#isRunning && now - this.#startedAt < LOST_MS) return false;
    this.#endedAt ??= Math.min(now, this.#startedAt + LOST_MS);
    return now - this.#endedAt >= REST_MS;
  }
}

/** The gate for all password hashes of this isolate. */
export const hashGate = new HashGate();
