/**
 * Limits the requests of a user that run at once in this isolate, because they share its memory and its one thread: at most `max`
 * are held, and `working` of them work while the others wait. A user's requests thus slow other users by little. Each isolate counts
 * its own requests. So a client within the announced limit is never refused, but a client above it may not be refused either.
 *
 * Waiting requests poll, and each request shows by a beat that it lives: the end of a request goes unnoticed if its client
 * disconnects, and workerd treats a promise that another request resolves as a hang once that request has died.
 */

const POLL_MS = 10;
const BEAT_MS = 250;
/** Time without a beat after which a request counts as dead. */
const LOST_MS = 2_000;

interface Running {
  /** Time at which the request last showed that it lives, in milliseconds since 1970 UTC. */
  beatAt: number;
}

/** One request among those of its user. */
export interface Turn {
  /** Waits until the request may work. */
  wait(): Promise<void>;
  /** Ends the request. Must be called once. */
  end(): void;
}

export class RunningRequests {
  readonly #max: number;
  readonly #working: number;
  /** Requests by user, in the order of their start. */
  readonly #running = new Map<string, Set<Running>>();

  constructor(max: number, working = max) {
    this.#max = max;
    this.#working = working;
  }

  /** Begins a request. @returns null if the user has `max` requests. */
  begin(userId: string): Turn | null {
    const running = this.#running.get(userId) ?? new Set();
    this.#forgetDead(running);
    if (running.size >= this.#max) return null;
    const request: Running = { beatAt: Date.now() };
    this.#running.set(userId, running.add(request));
    const beat = setInterval(() => {
      request.beatAt = Date.now();
    }, BEAT_MS);
    return {
      wait: async () => {
        while (!this.#isTurnOf(request, running)) {
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
          request.beatAt = Date.now();
        }
      },
      end: () => {
        clearInterval(beat);
        running.delete(request);
        if (running.size === 0 && this.#running.get(userId) === running) this.#running.delete(userId);
      },
    };
  }

  /** Whether a request is among the first `working` of its user that live. */
  #isTurnOf(request: Running, running: Set<Running>): boolean {
    this.#forgetDead(running);
    let before = 0;
    for (const each of running) {
      if (each === request) return true;
      before += 1;
      if (before >= this.#working) return false;
    }
    // The request itself was taken for dead, because its isolate was busy. It works on.
    return true;
  }

  #forgetDead(running: Set<Running>): void {
    for (const each of running) if (each.beatAt <= Date.now() - LOST_MS) running.delete(each);
  }
}
