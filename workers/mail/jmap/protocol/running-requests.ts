/**
 * Limits the requests of a user that run at once in this isolate, because they share its 128 MB. Each isolate counts its own
 * requests. So a client within the announced limit is never refused, but a client above it may not be refused either.
 */

/** Maximum time for which a request counts. The end of a request may go unnoticed if its client disconnects. */
const RUNS_MS_MAX = 120_000;

export class RunningRequests {
  readonly #max: number;
  /** Running requests by user, with the start time of each. */
  readonly #running = new Map<string, Set<{ readonly startedAt: number }>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Begins a request. @returns a function that ends the request; null if the limit is reached. */
  begin(userId: string, now: number): (() => void) | null {
    const running = this.#running.get(userId) ?? new Set();
    for (const each of running) if (each.startedAt <= now - RUNS_MS_MAX) running.delete(each);
    if (running.size >= this.#max) return null;
    const request = { startedAt: now };
    this.#running.set(userId, running.add(request));
    return () => {
      running.delete(request);
      if (running.size === 0 && this.#running.get(userId) === running) this.#running.delete(userId);
    };
  }
}
