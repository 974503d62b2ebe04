/**
 * Limits how much mail one isolate processes at a time. An isolate has 128 MB for all its requests and objects, and parsing a
 * message needs a few times its size. When there is no room, callers wait in order of arrival.
 *
 * By design, waiters poll. If one request resolved another's promise, workerd could treat the wait as a hang once the first request
 * has died. And a dead request never releases its place. So both a place in the budget and a turn in the queue expire.
 */

/** Total size of the messages that may be processed at once. */
const BUDGET_BYTES = 32 * 1024 * 1024;
/** Minimum size that a message counts with, for its row, strings and calls. */
const COST_BYTES_MIN = 128 * 1024;
const ASK_EVERY_MS = 20;
/** Time after which a waiter that has not polled counts as gone. */
const TURN_EXPIRY_MS = 5_000;
/** Time after which a place in the budget expires. Processing one message never takes this long. */
const PLACE_EXPIRY_MS = 180_000;

interface Place {
  readonly bytes: number;
  seenAt: number;
}

export class MemoryBudget {
  readonly #inside = new Set<Place>();
  readonly #waiting = new Set<Place>();

  /** Runs work once there is room for a message of this size. A message larger than the whole budget runs alone. */
  async use<T>(sizeBytes: number, work: () => Promise<T>): Promise<T> {
    const place = { bytes: Math.min(BUDGET_BYTES, Math.max(COST_BYTES_MIN, sizeBytes)), seenAt: Date.now() };
    this.#waiting.add(place);
    try {
      while (!this.#isTurn(place)) {
        await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
        place.seenAt = Date.now();
      }
    } finally {
      this.#waiting.delete(place);
    }
    this.#inside.add(place);
    try {
      return await work();
    } finally {
      this.#inside.delete(place);
    }
  }

  #isTurn(place: Place): boolean {
    const now = Date.now();
    for (const other of this.#waiting) if (now - other.seenAt > TURN_EXPIRY_MS) this.#waiting.delete(other);
    for (const other of this.#inside) if (now - other.seenAt > PLACE_EXPIRY_MS) this.#inside.delete(other);
    const [first] = this.#waiting;
    const used = [...this.#inside].reduce((sum, other) => sum + other.bytes, 0);
    return (first === place || first === undefined) && used + place.bytes <= BUDGET_BYTES;
  }
}

/** The memory budget of this isolate. */
export const memoryBudget = new MemoryBudget();
