/**
 * Merges the lists of many shards in list order, with bounded read-ahead: a heap of the shards by their next entry.
 */
import { LIST_START } from './board.ts';
import { compareStandings, type StandingKey } from './standing.ts';

/** Entries in memory over all sources, about 15 MB. */
const ENTRIES_AHEAD_MAX = 65_536;
const ENTRIES_PER_READ_MAX = 4_096;

/** Reads up to `limit` entries of a source after a key. Fewer mean that the source has no more. */
export type ReadRun<T> = (source: number, after: StandingKey, limit: number) => Promise<readonly T[]>;

interface Source<T> {
  readonly number: number;
  entries: readonly T[];
  at: number;
  isAtEnd: boolean;
}

export class RunMerger<T extends StandingKey> {
  readonly #read: ReadRun<T>;
  readonly #perRead: number;
  /** Sources to read next, because they have no entry. */
  #empty: Source<T>[];
  /** The other sources. A heap: a source is not after its children at 2i + 1 and 2i + 2. */
  readonly #heap: Source<T>[] = [];
  /** The last entry taken. The next `take` continues after it. */
  after: StandingKey;

  constructor(sources: number, read: ReadRun<T>, after: StandingKey = LIST_START) {
    this.#read = read;
    this.#perRead = Math.max(16, Math.min(ENTRIES_PER_READ_MAX, Math.floor(ENTRIES_AHEAD_MAX / sources)));
    this.#empty = Array.from({ length: sources }, (_, number) => ({ number, entries: [], at: 0, isAtEnd: false }));
    this.after = after;
  }

  /** @returns the next entries; fewer than `limit` at the end. */
  async take(limit: number): Promise<T[]> {
    const taken: T[] = [];
    while (taken.length < limit) {
      if (this.#empty.length > 0) await this.#fill();
      const [source] = this.#heap;
      if (source === undefined) break;
      const entry = source.entries[source.at++] as T;
      taken.push(entry);
      this.after = entry;
      if (source.at < source.entries.length) this.#sink(0);
      else this.#removeFirst();
    }
    return taken;
  }

  async #fill(): Promise<void> {
    const empty = this.#empty;
    this.#empty = [];
    await Promise.all(
      empty.map(async (source) => {
        // The source's own last entry is not after `after`, which is the last one of all.
        source.entries = await this.#read(source.number, source.entries.at(-1) ?? this.after, this.#perRead);
        source.at = 0;
        source.isAtEnd = source.entries.length < this.#perRead;
      }),
    );
    for (const source of empty) if (source.entries.length > 0) this.#add(source);
  }

  #add(source: Source<T>): void {
    let at = this.#heap.push(source) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && this.#isBefore(at, parent); parent = (at - 1) >> 1) {
      this.#swap(at, parent);
      at = parent;
    }
  }

  #removeFirst(): void {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return;
    if (first !== last) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    if (!first.isAtEnd) this.#empty.push(first);
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    return compareStandings(this.#headOf(a), this.#headOf(b)) < 0;
  }

  #headOf(at: number): T {
    const source = this.#heap[at] as Source<T>;
    return source.entries[source.at] as T;
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b] as Source<T>, this.#heap[a] as Source<T>];
  }
}
