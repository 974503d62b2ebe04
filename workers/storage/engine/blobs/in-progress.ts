/** Counts work in progress, up to a limit. Work that hangs, or whose request was cancelled, never ends, so it counts for 30 seconds. */
const COUNTED_MS = 30_000;

export class InProgress {
  readonly #max: number;
  readonly #begunAt = new Map<symbol, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns null if too much work is in progress, else the function that ends this one. */
  begin(): (() => void) | null {
    const oldest = Date.now() - COUNTED_MS;
    for (const [work, since] of this.#begunAt) if (since < oldest) this.#begunAt.delete(work);
    if (this.#begunAt.size >= this.#max) return null;
    const work = Symbol();
    this.#begunAt.set(work, Date.now());
    return () => void this.#begunAt.delete(work);
  }
}
