/**
 * Corrects, hides or erases one player in the archive of a past season. Writes new versions of the changed files, then a
 * manifest that names them, then deletes the old ones. Each step can be cut: the manifest of the highest revision counts,
 * and the next change repairs the other locations.
 *
 * A corrected or hidden player moves the ranks of others. An erased player's row stays without id and name, so that the
 * others keep their ranks.
 */
import { forgetManifest, locateFile, locateLookup } from './archived-standings.ts';
import type { CorrectedPlayer, Correction } from './domain/board.ts';
import { mirror } from './domain/score-rules.ts';
import { readSeason } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { compareStandings, type TopEntry } from './domain/standing.ts';
import {
  type ArchivedEntry,
  type ArchiveManifest,
  fromArchivedEntry,
  locationsOf,
  manifestKey,
  readText,
  readWhole,
  type StandingsFile,
  toArchivedEntry,
  toStandingKey,
  writeFile,
  writeTo,
} from './records/archive-files.ts';

const ATTEMPTS_MAX = 8;
/** A changed file without a manifest is left over from a change that was cut, if it is older than this. */
const CUT_AFTER_MS = 60_000;

/** @returns whether the player was in the archive. Can be repeated after a failure. */
export async function eraseFromArchive(env: Env, archive: string, userId: string): Promise<boolean> {
  return changeArchive(env, archive, async (draft) => {
    await draft.removeLeftovers();
    const entry = await draft.find(userId);
    if (entry === null) return false;
    if (!(await draft.removeHidden(userId))) await draft.erase(entry);
    return true;
  });
}

/** @returns null for an unknown player. */
export async function correctInArchive(
  env: Env,
  archive: string,
  userId: string,
  change: Correction,
  now: number,
): Promise<CorrectedPlayer | null> {
  return changeArchive(env, archive, async (draft) => {
    const before = await draft.find(userId);
    if (before === null) return null;
    const wasHidden = before.isHidden;
    const isHidden = change.hidden ?? wasHidden;
    const score = change.score ?? before.score;
    const entry = { userId, userName: before.userName, score, reached: before.reached };
    if (isHidden !== wasHidden || score !== before.score) {
      entry.reached = now * 1000;
      if (wasHidden) await draft.removeHidden(userId);
      else await draft.remove(before);
      if (isHidden) await draft.addHidden(entry);
      else await draft.insert(entry);
    }
    return { userName: entry.userName, score, rank: isHidden ? null : await draft.rankOf(entry), isHidden };
  });
}

/** Whether the player is in the archive, hidden or not. */
export async function isInArchive(env: Env, archive: string, userId: string): Promise<boolean> {
  return changeArchive(env, archive, async (draft) => (await draft.find(userId)) !== null);
}

async function changeArchive<T>(env: Env, archive: string, work: (draft: ArchiveDraft) => Promise<T>): Promise<T> {
  const key = manifestKey(archive);
  const locations = locationsOf(env);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const copies = await Promise.all(locations.map((bucket) => readWhole<ArchiveManifest>(bucket, key)));
    const newest = copies.reduce((a, b) => ((b?.value.revision ?? -1) > (a?.value.revision ?? -1) ? b : a));
    if (newest === null) throw new Error(`${key} is missing or damaged`);
    const { revision, obsolete } = newest.value;
    const behind = locations.filter((_, i) => copies[i]?.value.revision !== revision);
    for (const bucket of behind) await writeTo(bucket, key, newest.value);
    if (behind.length > 0) continue;
    await removeFiles(locations, archive, obsolete);
    const draft = new ArchiveDraft(env, archive, newest.value);
    const result = await work(draft);
    if (!draft.isChanged) return result;
    const manifest = await draft.writeFiles();
    const [first, ...others] = locations;
    // The first location decides between two changes at the same time.
    if (first === undefined || !(await writeTo(first, key, manifest, copies[0]?.etag))) continue;
    for (const bucket of others) await writeTo(bucket, key, manifest);
    await removeFiles(locations, archive, manifest.obsolete);
    forgetManifest(archive);
    return result;
  }
  throw new Error(`${key} kept changing`);
}

async function removeFiles(locations: readonly R2Bucket[], archive: string, names: readonly string[]): Promise<void> {
  const keys = names.map((name) => `${archive}/${name}`);
  if (keys.length > 0) for (const bucket of locations) await bucket.delete(keys);
}

/** The next revision of an archive. Nothing is written before `writeFiles`. */
class ArchiveDraft {
  readonly #env: Env;
  readonly #archive: string;
  #manifest: ArchiveManifest;
  /** New files by name. */
  readonly #files = new Map<string, unknown>();
  readonly #replaced: string[] = [];

  constructor(env: Env, archive: string, manifest: ArchiveManifest) {
    this.#env = env;
    this.#archive = archive;
    this.#manifest = manifest;
  }

  get isChanged(): boolean {
    return this.#replaced.length + this.#files.size > 0;
  }

  async find(userId: string): Promise<(TopEntry & { isHidden: boolean }) | null> {
    const hidden = (await this.#readHidden()).find(([id]) => id === userId);
    if (hidden !== undefined) return { ...fromArchivedEntry(hidden), isHidden: true };
    const file = locateLookup(this.#manifest, userId);
    const row = file === null ? undefined : (await this.#read<ArchivedEntry>(file.name)).find(([id]) => id === userId);
    return row === undefined ? null : { ...fromArchivedEntry(row), isHidden: false };
  }

  async rankOf(entry: TopEntry): Promise<number> {
    const file = this.#manifest.standings[locateFile(this.#manifest, entry)] as StandingsFile;
    if (file.first.score === entry.score) return file.rank;
    const rows = await this.#read<ArchivedEntry>(file.name);
    return file.place + rows.filter(([, , score]) => score > entry.score).length + 1;
  }

  /** Leaves a row without id and name. */
  erase = (entry: TopEntry): Promise<void> =>
    this.#change(entry, 0, null, (rows) =>
      rows.map((row): ArchivedEntry => (row[0] === entry.userId ? ['', '', row[2], row[3]] : row)),
    );

  /** Removes a player; those below move up. */
  remove = (entry: TopEntry): Promise<void> =>
    this.#change(entry, -1, null, (rows) => rows.filter(([id]) => id !== entry.userId));

  /** Adds a player; those below move down. */
  insert(entry: TopEntry): Promise<void> {
    const added = toArchivedEntry(entry);
    return this.#change(entry, 1, added, (rows) =>
      [...rows, added].sort((a, b) => compareStandings(fromArchivedEntry(a), fromArchivedEntry(b))),
    );
  }

  /** Changes the rows of a player's file, and the player's look-up. @param more players in the file afterwards. */
  async #change(
    entry: TopEntry,
    more: -1 | 0 | 1,
    lookup: ArchivedEntry | null,
    change: (rows: readonly ArchivedEntry[]) => ArchivedEntry[],
  ): Promise<void> {
    const file = locateFile(this.#manifest, entry);
    const rows = await this.#read<ArchivedEntry>(this.#manifest.standings[file]?.name ?? '');
    this.#replaceStandings(file, change(rows), more, entry.score);
    await this.#setLookup(entry.userId, lookup);
  }

  async addHidden(entry: TopEntry): Promise<void> {
    const rows = [...(await this.#readHidden()), toArchivedEntry(entry)];
    this.#manifest = { ...this.#manifest, hidden: this.#replace(this.#manifest.hidden, rows) };
  }

  /** @returns whether the player was hidden. */
  async removeHidden(userId: string): Promise<boolean> {
    const rows = await this.#readHidden();
    const left = rows.filter(([id]) => id !== userId);
    if (left.length === rows.length) return false;
    this.#manifest = { ...this.#manifest, hidden: this.#replace(this.#manifest.hidden, left) };
    return true;
  }

  /** Writes the changed files to every location. @returns the manifest that names them. */
  async writeFiles(): Promise<ArchiveManifest> {
    for (const [name, rows] of this.#files) await writeFile(this.#env, `${this.#archive}/${name}`, rows);
    return { ...this.#manifest, revision: this.#manifest.revision + 1, obsolete: this.#replaced };
  }

  /** Removes changed files that no manifest names, because their change was cut. They may have the player's name. */
  async removeLeftovers(): Promise<void> {
    const { standings, lookups, hidden } = this.#manifest;
    const named = new Set([...standings, ...lookups.flat()].map(({ name }) => name).concat(hidden ?? []));
    for (const bucket of locationsOf(this.#env)) {
      const { objects } = await bucket.list({ prefix: `${this.#archive}/changed/` });
      const old = objects.filter(({ uploaded }) => Date.now() - uploaded.getTime() > CUT_AFTER_MS);
      const keys = old.map(({ key }) => key).filter((key) => !named.has(key.slice(this.#archive.length + 1)));
      if (keys.length > 0) await bucket.delete(keys);
    }
  }

  #replaceStandings(at: number, rows: readonly ArchivedEntry[], more: -1 | 0 | 1, score: number): void {
    const files = this.#manifest.standings;
    const old = files[at];
    const [first] = rows.map(fromArchivedEntry);
    const place = old?.place ?? 0;
    // Only in the first file a row may come before the first one.
    const rank = first?.score === old?.first.score ? (old?.rank ?? 1) : place + 1;
    const name = this.#replace(old?.name ?? null, rows);
    const standings = [
      ...files.slice(0, at),
      ...(first === undefined ? [] : [{ name, first: toStandingKey(first), place, rank }]),
      ...files.slice(at + 1).map((file) => ({
        ...file,
        place: file.place + more,
        rank: file.rank + (file.first.score < score ? more : 0),
      })),
    ];
    const shown = mirror(readSeason(this.#manifest.season).rules, score);
    const distributions = this.#manifest.distributions.map((ranges) => {
      const found = ranges.findIndex(({ to }) => shown <= to);
      const changed = found < 0 ? ranges.length - 1 : found;
      return ranges.map((range, i) => (i === changed ? { ...range, players: range.players + more } : range));
    });
    this.#manifest = { ...this.#manifest, standings, distributions, players: this.#manifest.players + more };
  }

  async #setLookup(userId: string, row: ArchivedEntry | null): Promise<void> {
    const shard = shardOf(userId, this.#manifest.shards);
    const files = this.#manifest.lookups[shard] ?? [];
    const old = locateLookup(this.#manifest, userId) ?? files[0] ?? null;
    const others = (old === null ? [] : await this.#read<ArchivedEntry>(old.name)).filter(([id]) => id !== userId);
    const rows = [...others, ...(row === null ? [] : [row])].sort(([a], [b]) => (a < b ? -1 : 1));
    const [first] = rows;
    const name = this.#replace(old?.name ?? null, rows);
    const changed = first === undefined ? [] : [{ name, first: first[0] }];
    const list = old === null ? changed : files.flatMap((file) => (file === old ? changed : [file]));
    this.#manifest = {
      ...this.#manifest,
      lookups: this.#manifest.lookups.map((each, i) => (i === shard ? list : each)),
    };
  }

  /** @returns the new name. */
  #replace(old: string | null, rows: unknown): string {
    if (old !== null && !this.#files.delete(old)) this.#replaced.push(old);
    const name = `changed/${crypto.randomUUID()}.json`;
    this.#files.set(name, rows);
    return name;
  }

  async #readHidden(): Promise<ArchivedEntry[]> {
    return this.#manifest.hidden === null ? [] : this.#read<ArchivedEntry>(this.#manifest.hidden);
  }

  async #read<T>(name: string): Promise<T[]> {
    if (this.#files.has(name)) return this.#files.get(name) as T[];
    if (name === '') return [];
    const text = await readText(this.#env, `${this.#archive}/${name}`);
    if (text === null) throw new Error(`${this.#archive}/${name} is whole in no location`);
    return JSON.parse(text) as T[];
  }
}
