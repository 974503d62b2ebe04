/**
 * Keeps accounts that cause much work from delaying others. The requests of an isolate share one thread, and a request with many steps,
 * such as a JMAP request of 32 calls, otherwise adds its steps before those of a request with one. So before each step of an account with
 * several requests, it waits for the requests of accounts with fewer, for a short time. All is in memory of the isolate: no call and no row.
 *
 * Waiting requests poll, because workerd treats a promise that another request resolves as a hang once that request has died.
 */

/** Accounts with fewer running requests never wait, so that a busy isolate does not slow ordinary clients. */
const FLOOD_REQUESTS = 4;
/** Time after which a request no longer holds others up: it waits for a store, streams, or died. */
const YIELDED_MS = 1_000;
const POLL_MS = 4;
/** Maximum time that a step waits. A flood of many accounts thus slows each, and stops none. */
const STEP_WAIT_MS = 60;

export class SharedTurns {
  /** Times at which requests began, in milliseconds, by account. */
  readonly #running = new Map<string, Set<{ readonly beganAt: number }>>();

  /** Notes that a request of an account begins. @returns a function to call when it has ended; calling it again does nothing. */
  begin(account: string): () => void {
    const request = { beganAt: Date.now() };
    const requests = this.#running.get(account) ?? new Set();
    this.#running.set(account, requests.add(request));
    return () => {
      requests.delete(request);
      if (requests.size === 0 && this.#running.get(account) === requests) this.#running.delete(account);
    };
  }

  /** Waits, before a step of an account's work, while quieter accounts have requests. */
  async giveWay(account: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < STEP_WAIT_MS && this.#isAnyQuieter(account); waitedMs += POLL_MS)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }

  #isAnyQuieter(account: string): boolean {
    const own = this.#running.get(account)?.size ?? 1;
    if (own < FLOOD_REQUESTS) return false;
    const since = Date.now() - YIELDED_MS;
    for (const [other, requests] of this.#running) {
      if (other === account || requests.size >= own) continue;
      for (const { beganAt } of requests) if (beganAt > since) return true;
      // Requests that died never end.
      for (const request of requests) if (request.beganAt <= since - FORGOTTEN_MS) requests.delete(request);
      if (requests.size === 0) this.#running.delete(other);
    }
    return false;
  }
}

/** Time after which a request that did not end is forgotten. */
const FORGOTTEN_MS = 600_000;

/** The turns of all JSON requests of this isolate. */
export const sharedTurns = new SharedTurns();
