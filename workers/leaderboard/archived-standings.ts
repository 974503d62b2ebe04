/** Standings of a past season, read from its archive. Shapes and values are those of the live season. */

import { countFirst } from './domain/binary-search.ts';
import { LIST_END, type Standings, type StandingsPage, startOf } from './domain/board.ts';
import type { Distribution } from './domain/distribution.ts';
import { shardOf } from './domain/shard-map.ts';
import { compareStandings, type RankedEntry, type StandingKey, type TopEntry } from './domain/standing.ts';
import {
  type ArchiveManifest,
  type LookupFile,
  manifestKey,
  readText,
  STANDINGS_FILE_ENTRIES,
  type StandingsFile,
  toStandingKey,
} from './records/archive-files.ts';
import { ArchiveRows } from './records/archive-rows.ts';
import type { StandingsReader } from './standings-reader.ts';

/** Manifests change only when an operator corrects or erases a player. An old one names files that are gone. */
const manifests = new Map<string, ArchiveManifest>();
const MANIFESTS_MAX = 4;
/** Files that are read at a time, with up to half a megabyte each. */
const READS_MAX = 6;

/** A file is in no location. Its manifest may be out of date. */
class MissingFileError extends Error {}

export async function readManifest(env: Env, archive: string): Promise<ArchiveManifest> {
  const known = manifests.get(archive);
  if (known !== undefined) return known;
  const text = await readText(env, manifestKey(archive));
  if (text === null) throw new Error(`${manifestKey(archive)} is in no location`);
  const manifest = JSON.parse(text) as ArchiveManifest;
  if (manifests.size >= MANIFESTS_MAX) manifests.clear();
  manifests.set(archive, manifest);
  return manifest;
}

export const forgetManifest = (archive: string): boolean => manifests.delete(archive);

export function openArchivedStandings(env: Env, archive: string): StandingsReader {
  /** Runs a read, again with the newest manifest if a file of an old one is gone. */
  async function read<T>(work: (files: ArchiveReader) => Promise<T>): Promise<T> {
    try {
      return await work(new ArchiveReader(env, archive, await readManifest(env, archive)));
    } catch (error) {
      if (!(error instanceof MissingFileError)) throw error;
      forgetManifest(archive);
      return work(new ArchiveReader(env, archive, await readManifest(env, archive)));
    }
  }
  return {
    page: (after, limit) => read((files) => files.page(after, limit)),
    keyAtRank: (rank) => read((files) => files.keyAtRank(rank)),
    standings: (userIds) => read((files) => files.standings(userIds)),
    neighbors: (userId, radius) => read((files) => files.neighbors(userId, radius)),
    distribution: (rangesMax) => read((files) => files.distribution(rangesMax)),
    async *rows(after) {
      let key = after === null ? null : await read((files) => files.findKey(after));
      if (after !== null && key === null) return yield null;
      do {
        const { entries, end } = await read((files) => files.rowsAfter(key, STANDINGS_FILE_ENTRIES));
        yield entries;
        key = end;
      } while (key !== null);
    },
  };
}

class ArchiveReader {
  readonly #env: Env;
  readonly #archive: string;
  readonly #manifest: ArchiveManifest;

  constructor(env: Env, archive: string, manifest: ArchiveManifest) {
    this.#env = env;
    this.#archive = archive;
    this.#manifest = manifest;
  }

  async page(after: StandingKey | null, limit: number): Promise<StandingsPage> {
    const { players, sealedAt: asOf } = this.#manifest;
    const { entries: found } = await this.rowsAfter(after, limit + 1);
    const entries = found.slice(0, limit);
    return { entries, players, asOf, next: found.length > limit ? (entries.at(-1) ?? null) : null };
  }

  /** @returns up to `limit` players after a key, and the key to continue after; null after the last file. */
  async rowsAfter(
    after: StandingKey | null,
    limit: number,
  ): Promise<{ entries: RankedEntry[]; end: StandingKey | null }> {
    const entries: RankedEntry[] = [];
    let end = after;
    let file = after === null ? 0 : locateFile(this.#manifest, after);
    for (; file < this.#manifest.standings.length; file++) {
      if (entries.length === limit) return { entries, end };
      const rows = await this.#open(file);
      let at = after === null ? 0 : rows.search((row) => compareStandings(row, after) <= 0);
      for (; at < rows.length && entries.length < limit; at++) {
        pushListed(entries, this.#rank(file, rows, at, entries.at(-1)));
        end = toStandingKey(rows.at(at));
      }
      if (at < rows.length) return { entries, end };
    }
    return { entries, end: null };
  }

  async keyAtRank(rank: number): Promise<StandingKey> {
    const file = lastOf(this.#manifest.standings, ({ place }) => place < rank);
    const start = this.#manifest.standings[file];
    if (start === undefined) return LIST_END;
    const rows = await this.#open(file);
    const at = rank - 1 - start.place;
    if (at >= rows.length) return LIST_END;
    const { score } = rows.at(at);
    // The player at this place has a lower rank if others with the same score are before.
    return startOf(this.#rankOf(score, file, rows) === rank ? score : score - 1);
  }

  async standings(userIds: readonly string[]): Promise<Standings> {
    const { players, sealedAt: asOf } = this.#manifest;
    const byFile = Map.groupBy(await this.#findEntries(userIds), (entry) => locateFile(this.#manifest, entry));
    const ranked = await inParts([...byFile], async ([file, entries]) => {
      const { first } = this.#manifest.standings[file] as StandingsFile;
      const isSure = entries.every(({ score }) => score === first.score);
      const rows = isSure ? null : await this.#open(file);
      return entries.map((entry) => ({ ...entry, rank: this.#rankOf(entry.score, file, rows) }));
    });
    const byId = new Map(ranked.flat().map((entry) => [entry.userId, entry]));
    return { entries: userIds.map((userId) => byId.get(userId) ?? null), players, asOf };
  }

  async neighbors(userId: string, radius: number) {
    const key = await this.findKey(userId);
    if (key === null) return null;
    const own = locateFile(this.#manifest, key);
    const before: RankedEntry[] = [];
    const after: RankedEntry[] = [];
    let rows = await this.#open(own);
    const at = rows.search((row) => compareStandings(row, key) < 0);
    for (let file = own, i = at - 1; file >= 0 && before.length < radius; i--) {
      if (i >= 0) pushListed(before, this.#rank(file, rows, i));
      else if (--file >= 0) {
        rows = await this.#open(file);
        i = rows.length;
      }
    }
    rows = await this.#open(own);
    const { standings, sealedAt: asOf } = this.#manifest;
    for (let file = own, i = at; file < standings.length && after.length <= radius; i++) {
      if (i < rows.length) pushListed(after, this.#rank(file, rows, i));
      else if (++file < standings.length) {
        rows = await this.#open(file);
        i = -1;
      }
    }
    return { entries: [...before.reverse(), ...after], asOf };
  }

  async distribution(rangesMax: number): Promise<Distribution> {
    const { distributions, players, sealedAt: asOf } = this.#manifest;
    return { ranges: distributions.findLast((each) => each.length <= rangesMax) ?? [], players, asOf };
  }

  /** The key of a listed player; null for others. */
  async findKey(userId: string): Promise<StandingKey | null> {
    return (await this.#findEntries([userId]))[0] ?? null;
  }

  /** The listed players of some ids. */
  async #findEntries(userIds: readonly string[]): Promise<TopEntry[]> {
    const byFile = Map.groupBy(new Set(userIds), (userId) => locateLookup(this.#manifest, userId));
    const found = await inParts([...byFile], async ([file, ids]) => {
      if (file === null) return [];
      const rows = await this.#openFile(file.name);
      return ids.flatMap((userId) => rows.find(userId) ?? []);
    });
    return found.flat();
  }

  /** The player at a position. @param previous the entry before, if it is known. */
  #rank(file: number, rows: ArchiveRows, at: number, previous?: RankedEntry): RankedEntry {
    const entry = rows.at(at);
    const rank = entry.score === previous?.score ? previous.rank : this.#rankOf(entry.score, file, rows);
    return { ...entry, rank };
  }

  /** @param rows of the file; not needed for the score of its first row. */
  #rankOf(score: number, file: number, rows: ArchiveRows | null): number {
    const { first, place, rank } = this.#manifest.standings[file] as StandingsFile;
    if (score === first.score || rows === null) return rank;
    return place + rows.search((row) => row.score > score) + 1;
  }

  #open(file: number): Promise<ArchiveRows> {
    return this.#openFile((this.#manifest.standings[file] as StandingsFile).name);
  }

  async #openFile(name: string): Promise<ArchiveRows> {
    const text = await readText(this.#env, `${this.#archive}/${name}`);
    if (text === null) throw new MissingFileError(`${this.#archive}/${name} is whole in no location`);
    return new ArchiveRows(text);
  }
}

/** An erased player has no id. */
function pushListed(list: RankedEntry[], entry: RankedEntry): void {
  if (entry.userId !== '') list.push(entry);
}

/** Runs work on a few items at a time. */
async function inParts<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += READS_MAX) {
    results.push(...(await Promise.all(items.slice(at, at + READS_MAX).map(work))));
  }
  return results;
}

/** The standings file that contains a key, or would contain it. */
export const locateFile = ({ standings }: ArchiveManifest, key: StandingKey): number =>
  Math.max(
    0,
    lastOf(standings, ({ first }) => compareStandings(first, key) <= 0),
  );

/** The look-up file that contains an id, or would contain it; null without one. */
export function locateLookup({ shards, lookups }: ArchiveManifest, userId: string): LookupFile | null {
  const files = lookups[shardOf(userId, shards)] ?? [];
  return files[lastOf(files, ({ first }) => first <= userId)] ?? null;
}

/** @returns the place of the last of the first items; −1 without one. */
const lastOf = <T>(items: readonly T[], isFirst: (item: T) => boolean): number =>
  countFirst(items.length, (at) => isFirst(items[at] as T)) - 1;
