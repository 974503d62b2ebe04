/**
 * Limits how much mail one isolate processes at a time. An isolate has 128 MB for all its requests and objects, and parsing
 * needs a few times the size of a message. When there is no room, callers wait in order of arrival.
 *
 * By design, waiters poll. workerd treats a promise resolved by another request as a hang once that request has died, and a
 * dead request never releases its place. So both a place and a turn expire.
 */

/** Raw mail that may be processed at once. */
const BUDGET_BYTES = 32 * 1024 * 1024;
/** Minimum cost of a message: its row, strings and calls. */
const COST_BYTES_MIN = 128 * 1024;
const ASK_EVERY_MS = 20;
/** A waiter that has not polled for this long counts as gone. */
const TURN_EXPIRY_MS = 5_000;
/** Expiry of a place in the budget. Processing one message never takes this long. */
const PLACE_EXPIRY_MS = 180_000;

interface Place {
  readonly bytes: number;
  seenAt: number;
}

export class MemoryBudget {
  readonly #inside = new Set<Place>();
  readonly #waiting = new Set<Place>();

  /** Runs the work when there is room for a message of this size. A message larger than the whole budget runs alone. */
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

/** The budget of this isolate. */
export const memoryBudget = new MemoryBudget();
