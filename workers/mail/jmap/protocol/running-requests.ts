/**
 * Counts the requests of a user that run at once in this isolate, whose 128 MB they share. Each isolate counts its own requests. A
 * client within the announced limit is therefore never refused; a client that exceeds it may be.
 */

/** Longest time for which a request counts. A request may end unnoticed when its client disconnects. */
const RUNS_MS_MAX = 120_000;

export class RunningRequests {
  readonly #max: number;
  /** Start times of the running requests, by user. */
  readonly #running = new Map<string, Set<{ readonly startedAt: number }>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns a function that ends the request; null if the limit is reached. */
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
