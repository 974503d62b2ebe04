/**
 * The key (score and time) of every slot, in pages of fixed size with both values side by side in one cache line. Growth adds a
 * page and copies nothing. A shard stores the pages in SQL as they are.
 */
const PAGE_BITS = 12;
export const SLOTS_PER_PAGE = 1 << PAGE_BITS;
const PAGE_MASK = SLOTS_PER_PAGE - 1;

/** The page of a slot, and its place in it. */
export const pageOfSlot = (slot: number): number => slot >>> PAGE_BITS;
export const slotInPage = (slot: number): number => slot & PAGE_MASK;

/** Score of a slot whose player is not listed. */
export const ABSENT = -1;

/** Counts the listed players of pages, and adds up their scores, as decimal text. */
export function sumKeys(pages: Iterable<Float64Array>): { players: number; sum: string } {
  let players = 0;
  // Sums the halves of each score separately, because the whole sum may exceed 2^53.
  let [high, low] = [0, 0];
  for (const page of pages) {
    for (let at = 0; at < page.length; at += 2) {
      const score = page[at] as number;
      if (score === ABSENT) continue;
      players++;
      high += Math.floor(score / 2 ** 26);
      low += score % 2 ** 26;
    }
  }
  return { players, sum: String((BigInt(high) << 26n) + BigInt(low)) };
}

export class SlotKeys {
  readonly #pages: Float64Array[] = [];
  readonly #changed = new Set<number>();

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
    this.#grow(number);
    this.#changed.add(number);
    const page = this.#pages[number] as Float64Array;
    const at = (slot & PAGE_MASK) << 1;
    page[at] = score;
    page[at | 1] = reached;
  }

  loadPage(number: number, page: Float64Array): void {
    this.#grow(number);
    this.#pages[number] = page;
  }

  /** Returns the pages that changed since the last call. */
  takeChanged(): [number: number, page: Float64Array][] {
    const changed = [...this.#changed].map((number): [number, Float64Array] => [
      number,
      this.#pages[number] as Float64Array,
    ]);
    this.#changed.clear();
    return changed;
  }

  *listed(): Generator<number> {
    for (const [number, page] of this.#pages.entries()) {
      for (let i = 0; i < SLOTS_PER_PAGE; i++) if (page[i << 1] !== ABSENT) yield (number << PAGE_BITS) | i;
    }
  }

  /** The latest time (`reached`) of all listed slots; 0 if no slot is listed. */
  newest(): number {
    let newest = 0;
    for (const slot of this.listed()) newest = Math.max(newest, this.reachedOf(slot));
    return newest;
  }

  #grow(number: number): void {
    while (this.#pages.length <= number) this.#pages.push(new Float64Array(SLOTS_PER_PAGE * 2).fill(ABSENT));
  }
}
