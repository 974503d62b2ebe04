/**
 * How much mail one isolate looks into at a time. An isolate has 128 MB for all its requests and objects together, and a
 * message costs a few times its size while it is parsed: whoever comes when there is no room waits, first come first served.
 *
 * By design it is asked again and again rather than told: a promise that another request resolves is taken for a hang by the
 * runtime when that request dies, and a request that dies never gives anything back. So a place and a turn both run out.
 */

/** Of raw mail that may be looked into at once. */
const BUDGET_BYTES = 32 * 1024 * 1024;
/** Every message costs this at least: the row, the strings, the calls. */
const COST_BYTES_MIN = 128 * 1024;
const ASK_EVERY_MS = 20;
/** Somebody who waits and has not asked for this long is gone. */
const TURN_LOST_MS = 5_000;
/** Nobody looks into one message for longer. */
const PLACE_LOST_MS = 180_000;

interface Place {
  readonly bytes: number;
  seenAt: number;
}

export class MemoryBudget {
  readonly #inside = new Set<Place>();
  readonly #waiting = new Set<Place>();

  /** Runs the work when there is room for a message of this size; one that is larger than the whole budget runs alone. */
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
    for (const other of this.#waiting) if (now - other.seenAt > TURN_LOST_MS) this.#waiting.delete(other);
    for (const other of this.#inside) if (now - other.seenAt > PLACE_LOST_MS) this.#inside.delete(other);
    const [first] = this.#waiting;
    const used = [...this.#inside].reduce((sum, other) => sum + other.bytes, 0);
    return (first === place || first === undefined) && used + place.bytes <= BUDGET_BYTES;
  }
}

/** The isolate's. */
export const memoryBudget = new MemoryBudget();
