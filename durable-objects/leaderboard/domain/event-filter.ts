/**
 * Finds the pages that may contain an event, by a hash table in typed arrays with 4 bytes per place. The 32-bit word of an event
 * gives its place and a 16-bit key; the place stores that key and the page in 16 bits. Callers verify each page that the filter
 * returns. With three million events, one in a thousand new events gets a page that does not contain it.
 */
/** Maximum load of the table. At a higher load, chains of occupied places are long. */
const LOAD_MAX = 0.8;
/** Maximum number of pages stored at a time. 16 bits allow one fewer than 65,536, because 0 marks a free place. */
const PAGES_MAX = 65_535;

export class EventFilter {
  readonly #keys: Uint16Array;
  /** For each place, the page modulo `PAGES_MAX`, plus 1; 0 if the place is free. */
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

  /** The pages from `first` to `last` that may contain an event with this word. */
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

/**
 * The 32-bit word of an event, from the player's slot and the hash of the event id.
 * @param hash at least 4 evenly distributed bytes.
 */
export function wordOf(slot: number, hash: Uint8Array): number {
  const word =
    ((hash[0] as number) << 24) | ((hash[1] as number) << 16) | ((hash[2] as number) << 8) | (hash[3] as number);
  return (word ^ Math.imul(slot, 0x9e3779b1)) >>> 0;
}
