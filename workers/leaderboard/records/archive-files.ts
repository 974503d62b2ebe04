/**
 * The archive of a past season that 0.2.0 wrote in R2, under `leaderboard/<season>/<attempt>/` in every location:
 * - the standings in list order, in files of 2,048 players, without ranks;
 * - per shard, the same rows by `user_id`, in files of 1,024 players: the look-ups. Only they have hidden players;
 * - a manifest with the key, place and rank at the start of every file.
 *
 * Finding a player takes one small file, and a second one if the score is not the first of its file of standings.
 */
import type { StandingKey, TopEntry } from '../domain/standing.ts';

export const STANDINGS_FILE_ENTRIES = 2_048;

/**
 * A row of an archived file. The row of an erased player keeps its place in the standings, but has no id and name. The last member
 * marks a hidden player.
 */
export type ArchivedEntry = readonly [userId: string, userName: string, score: number, reached: number, hidden?: true];

/** A file of standings: its first key, and the place (from 0) and rank of that row. */
export interface StandingsFile {
  readonly name: string;
  readonly first: StandingKey;
  readonly place: number;
  readonly rank: number;
}

export interface LookupFile {
  readonly name: string;
  /** The first `user_id` in the file. */
  readonly first: string;
}

export interface ArchiveManifest {
  readonly season: string;
  readonly shards: number;
  readonly players: number;
  /** Sum of all scores at the closing, as decimal text, because it may exceed 2^53. */
  readonly sum: string;
  /** Time at which the season was sealed, in milliseconds since 1970. */
  readonly sealedAt: number;
  /** Files of standings, in list order. */
  readonly standings: readonly StandingsFile[];
  /** Look-up files by shard, each in order of its first id. */
  readonly lookups: readonly (readonly LookupFile[])[];
  /** Revision of the manifest. Each change by an operator increases it. */
  readonly revision: number;
  /** Names of files of older revisions, which are to be deleted. */
  readonly obsolete: readonly string[];
  /** Time at which the season moved into its shards. From then on, the archive is not changed. */
  readonly movedAt?: number;
}

export const manifestKey = (archive: string): string => `${archive}/manifest.json`;

export function toArchivedEntry({ userId, userName, score, reached }: TopEntry): ArchivedEntry {
  return [userId, userName, score, reached];
}

export function fromArchivedEntry([userId, userName, score, reached]: ArchivedEntry): TopEntry {
  return { userId, userName, score, reached };
}

export const toStandingKey = ({ userId, score, reached }: StandingKey): StandingKey => ({ userId, score, reached });

/** The R2 buckets of the archive: every bound one. A file counts as written when all of them have it. */
export function locationsOf(env: Env): R2Bucket[] {
  const names = Object.keys(env).filter((name) => /^BLOBS(_\d+)?$/.test(name));
  return names.sort().map((name) => env[name as 'BLOBS']);
}

/** Writes a file of an archive with its SHA-256 to every location. */
export async function writeFile(env: Env, key: string, value: unknown): Promise<void> {
  await Promise.all(locationsOf(env).map((bucket) => writeTo(bucket, key, value)));
}

/** Writes a file to one location. @param etag writes only if the stored file has this ETag. @returns whether it was written. */
export async function writeTo(bucket: R2Bucket, key: string, value: unknown, etag?: string): Promise<boolean> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const sha256 = await crypto.subtle.digest('SHA-256', bytes);
  const onlyIf = etag === undefined ? {} : { onlyIf: { etagMatches: etag } };
  const options = { sha256, httpMetadata: { contentType: 'application/json' }, ...onlyIf };
  return (await bucket.put(key, bytes, options)) !== null;
}

/** Removes the files of an archive that was begun and not published. */
export async function removeAttempt(env: Env, archive: string): Promise<void> {
  for (const bucket of locationsOf(env)) await removeAll(bucket, `${archive}/`);
}

/** Removes the archive of a season and the copies of its shards. */
export async function removeSeasonFiles(env: Env, season: string): Promise<void> {
  for (const bucket of locationsOf(env)) {
    await removeAll(bucket, `leaderboard/${season}/`);
    await removeAll(bucket, `leaderboard-copies/${season}/`);
  }
}

async function removeAll(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list({ prefix });
    if (objects.length === 0) return;
    await bucket.delete(objects.map(({ key }) => key));
  }
}

/** Reads the text of a file from the first location with an undamaged copy; null if there is none. */
export async function readText(env: Env, key: string): Promise<string | null> {
  for (const bucket of locationsOf(env)) {
    const file = await readFrom(bucket, key);
    if (file !== null) return file.text;
  }
  return null;
}

/**
 * Reads a file from one location.
 * @returns the value, and the ETag for a conditional write; null if the file is missing or damaged.
 */
export async function readWhole<T>(bucket: R2Bucket, key: string): Promise<{ value: T; etag: string } | null> {
  const file = await readFrom(bucket, key);
  return file === null ? null : { value: JSON.parse(file.text) as T, etag: file.etag };
}

async function readFrom(bucket: R2Bucket, key: string): Promise<{ text: string; etag: string } | null> {
  const object = await bucket.get(key);
  if (object === null) return null;
  const bytes = await object.arrayBuffer();
  const found = Buffer.from(await crypto.subtle.digest('SHA-256', bytes));
  const expected = object.checksums.sha256;
  if (expected === undefined || !found.equals(Buffer.from(expected))) return null;
  return { text: new TextDecoder().decode(bytes), etag: object.etag };
}
