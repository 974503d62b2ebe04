/**
 * The archive of a past season in R2, under `leaderboard/<season>/<attempt>/` in every location:
 * - the standings in rank order, in files of 4,096 players;
 * - per shard, a look-up from `user_id` to the player's key;
 * - a manifest with the first key of every file.
 *
 * Finding a player takes two small files, however large the board is.
 */
import type { CountedRange } from '../domain/distribution.ts';
import type { RankedEntry, StandingKey } from '../domain/standing.ts';

export const ARCHIVE_FILE_ENTRIES = 4_096;

export type ArchivedEntry = readonly [userId: string, userName: string, score: number, reached: number, rank: number];
export type ArchivedLookup = readonly [userId: string, score: number, reached: number];
export type ArchivedKey = readonly [score: number, reached: number, userId: string];

export interface ArchiveManifest {
  readonly season: string;
  readonly shards: number;
  readonly players: number;
  /** Decimal text, because it may exceed 2^53. */
  readonly sum: string;
  /** When the season was sealed, in milliseconds since 1970. */
  readonly sealedAt: number;
  /** The first key of each standings file, in list order. */
  readonly standings: readonly ArchivedKey[];
  /** Per shard, the first `user_id` of each look-up file. */
  readonly lookups: readonly (readonly string[])[];
  /** Distributions of scores: one list per possible number of ranges, the finest last. */
  readonly distributions: readonly (readonly CountedRange[])[];
}

const number = (value: number): string => String(value).padStart(8, '0');
export const standingsKey = (archive: string, file: number): string => `${archive}/standings/${number(file)}.json`;
export const lookupKey = (archive: string, shard: number, file: number): string =>
  `${archive}/lookups/${shard}/${number(file)}.json`;
export const manifestKey = (archive: string): string => `${archive}/manifest.json`;

export const toArchivedEntry = (entry: RankedEntry): ArchivedEntry => [
  entry.userId,
  entry.userName,
  entry.score,
  entry.reached,
  entry.rank,
];

export const fromArchivedEntry = ([userId, userName, score, reached, rank]: ArchivedEntry): RankedEntry => ({
  userId,
  userName,
  score,
  reached,
  rank,
});

export const fromArchivedKey = ([score, reached, userId]: ArchivedKey): StandingKey => ({ userId, score, reached });

/** Every bound bucket. A file counts as written when all of them have it. */
export function locationsOf(env: Env): R2Bucket[] {
  const names = Object.keys(env).filter((name) => /^BLOBS(_\d+)?$/.test(name));
  return names.sort().map((name) => env[name as 'BLOBS']);
}

/** Writes a file with its SHA-256 to every location. */
export async function writeFile(env: Env, key: string, value: unknown): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const sha256 = await crypto.subtle.digest('SHA-256', bytes);
  const httpMetadata = { contentType: 'application/json' };
  await Promise.all(locationsOf(env).map((bucket) => bucket.put(key, bytes, { sha256, httpMetadata })));
}

/**
 * Removes files of interrupted archive attempts. A finished attempt with more players than the published archive stays:
 * it comes from other objects of the same season and may be the only copy.
 * @param archive the one that DIRECTORY names.
 */
export async function removeOtherAttempts(env: Env, season: string, archive: string): Promise<void> {
  for (const bucket of locationsOf(env)) {
    const countPlayers = async (attempt: string) =>
      (await readWhole<ArchiveManifest>(bucket, manifestKey(attempt)))?.value.players ?? 0;
    const published = await countPlayers(archive);
    const { delimitedPrefixes } = await bucket.list({ prefix: `leaderboard/${season}/`, delimiter: '/' });
    for (const prefix of delimitedPrefixes) {
      if (prefix === `${archive}/` || (await countPlayers(prefix.slice(0, -1))) > published) continue;
      await removeAll(bucket, prefix);
    }
  }
}

async function removeAll(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list({ prefix });
    if (objects.length === 0) return;
    await bucket.delete(objects.map(({ key }) => key));
  }
}

/** Reads a file from the first location with an undamaged copy; null if there is none. */
export async function readFile<T>(env: Env, key: string): Promise<T | null> {
  for (const bucket of locationsOf(env)) {
    const value = await readWhole<T>(bucket, key);
    if (value !== null) return value.value;
  }
  return null;
}

/** @returns the value, and the ETag for a conditional write; null if the file is missing or damaged. */
export async function readWhole<T>(bucket: R2Bucket, key: string): Promise<{ value: T; etag: string } | null> {
  const object = await bucket.get(key);
  if (object === null) return null;
  const bytes = await object.arrayBuffer();
  const found = Buffer.from(await crypto.subtle.digest('SHA-256', bytes));
  const expected = object.checksums.sha256;
  if (expected === undefined || !found.equals(Buffer.from(expected))) return null;
  return { value: JSON.parse(new TextDecoder().decode(bytes)) as T, etag: object.etag };
}
