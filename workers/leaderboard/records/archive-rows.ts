/**
 * The rows of an archived file, `[["id", …], …]`, parsed one at a time: parsing a whole file costs ten times more than finding one
 * player in it. A quote inside a text is escaped, so `["id",` occurs only at the start of a row, and `],["` only between two rows.
 */
import { countFirst } from '../domain/binary-search.ts';
import type { TopEntry } from '../domain/standing.ts';
import { type ArchivedEntry, fromArchivedEntry } from './archive-files.ts';

export class ArchiveRows {
  readonly #text: string;
  /** Position of the start of each row, followed by the end of the last one. Null until a row is read by its index. */
  #starts: number[] | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#index().length - 1;
  }

  at(position: number): TopEntry {
    const starts = this.#index();
    return fromArchivedEntry(this.#parse(starts[position] as number, (starts[position + 1] as number) - 1));
  }

  /** Finds the row of a user id; null for an unknown or hidden player. */
  find(userId: string): TopEntry | null {
    const start = this.#text.indexOf(`["${userId}",`);
    if (start < 0) return null;
    const next = this.#text.indexOf('],["', start);
    const row = this.#parse(start, next < 0 ? this.#text.length - 1 : next + 1);
    return row[4] ? null : fromArchivedEntry(row);
  }

  /** Finds the index of the first row for which `isBefore` is false. The rows must be in the order of `isBefore`. */
  search(isBefore: (row: TopEntry) => boolean): number {
    return countFirst(this.length, (at) => isBefore(this.at(at)));
  }

  #index(): number[] {
    if (this.#starts !== null) return this.#starts;
    const starts = this.#text === '[]' ? [] : [1];
    for (let at = this.#text.indexOf('],["'); at >= 0; at = this.#text.indexOf('],["', at + 1)) starts.push(at + 2);
    starts.push(this.#text.length);
    this.#starts = starts;
    return starts;
  }

  #parse(start: number, end: number): ArchivedEntry {
    return JSON.parse(this.#text.slice(start, end));
  }
}
