/**
 * Finds the page of an event: a hash table of typed arrays with 4 bytes per place, 5 to 5.5 bytes per event. The number
 * of the table and the key of the place are 28 bits of the event's word, and the page has 16 bits. Callers verify each
 * page that it returns. Of three million events, about one in a hundred new ones is looked up in vain.
 */
const TABLES = 4_096;
const PLACES_MIN = 4;
/** A table grows by an eighth when it is fuller than this. Each grows separately, so memory use has no steps. */
const LOAD_MAX = 0.8;
const GROWTH = 1.125;
/** Pages that may be stored at a time. 0 marks a free place, so 16 bits have one page less. */
const PAGES_MAX = 65_535;

interface Table {
  keys: Uint16Array;
  /** The page modulo `PAGES_MAX`, plus 1. */
  marks: Uint16Array;
  size: number;
}

export class EventFilter {
  #tables: Table[];

  /** @param events that are about to be added. Growing to a known size would take several times longer. */
  constructor(events = 0) {
    const places = Math.ceil(events / TABLES / LOAD_MAX) + PLACES_MIN;
    this.#tables = Array.from({ length: TABLES }, () => makeTable(places));
  }

  add(word: number, page: number): void {
    insert(this.#tables[word % TABLES] as Table, word >>> 16, (page % PAGES_MAX) + 1);
  }

  /** The pages that may contain an event with this word. @param first the first stored page. */
  pagesOf(word: number, first: number): Set<number> {
    const { keys, marks } = this.#tables[word % TABLES] as Table;
    const found = new Set<number>();
    for (let at = firstPlace(word >>> 16, keys.length); marks[at] !== 0; at = at + 1 === keys.length ? 0 : at + 1) {
      if (keys[at] !== word >>> 16) continue;
      found.add(pageOf(marks[at] as number, first));
    }
    return found;
  }

  /** Removes the events of pages outside a range. */
  retain(first: number, last: number): void {
    this.#tables = this.#tables.map((old) => copy(old, old.keys.length, (mark) => pageOf(mark, first) <= last));
  }
}

/** The page with this mark, from the first stored page on. */
const pageOf = (mark: number, first: number): number =>
  first + ((mark - 1 - (first % PAGES_MAX) + PAGES_MAX) % PAGES_MAX);
const makeTable = (places: number): Table => ({
  keys: new Uint16Array(places),
  marks: new Uint16Array(places),
  size: 0,
});

/** The word of an event: 32 bits. @param hash at least 4 evenly distributed bytes. */
export function wordOf(slot: number, hash: Uint8Array): number {
  const word =
    ((hash[0] as number) << 24) | ((hash[1] as number) << 16) | ((hash[2] as number) << 8) | (hash[3] as number);
  return (word ^ Math.imul(slot, 0x9e3779b1)) >>> 0;
}

const firstPlace = (key: number, places: number): number => Math.floor((key / 65_536) * places);

function insert(table: Table, key: number, mark: number): void {
  if (table.size + 1 > table.keys.length * LOAD_MAX) grow(table);
  const { keys, marks } = table;
  let at = firstPlace(key, keys.length);
  while (marks[at] !== 0) at = at + 1 === keys.length ? 0 : at + 1;
  keys[at] = key;
  marks[at] = mark;
  table.size++;
}

function grow(table: Table): void {
  Object.assign(
    table,
    copy(table, Math.ceil(table.keys.length * GROWTH) + 1, () => true),
  );
}

/** A table of the events that are kept. */
function copy({ keys, marks }: Table, places: number, isKept: (mark: number) => boolean): Table {
  const table = makeTable(places);
  for (let at = 0; at < marks.length; at++) {
    const mark = marks[at] as number;
    if (mark !== 0 && isKept(mark)) insert(table, keys[at] as number, mark);
  }
  return table;
}
