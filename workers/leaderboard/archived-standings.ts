/** Standings of a past season, read from its archive. Shapes and values are those of the live season. */

import type { Standings, StandingsPage } from './domain/board.ts';
import type { Distribution } from './domain/distribution.ts';
import { shardOf } from './domain/shard-map.ts';
import { compareStandings, type RankedEntry, type StandingKey } from './domain/standing.ts';
import {
  type ArchivedEntry,
  type ArchivedLookup,
  type ArchiveManifest,
  fromArchivedEntry,
  fromArchivedKey,
  lookupKey,
  manifestKey,
  readFile,
  standingsKey,
} from './records/archive-files.ts';
import type { StandingsReader } from './standings-reader.ts';

/** Manifests change only when a player is erased. An old manifest still finds all other players. */
const manifests = new Map<string, ArchiveManifest>();
const MANIFESTS_MAX = 4;

export async function readManifest(env: Env, archive: string): Promise<ArchiveManifest> {
  const known = manifests.get(archive);
  if (known !== undefined) return known;
  const manifest = await readFile<ArchiveManifest>(env, manifestKey(archive));
  if (manifest === null) throw new Error(`${manifestKey(archive)} is in no location`);
  if (manifests.size >= MANIFESTS_MAX) manifests.clear();
  manifests.set(archive, manifest);
  return manifest;
}

export const forgetManifest = (archive: string): boolean => manifests.delete(archive);

export async function openArchivedStandings(env: Env, archive: string): Promise<StandingsReader> {
  const manifest = await readManifest(env, archive);
  const { players, sealedAt: asOf } = manifest;
  const files = new Map<string, Promise<unknown>>();

  function open<T>(key: string): Promise<T> {
    const file =
      files.get(key) ??
      readFile<T>(env, key).then((value) => {
        if (value === null) throw new Error(`${key} is whole in no location`);
        return value;
      });
    files.set(key, file);
    return file as Promise<T>;
  }

  const entriesOf = async (file: number): Promise<RankedEntry[]> =>
    file < 0 || file >= manifest.standings.length
      ? []
      : (await open<ArchivedEntry[]>(standingsKey(archive, file))).map(fromArchivedEntry);

  async function page(after: StandingKey | null, limit: number): Promise<StandingsPage> {
    let file = after === null ? 0 : locateFile(manifest, after);
    const found: RankedEntry[] = [];
    for (; file < manifest.standings.length && found.length <= limit; file++) {
      const entries = await entriesOf(file);
      found.push(...(after === null ? entries : entries.filter((entry) => compareStandings(entry, after) > 0)));
    }
    const entries = found.slice(0, limit);
    return { entries, players, asOf, next: found.length > limit ? (entries.at(-1) ?? null) : null };
  }

  async function find(userId: string): Promise<{ file: number; at: number; entries: RankedEntry[] } | null> {
    const shard = shardOf(userId, manifest.shards);
    const firsts = manifest.lookups[shard] ?? [];
    const number = lastAtOrBefore(firsts, (first) => (first <= userId ? -1 : 1));
    if (number < 0) return null;
    const lookup = await open<ArchivedLookup[]>(lookupKey(archive, shard, number));
    const row = lookup.find(([id]) => id === userId);
    if (row === undefined) return null;
    const file = locateFile(manifest, { userId, score: row[1], reached: row[2] });
    const entries = await entriesOf(file);
    const at = entries.findIndex((entry) => entry.userId === userId);
    return at < 0 ? null : { file, at, entries };
  }

  async function standings(userIds: readonly string[]): Promise<Standings> {
    const found = await Promise.all(userIds.map(find));
    return { entries: found.map((each) => each?.entries[each.at] ?? null), players, asOf };
  }

  async function neighbors(userId: string, radius: number) {
    const found = await find(userId);
    if (found === null) return null;
    let { at, entries } = found;
    for (let file = found.file - 1; file >= 0 && at < radius; file--) {
      const before = await entriesOf(file);
      entries = [...before, ...entries];
      at += before.length;
    }
    for (let file = found.file + 1; file < manifest.standings.length && entries.length - at <= radius; file++) {
      entries = [...entries, ...(await entriesOf(file))];
    }
    return { entries: entries.slice(Math.max(0, at - radius), at + radius + 1), asOf };
  }

  async function distribution(rangesMax: number): Promise<Distribution> {
    const ranges = manifest.distributions.findLast((each) => each.length <= rangesMax) ?? [];
    return { ranges, players, asOf };
  }

  return { page, standings, neighbors, distribution };
}

/** The standings file that contains a key, or would contain it. */
export function locateFile({ standings }: ArchiveManifest, key: StandingKey): number {
  return Math.max(
    0,
    lastAtOrBefore(standings, (first) => compareStandings(fromArchivedKey(first), key)),
  );
}

/** @returns the last place whose item compares at or below 0, or −1. */
export function lastAtOrBefore<T>(items: readonly T[], compare: (item: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(items[middle] as T) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
