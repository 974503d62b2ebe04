/** Standings of a past season, read from its archive. Answers have the same form as those of a live season. */

import {
  LIST_END,
  LIST_START,
  type RankPlace,
  type Standings,
  type StandingsPage,
  type StandingsReader,
  startOf,
} from '../../../durable-objects/leaderboard/protocol.ts';
import { countFirst } from '../domain/binary-search.ts';
import { type Distribution, distribute } from '../domain/distribution.ts';
import { readSeason } from '../domain/season-name.ts';
import { shardOf } from '../domain/shard-map.ts';
import {
  compareStandings,
  decideWindow,
  type RankedEntry,
  type StandingKey,
  type TopEntry,
} from '../domain/standing.ts';
import { UnavailableError } from '../objects.ts';
import {
  type ArchiveManifest,
  type LookupFile,
  manifestKey,
  readText,
  STANDINGS_FILE_ENTRIES,
  type StandingsFile,
} from '../records/archive-files.ts';
import { ArchiveRows } from '../records/archive-rows.ts';

/**
 * A cached manifest with the distributions computed from it. A manifest changes only when an operator corrects or erases a player.
 * An old one names files that have been deleted.
 */
interface Known {
  readonly manifest: ArchiveManifest;
  /** Distributions by their number of ranges. */
  readonly distributions: Map<number, Distribution>;
}
const manifests = new Map<string, Known>();
const MANIFESTS_MAX = 4;
/** Maximum number of files that are read at the same time. Each has up to half a megabyte. */
const READS_MAX = 6;

/** Thrown if no location has a file of the archive. The manifest that names it may be out of date. */
class MissingFileError extends Error {}

async function readManifest(env: Env, archive: string): Promise<Known> {
  const known = manifests.get(archive);
  if (known !== undefined) return known;
  const text = await readText(env, manifestKey(archive));
  if (text === null) throw new UnavailableError(archive, 'its manifest is in no location');
  const read = { manifest: JSON.parse(text) as ArchiveManifest, distributions: new Map() };
  if (manifests.size >= MANIFESTS_MAX) manifests.clear();
  manifests.set(archive, read);
  return read;
}

export const forgetManifest = (archive: string): boolean => manifests.delete(archive);

export function openArchivedStandings(env: Env, archive: string): StandingsReader {
  /** Runs a read. If a file of a cached manifest is gone, it runs again with the newest manifest. */
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
    neighbors: (userId, radius, _, isFull = false) => read((files) => files.neighbors(userId, radius, isFull)),
    distribution: (rangesMax) => read((files) => files.distribution(rangesMax)),
    async *rows(userId) {
      const found = userId === null ? [] : await read((files) => files.findEntries([userId]));
      let after: StandingKey | null = found[0] ?? null;
      if (userId !== null && after === null) return yield null;
      for (;;) {
        // A page has one entry fewer than a file, so it reads at most two files.
        const { entries, next } = await read((files) => files.page(after, STANDINGS_FILE_ENTRIES - 1));
        yield entries;
        if (next === null) return;
        after = next;
      }
    },
  };
}

class ArchiveReader {
  readonly #env: Env;
  readonly #archive: string;
  readonly #manifest: ArchiveManifest;
  readonly #distributions: Known['distributions'];

  constructor(env: Env, archive: string, { manifest, distributions }: Known) {
    this.#env = env;
    this.#archive = archive;
    this.#manifest = manifest;
    this.#distributions = distributions;
  }

  async page(after: StandingKey | null, limit: number): Promise<StandingsPage> {
    const { players, sealedAt: asOf } = this.#manifest;
    const found = await this.#walk(after ?? LIST_START, 1, limit + 1);
    const entries = found.slice(0, limit);
    return { entries, players, asOf, next: found.length > limit ? (entries.at(-1) ?? null) : null };
  }

  async keyAtRank(rank: number): Promise<RankPlace> {
    return { key: await this.#keyAtRank(rank), asOf: this.#manifest.sealedAt };
  }

  async #keyAtRank(rank: number): Promise<StandingKey> {
    const file = lastOf(this.#manifest.standings, ({ place }) => place < rank);
    const start = this.#manifest.standings[file];
    if (start === undefined) return LIST_END;
    const rows = await this.#open(start);
    const at = rank - 1 - start.place;
    if (at >= rows.length) return LIST_END;
    const { score } = rows.at(at);
    // If players with the same score precede this place, its player shares their rank, which is better than `rank`. The key then
    // begins at the next lower score.
    return startOf(rankOf(score, start, rows) === rank ? score : score - 1);
  }

  async standings(userIds: readonly string[]): Promise<Standings> {
    const { players, sealedAt: asOf } = this.#manifest;
    const byFile = Map.groupBy(await this.findEntries(userIds), (entry) => this.#fileOf(entry));
    const ranked = await inParts([...byFile], async ([file, entries]) => {
      const isSure = entries.every(({ score }) => score === file.first.score);
      const rows = isSure ? null : await this.#open(file);
      return entries.map((entry) => ({ ...entry, rank: rankOf(entry.score, file, rows) }));
    });
    const byId = new Map(ranked.flat().map((entry) => [entry.userId, entry]));
    return { entries: userIds.map((userId) => byId.get(userId) ?? null), players, asOf };
  }

  async neighbors(userId: string, radius: number, isFull: boolean) {
    const { entries, asOf } = await this.standings([userId]);
    const [me] = entries;
    if (!me) return null;
    const most = isFull ? 2 * radius : radius;
    const [before, after] = [await this.#walk(me, -1, most), await this.#walk(me, 1, most)];
    const [ahead, below] = decideWindow(before.length, after.length, radius, isFull);
    return { entries: [...before.slice(0, ahead).reverse(), me, ...after.slice(0, below)], asOf };
  }

  async distribution(rangesMax: number): Promise<Distribution> {
    const known = this.#distributions.get(rangesMax);
    if (known !== undefined) return known;
    const { standings, players, season, sealedAt: asOf } = this.#manifest;
    const [start, end] = [standings[0], standings.at(-1)];
    if (start === undefined || end === undefined) return { ranges: [], players, asOf };
    const last = await this.#open(end);
    const ends = { least: last.at(last.length - 1).score, best: start.first.score, players };
    const countAbove = (scores: readonly number[]) =>
      inParts(scores, async (score) => {
        const file = this.#fileOf(startOf(score));
        return rankOf(score, file, await this.#open(file)) - 1;
      });
    const ranges = await distribute(readSeason(season).rules, ends, rangesMax, countAbove);
    this.#distributions.set(rangesMax, { ranges, players, asOf });
    return { ranges, players, asOf };
  }

  /** Finds the listed players among some user ids. */
  async findEntries(userIds: readonly string[]): Promise<TopEntry[]> {
    const byFile = Map.groupBy(new Set(userIds), (userId) => locateLookup(this.#manifest, userId));
    const found = await inParts([...byFile], async ([file, ids]) => {
      if (file === null) return [];
      const rows = await this.#open(file);
      return ids.flatMap((userId) => rows.find(userId) ?? []);
    });
    return found.flat();
  }

  /** Reads up to `limit` players after a key, or before it in the opposite order. Skips erased players, who have no id. */
  async #walk(key: StandingKey, step: 1 | -1, limit: number): Promise<RankedEntry[]> {
    const { standings } = this.#manifest;
    const found: RankedEntry[] = [];
    for (let number = locateFile(this.#manifest, key); found.length < limit; number += step) {
      const file = standings[number];
      if (file === undefined) break;
      const rows = await this.#open(file);
      const start = rows.search((row) => compareStandings(row, key) < (step === 1 ? 1 : 0));
      for (let at = step === 1 ? start : start - 1; at >= 0 && at < rows.length && found.length < limit; at += step) {
        const entry = rows.at(at);
        if (entry.userId === '') continue;
        const last = found.at(-1);
        const rank = entry.score === last?.score ? last.rank : rankOf(entry.score, file, rows);
        found.push({ ...entry, rank });
      }
    }
    return found;
  }

  #fileOf(key: StandingKey): StandingsFile {
    return this.#manifest.standings[locateFile(this.#manifest, key)] as StandingsFile;
  }

  async #open({ name }: StandingsFile | LookupFile): Promise<ArchiveRows> {
    const text = await readText(this.#env, `${this.#archive}/${name}`);
    if (text === null) throw new MissingFileError(`no location has an intact copy of ${this.#archive}/${name}`);
    return new ArchiveRows(text);
  }
}

/** The rank of a score in a file of standings. @param rows rows of the file; not needed for the score of its first row. */
function rankOf(score: number, { first, place, rank }: StandingsFile, rows: ArchiveRows | null): number {
  if (score === first.score || rows === null) return rank;
  return place + rows.search((row) => row.score > score) + 1;
}

/** Runs work on all items, `READS_MAX` at a time. @returns the results in the order of the items. */
async function inParts<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += READS_MAX) {
    results.push(...(await Promise.all(items.slice(at, at + READS_MAX).map(work))));
  }
  return results;
}

/** Finds the standings file that contains a key, or would contain it. @returns its index. */
export const locateFile = ({ standings }: ArchiveManifest, key: StandingKey): number =>
  Math.max(
    0,
    lastOf(standings, ({ first }) => compareStandings(first, key) <= 0),
  );

/** Finds the look-up file that contains a user id, or would contain it; null if no file can contain it. */
export function locateLookup({ shards, lookups }: ArchiveManifest, userId: string): LookupFile | null {
  const files = lookups[shardOf(userId, shards)] ?? [];
  return files[lastOf(files, ({ first }) => first <= userId)] ?? null;
}

/** @returns the index of the last item of the leading ones for which `isFirst` is true; −1 if there are none. */
const lastOf = <T>(items: readonly T[], isFirst: (item: T) => boolean): number =>
  countFirst(items.length, (at) => isFirst(items[at] as T)) - 1;
