/**
 * Corrects, hides or erases one player in the archive of a past season. A change writes new versions of the changed files, then a
 * manifest that names them, then deletes the old files. Each step can be interrupted: the manifest of the highest revision counts,
 * and the next change repairs the other locations.
 *
 * A corrected or hidden player moves the ranks of others. An erased player's row stays without id and name, so that the others keep
 * their ranks.
 */

import type { CorrectedPlayer, Correction } from '../../../durable-objects/leaderboard/protocol.ts';
import { shardOf } from '../domain/shard-map.ts';
import { compareStandings, type TopEntry } from '../domain/standing.ts';
import { UnavailableError } from '../objects.ts';
import {
  type ArchivedEntry,
  type ArchiveManifest,
  fromArchivedEntry,
  type LookupFile,
  locationsOf,
  manifestKey,
  readText,
  readWhole,
  toArchivedEntry,
  toStandingKey,
  writeFile,
  writeTo,
} from '../records/archive-files.ts';
import { forgetManifest, locateFile, locateLookup, openArchivedStandings } from './archived-standings.ts';

const ATTEMPTS_MAX = 8;
/** Age after which a changed file that no manifest names counts as left over from an interrupted change. */
const CUT_AFTER_MS = 60_000;

/** A player in the archive. Only the look-up files have hidden players. */
interface ArchivedPlayer extends TopEntry {
  readonly isHidden: boolean;
}

/** Erases a player in an archive. Can be repeated after a failure. @returns whether the player was in the archive. */
export async function eraseFromArchive(env: Env, archive: string, userId: string): Promise<boolean> {
  return changeArchive(env, archive, async (draft) => {
    await draft.removeLeftovers();
    const player = await draft.find(userId);
    if (player !== null) await draft.replace(player, null);
    return player !== null;
  });
}

export async function correctInArchive(
  env: Env,
  archive: string,
  userId: string,
  change: Correction,
  now: number,
): Promise<CorrectedPlayer | null> {
  const corrected = await changeArchive(env, archive, async (draft) => {
    const before = await draft.find(userId);
    if (before === null) return null;
    const { score = before.score, hidden: isHidden = before.isHidden } = change;
    if (score !== before.score || isHidden !== before.isHidden)
      await draft.replace(before, { ...before, score, isHidden, reached: now * 1000 });
    return { userName: before.userName, score, isHidden };
  });
  if (corrected === null) return null;
  const { entries } = await openArchivedStandings(env, archive).standings([userId], true);
  return { ...corrected, rank: entries[0]?.rank ?? null };
}

/** Whether the archive has the player, hidden or not. */
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
    const { revision, obsolete, movedAt } = newest.value;
    // The season is in its shards. Who reads DIRECTORY again finds it there.
    if (movedAt !== undefined) throw new UnavailableError(archive, 'it is closed to changes');
    const behind = locations.filter((_, i) => copies[i]?.value.revision !== revision);
    for (const bucket of behind) await writeTo(bucket, key, newest.value);
    if (behind.length > 0) continue;
    await removeFiles(locations, archive, obsolete);
    const draft = new ArchiveDraft(env, archive, newest.value);
    const result = await work(draft);
    forgetManifest(archive);
    if (!draft.isChanged) return result;
    const manifest = await draft.writeFiles();
    const [first, ...others] = locations;
    // The write to the first location is conditional, so only one of several concurrent changes succeeds.
    if (first === undefined || !(await writeTo(first, key, manifest, copies[0]?.etag))) continue;
    for (const bucket of others) await writeTo(bucket, key, manifest);
    await removeFiles(locations, archive, manifest.obsolete);
    forgetManifest(archive);
    return result;
  }
  throw new Error(`${key} was not written: other writers changed it ${ATTEMPTS_MAX} times meanwhile`);
}

async function removeFiles(locations: readonly R2Bucket[], archive: string, names: readonly string[]): Promise<void> {
  const keys = names.map((name) => `${archive}/${name}`);
  if (keys.length > 0) for (const bucket of locations) await bucket.delete(keys);
}

/** The next revision of an archive, in memory until `writeFiles` is called. */
class ArchiveDraft {
  readonly #env: Env;
  readonly #archive: string;
  #manifest: ArchiveManifest;
  /** Rows of the changed files, by the new name of the file. */
  readonly #files = new Map<string, readonly ArchivedEntry[]>();
  readonly #replaced: string[] = [];

  constructor(env: Env, archive: string, manifest: ArchiveManifest) {
    this.#env = env;
    this.#archive = archive;
    this.#manifest = manifest;
  }

  get isChanged(): boolean {
    return this.#replaced.length > 0;
  }

  async find(userId: string): Promise<ArchivedPlayer | null> {
    const file = locateLookup(this.#manifest, userId);
    const row = file === null ? undefined : (await this.#read(file.name)).find(([id]) => id === userId);
    return row === undefined ? null : { ...fromArchivedEntry(row), isHidden: row[4] === true };
  }

  /** Replaces a player in the standings and the look-ups. @param after the player's new state; null to erase the player. */
  async replace(before: ArchivedPlayer, after: ArchivedPlayer | null): Promise<void> {
    const { userId } = before;
    const isOwn = ([id]: ArchivedEntry) => id === userId;
    if (!before.isHidden && after === null)
      await this.#changeList(before, 0, (rows) => rows.map((row) => (isOwn(row) ? ['', '', row[2], row[3]] : row)));
    else if (!before.isHidden) await this.#changeList(before, -1, (rows) => rows.filter((row) => !isOwn(row)));
    if (after !== null && !after.isHidden) {
      await this.#changeList(after, 1, (rows) =>
        [...rows, toArchivedEntry(after)].sort((a, b) => compareStandings(fromArchivedEntry(a), fromArchivedEntry(b))),
      );
    }
    const shard = shardOf(userId, this.#manifest.shards);
    const old = locateLookup(this.#manifest, userId) as LookupFile;
    const row: ArchivedEntry[] = after === null ? [] : [toArchivedEntry(after)];
    if (after?.isHidden) row[0] = [userId, after.userName, after.score, after.reached, true];
    const rows = (await this.#read(old.name)).flatMap((each) => (isOwn(each) ? row : [each]));
    const changed = this.#replaceFile(old.name, rows).map((name) => ({ name, first: rows[0]?.[0] ?? '' }));
    const lookups = this.#manifest.lookups.map((files, i) =>
      i === shard ? files.flatMap((file) => (file === old ? changed : [file])) : files,
    );
    this.#manifest = { ...this.#manifest, lookups };
  }

  /**
   * Changes the rows of the standings file that contains the entry's key.
   * @param more number of players by which the file grows.
   */
  async #changeList(
    entry: TopEntry,
    more: -1 | 0 | 1,
    change: (rows: readonly ArchivedEntry[]) => readonly ArchivedEntry[],
  ): Promise<void> {
    const { standings, players } = this.#manifest;
    const at = locateFile(this.#manifest, entry);
    const old = standings[at];
    const rows = change(old === undefined ? [] : await this.#read(old.name));
    const first = toStandingKey(rows[0] === undefined ? entry : fromArchivedEntry(rows[0]));
    const place = old?.place ?? 0;
    // The first row of a file other than the very first one never gets an earlier row. So if the first score changed, no player of
    // an earlier file has the new one.
    const rank = first.score === old?.first.score ? old.rank : place + 1;
    const changed = this.#replaceFile(old?.name, rows).map((name) => ({ name, first, place, rank }));
    const below = standings.slice(at + 1).map((file) => ({
      ...file,
      place: file.place + more,
      rank: file.rank + (file.first.score < entry.score ? more : 0),
    }));
    const list = [...standings.slice(0, at), ...changed, ...below];
    this.#manifest = { ...this.#manifest, standings: list, players: players + more };
  }

  /** Replaces a file by one with the given rows. @returns the name of the new file, or no name if there are no rows. */
  #replaceFile(old: string | undefined, rows: readonly ArchivedEntry[]): string[] {
    if (old !== undefined && !this.#files.delete(old)) this.#replaced.push(old);
    if (rows.length === 0) return [];
    const name = `changed/${crypto.randomUUID()}.json`;
    this.#files.set(name, rows);
    return [name];
  }

  async #read(name: string): Promise<readonly ArchivedEntry[]> {
    const changed = this.#files.get(name);
    if (changed !== undefined) return changed;
    const text = await readText(this.#env, `${this.#archive}/${name}`);
    if (text === null) throw new Error(`no location has an intact copy of ${this.#archive}/${name}`);
    return JSON.parse(text);
  }

  /** Writes the changed files to every location. @returns the new manifest, which names them. */
  async writeFiles(): Promise<ArchiveManifest> {
    for (const [name, rows] of this.#files) await writeFile(this.#env, `${this.#archive}/${name}`, rows);
    return { ...this.#manifest, revision: this.#manifest.revision + 1, obsolete: this.#replaced };
  }

  /**
   * Removes changed files that no manifest names because their change was interrupted. They may contain the erased player's name.
   */
  async removeLeftovers(): Promise<void> {
    const { standings, lookups } = this.#manifest;
    const named = new Set([...standings, ...lookups.flat()].map(({ name }) => `${this.#archive}/${name}`));
    for (const bucket of locationsOf(this.#env)) {
      const { objects } = await bucket.list({ prefix: `${this.#archive}/changed/` });
      const old = objects.filter(({ uploaded }) => Date.now() - uploaded.getTime() > CUT_AFTER_MS);
      const keys = old.map(({ key }) => key).filter((key) => !named.has(key));
      if (keys.length > 0) await bucket.delete(keys);
    }
  }
}
