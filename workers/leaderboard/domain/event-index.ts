/**
 * Maps events to their pages: a hash table of typed arrays, 10 to 12.5 bytes per event. Keys have 32 bits, so callers
 * verify each page that it returns. It returns every page that contains the event.
 */
const TABLES = 64;
const TABLE_BITS = 6;
const FIRST_ENTRIES = 16;
/** A table grows by a quarter when it is fuller than this. Each grows separately, so memory use has no steps. */
const LOAD_MAX = 0.8;
const GROWTH = 1.25;
const NONE: readonly number[] = [];

interface Table {
  keys: Uint32Array;
  /** 0 marks a free place. */
  pages: Uint32Array;
  size: number;
}

export class EventIndex {
  #tables = makeTables();

  get size(): number {
    return this.#tables.reduce((sum, { size }) => sum + size, 0);
  }

  get byteLength(): number {
    return this.#tables.reduce((sum, { keys }) => sum + keys.byteLength * 2, 0);
  }

  /** @param hash at least 8 evenly distributed bytes. @param page 1 or more. */
  add(slot: number, hash: Uint8Array, page: number): void {
    insert(this.#tableOf(hash), keyOf(slot, hash), page);
  }

  /** The pages that may contain the event. */
  pagesOf(slot: number, hash: Uint8Array): readonly number[] {
    const { keys, pages } = this.#tableOf(hash);
    const key = keyOf(slot, hash);
    let found = NONE;
    for (let at = firstPlace(key, keys.length); pages[at] !== 0; at = at + 1 === keys.length ? 0 : at + 1) {
      if (keys[at] === key) found = [...found, pages[at] as number];
    }
    return found;
  }

  /** Removes events on pages before this one. */
  forgetBefore(page: number): void {
    const old = this.#tables;
    this.#tables = makeTables();
    for (const [i, { keys, pages }] of old.entries()) {
      for (let at = 0; at < keys.length; at++) {
        if ((pages[at] as number) >= page && pages[at] !== 0) {
          insert(this.#tables[i] as Table, keys[at] as number, pages[at] as number);
        }
      }
    }
  }

  #tableOf(hash: Uint8Array): Table {
    return this.#tables[(hash[7] as number) >>> (8 - TABLE_BITS)] as Table;
  }
}

const makeTables = (): Table[] => Array.from({ length: TABLES }, () => makeTable(FIRST_ENTRIES));
const makeTable = (entries: number): Table => ({
  keys: new Uint32Array(entries),
  pages: new Uint32Array(entries),
  size: 0,
});

function keyOf(slot: number, hash: Uint8Array): number {
  const word =
    ((hash[0] as number) << 24) | ((hash[1] as number) << 16) | ((hash[2] as number) << 8) | (hash[3] as number);
  return (word ^ Math.imul(slot, 0x9e3779b1)) >>> 0;
}

const firstPlace = (key: number, entries: number): number => Math.floor((key / 2 ** 32) * entries);

function insert(table: Table, key: number, page: number): void {
  if (table.size + 1 > table.keys.length * LOAD_MAX) grow(table);
  const { keys, pages } = table;
  let at = firstPlace(key, keys.length);
  while (pages[at] !== 0) at = at + 1 === keys.length ? 0 : at + 1;
  keys[at] = key;
  pages[at] = page;
  table.size++;
}

function grow(table: Table): void {
  const { keys, pages } = table;
  Object.assign(table, makeTable(Math.ceil(keys.length * GROWTH)));
  for (let at = 0; at < keys.length; at++) {
    if (pages[at] !== 0) insert(table, keys[at] as number, pages[at] as number);
  }
}
