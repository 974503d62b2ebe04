/**
 * Finds the page of an event: a hash table of typed arrays with 4 bytes per place. The place and its key are parts of the event's
 * word, and the page has 16 bits. Callers verify each page that it returns. With three million events, one in a thousand new events
 * is looked up in a page without it.
 */
/** Above this load, chains of taken places are long. */
const LOAD_MAX = 0.8;
/** The most pages that may be stored at a time. 16 bits allow one page fewer than 65,536, because 0 marks a free place. */
const PAGES_MAX = 65_535;

export class EventFilter {
  readonly #keys: Uint16Array;
  /** The page modulo `PAGES_MAX`, plus 1. */
  readonly #marks: Uint16Array;
  #size = 0;

  constructor(events: number) {
    const places = Math.ceil(events / LOAD_MAX) + 1;
    this.#keys = new Uint16Array(places);
    this.#marks = new Uint16Array(places);
  }

  get isFull(): boolean {
    return this.#size + 1 > this.#keys.length * LOAD_MAX;
  }

  add(word: number, page: number): void {
    let at = this.#firstPlace(word);
    while (this.#marks[at] !== 0) at = this.#next(at);
    this.#keys[at] = word;
    this.#marks[at] = (page % PAGES_MAX) + 1;
    this.#size++;
  }

  /** The stored pages, from `first` to `last`, that may contain an event with this word. */
  pagesOf(word: number, first: number, last: number): Set<number> {
    const found = new Set<number>();
    for (let at = this.#firstPlace(word); this.#marks[at] !== 0; at = this.#next(at)) {
      if (this.#keys[at] !== (word & 0xffff)) continue;
      const page = first + (((this.#marks[at] as number) - 1 - (first % PAGES_MAX) + PAGES_MAX) % PAGES_MAX);
      if (page <= last) found.add(page);
    }
    return found;
  }

  #firstPlace(word: number): number {
    return Math.floor((word / 2 ** 32) * this.#keys.length);
  }

  #next(at: number): number {
    return at + 1 === this.#keys.length ? 0 : at + 1;
  }
}

/** The word of an event: 32 bits. @param hash at least 4 evenly distributed bytes. */
export function wordOf(slot: number, hash: Uint8Array): number {
  const word =
    ((hash[0] as number) << 24) | ((hash[1] as number) << 16) | ((hash[2] as number) << 8) | (hash[3] as number);
  return (word ^ Math.imul(slot, 0x9e3779b1)) >>> 0;
}
