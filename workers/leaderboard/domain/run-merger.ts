/** Merges the lists of many shards in list order. The number of entries that are read ahead is limited. */

import { LIST_START } from '../../../durable-objects/leaderboard/protocol.ts';
import { countFirst } from './binary-search.ts';
import { compareStandings, type StandingKey } from './standing.ts';

/** Maximum number of entries in memory over all sources, about 15 MB. */
const ENTRIES_AHEAD_MAX = 65_536;
const ENTRIES_PER_READ_MAX = 4_096;

/** Reads up to `limit` entries of a source after a key. If it returns fewer, the source has no more. */
export type ReadRun<T> = (source: number, after: StandingKey, limit: number) => Promise<readonly T[]>;

interface Source<T> {
  readonly number: number;
  /** Entries that were read from the source. The next one to take is at the index `at`. */
  readonly entries: readonly T[];
  at: number;
}

export class RunMerger<T extends StandingKey> {
  readonly #read: ReadRun<T>;
  readonly #perRead: number;
  /** Numbers of the sources whose entries have all been taken and that must be read next. */
  #empty: number[];
  /** Sources with entries, ordered by their next entry. The source with the next entry of all is the last element. */
  readonly #sources: Source<T>[] = [];
  /** The entry that was taken last. The next `take` continues after it. */
  after: StandingKey;

  constructor(sources: number, read: ReadRun<T>, after: StandingKey = LIST_START) {
    this.#read = read;
    this.#perRead = Math.max(16, Math.min(ENTRIES_PER_READ_MAX, Math.floor(ENTRIES_AHEAD_MAX / sources)));
    this.#empty = [...Array(sources).keys()];
    this.after = after;
  }

  /** Takes the next entries of the merged list. @returns fewer than `limit` entries at the end. */
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
   * Reads the next entries of all sources that have none left. The entry taken last is also the last one of each such source, so
   * all of them continue after it.
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
