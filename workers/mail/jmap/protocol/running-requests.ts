/**
 * Counts the requests of a user that run at once in this isolate, whose 128 MB they share. Other isolates count their own, so a client that
 * keeps to the announced limit is never refused, and one that does not keep to it may be.
 */

/** A request whose client left is cut off without a word. It counts no longer than this. */
const RUNS_MS_MAX = 120_000;

export class RunningRequests {
  readonly #max: number;
  /** When each request began, by user. */
  readonly #running = new Map<string, Set<{ readonly startedAt: number }>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns how to end the request; null if as many run as may. */
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
