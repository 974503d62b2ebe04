/**
 * Runs password hashes one at a time in an isolate, with a short queue. A hash holds the isolate's only thread for 100 to
 * 250 ms, so without a bound a burst of logins stops every other request.
 *
 * Waiters poll: workerd treats a promise that another request resolves as a hang once that request has died. A request
 * that dies releases nothing either, so a place in the queue and a running hash both expire.
 */
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';

/** The last one waits for about seven seconds. */
const WAITING_MAX = 20;
const POLL_MS = 20;
/** Other requests run between two hashes. */
const REST_MS = 100;
/** A waiter that has not polled, or a hash that has not ended, for this long belongs to a dead request. */
const LOST_MS = 1_000;
const BUSY = problem(503, 'too_many_logins', 'Too many logins at once. Retry.', { retryAfterSeconds: 3 });

export class HashGate {
  /** Waiters, with the time of each one's last poll. */
  readonly #waiting = new Map<symbol, number>();
  #startedAt = 0;
  #isRunning = false;
  /** Null until a waiter sees that the hash ended. The clock of a Worker does not advance during a computation. */
  #endedAt: number | null = 0;

  /** @returns the work's result, or 503 if the queue is full. Then the work did not start. */
  async run<T>(work: () => Promise<T>): Promise<Result<T, Problem>> {
    const admitted = this.admit();
    if (!admitted.ok) return admitted;
    const waiter = Symbol();
    while (!this.#isFree()) {
      this.#waiting.set(waiter, Date.now());
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

  /** For callers with work to do before the hash. @returns 503 if the queue is full now. */
  admit(): Result<null, Problem> {
    for (const [waiter, seenAt] of this.#waiting) if (Date.now() - seenAt > LOST_MS) this.#waiting.delete(waiter);
    return this.#waiting.size < WAITING_MAX ? ok(null) : err(BUSY);
  }

  #isFree(): boolean {
    const now = Date.now();
    if (this.#isRunning && now - this.#startedAt < LOST_MS) return false;
    this.#endedAt ??= Math.min(now, this.#startedAt + LOST_MS);
    return now - this.#endedAt >= REST_MS;
  }
}

/** The one gate of the isolate. */
export const hashGate = new HashGate();
