/** The key of every slot: score and time side by side (one cache line), in fixed pages. Growing never copies. */
const PAGE_BITS = 12;
const PAGE_SLOTS = 1 << PAGE_BITS;
const PAGE_MASK = PAGE_SLOTS - 1;

/** The score of a slot that is not listed. */
export const ABSENT = -1;

export class SlotKeys {
  readonly #pages: Float64Array[] = [];

  /** @returns the score, or `ABSENT`. */
  scoreOf(slot: number): number {
    const page = this.#pages[slot >>> PAGE_BITS];
    return page === undefined ? ABSENT : (page[(slot & PAGE_MASK) << 1] as number);
  }

  reachedOf(slot: number): number {
    const page = this.#pages[slot >>> PAGE_BITS];
    return page === undefined ? 0 : (page[((slot & PAGE_MASK) << 1) | 1] as number);
  }

  set(slot: number, score: number, reached: number): void {
    const number = slot >>> PAGE_BITS;
    while (this.#pages.length <= number) this.#pages.push(new Float64Array(PAGE_SLOTS * 2).fill(ABSENT));
    const page = this.#pages[number] as Float64Array;
    const at = (slot & PAGE_MASK) << 1;
    page[at] = score;
    page[at | 1] = reached;
  }

  get byteLength(): number {
    return this.#pages.length * PAGE_SLOTS * 16;
  }
}
