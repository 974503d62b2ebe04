/** Merges the lists of many shards in list order, with bounded read-ahead. */
import { countFirst } from './binary-search.ts';
import { LIST_START } from './board.ts';
import { compareStandings, type StandingKey } from './standing.ts';

/** Entries in memory over all sources, about 15 MB. */
const ENTRIES_AHEAD_MAX = 65_536;
const ENTRIES_PER_READ_MAX = 4_096;

/** Reads up to `limit` entries of a source after a key. Fewer mean that the source has no more. */
export type ReadRun<T> = (source: number, after: StandingKey, limit: number) => Promise<readonly T[]>;

interface Source<T> {
  readonly number: number;
  /** Entries that were read and not taken. The first one is at `at`. */
  readonly entries: readonly T[];
  at: number;
}

export class RunMerger<T extends StandingKey> {
  readonly #read: ReadRun<T>;
  readonly #perRead: number;
  /** Sources to read next. */
  #empty: number[];
  /** Sources with entries, by their next entry. The next of all is last. */
  readonly #sources: Source<T>[] = [];
  /** The last entry taken. The next `take` continues after it. */
  after: StandingKey;

  constructor(sources: number, read: ReadRun<T>, after: StandingKey = LIST_START) {
    this.#read = read;
    this.#perRead = Math.max(16, Math.min(ENTRIES_PER_READ_MAX, Math.floor(ENTRIES_AHEAD_MAX / sources)));
    this.#empty = [...Array(sources).keys()];
    this.after = after;
  }

  /** @returns the next entries; fewer than `limit` at the end. */
  async take(limit: number): Promise<T[]> {
    const taken: T[] = [];
    while (taken.length < limit) {
      if (this.#empty.length > 0) await this.#fill();
      const source = this.#sources.pop();
      if (source === undefined) break;
      const { number, entries } = source;
      this.after = entries[source.at++] as T;
      taken.push(this.after as T);
      if (source.at < entries.length) this.#add(source);
      else if (entries.length === this.#perRead) this.#empty.push(number);
    }
    return taken;
  }

  /**
   * Reads the next entries of empty sources. The last entry taken is also the last one of each of them, so they continue after it.
   */
  async #fill(): Promise<void> {
    const numbers = this.#empty;
    this.#empty = [];
    const runs = await Promise.all(numbers.map((number) => this.#read(number, this.after, this.#perRead)));
    for (const [i, entries] of runs.entries()) {
      if (entries.length > 0) this.#add({ number: numbers[i] as number, entries, at: 0 });
    }
  }

  #add(source: Source<T>): void {
    const head = source.entries[source.at] as T;
    const place = countFirst(this.#sources.length, (i) => {
      const { entries, at } = this.#sources[i] as Source<T>;
      return compareStandings(entries[at] as T, head) > 0;
    });
    this.#sources.splice(place, 0, source);
  }
}
