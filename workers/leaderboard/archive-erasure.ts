/** Takes one player out of a past season's files. Everybody else keeps place and rank. */

import { forgetManifest, lastAtOrBefore, locateFile } from './archived-standings.ts';
import { shardOf } from './domain/shard-map.ts';
import {
  type ArchivedEntry,
  type ArchivedLookup,
  type ArchiveManifest,
  locationsOf,
  lookupKey,
  manifestKey,
  readWhole,
  standingsKey,
} from './records/archive-files.ts';

const ATTEMPTS_MAX = 8;
/** Ids are ASCII: no search ends at a look-up file that begins with this. */
const AFTER_EVERY_ID = '\u{ffff}';

/** @returns whether the player was in it. Safe to repeat: each location is looked at by itself. */
export async function eraseFromArchive(env: Env, archive: string, userId: string): Promise<boolean> {
  const erased = await Promise.all(locationsOf(env).map((bucket) => eraseFromLocation(bucket, archive, userId)));
  forgetManifest(archive);
  return erased.some(Boolean);
}

async function eraseFromLocation(bucket: R2Bucket, archive: string, userId: string): Promise<boolean> {
  const manifest = (await readWhole<ArchiveManifest>(bucket, manifestKey(archive)))?.value;
  if (manifest === undefined) throw new Error(`${manifestKey(archive)} is missing or damaged`);
  const shard = shardOf(userId, manifest.shards);
  const file = lastAtOrBefore(manifest.lookups[shard] ?? [], (first) => (first <= userId ? -1 : 1));
  if (file < 0) return false;
  const key = lookupKey(archive, shard, file);
  const lookup = (await readWhole<ArchivedLookup[]>(bucket, key))?.value ?? [];
  const row = lookup.find(([id]) => id === userId);
  if (row === undefined) return false;
  const standings = locateFile(manifest, { userId, score: row[1], reached: row[2] });
  await rewrite<ArchivedEntry[]>(bucket, standingsKey(archive, standings), (rows) =>
    rows.filter(([id]) => id !== userId),
  );
  // An id that begins a file stands in the manifest too. '' sorts before every id with the same score and time.
  const next = lookup.find(([id]) => id > userId)?.[0] ?? manifest.lookups[shard]?.[file + 1] ?? AFTER_EVERY_ID;
  await rewrite<ArchiveManifest>(bucket, manifestKey(archive), (old) => ({
    ...old,
    standings: old.standings.map((first) => (first[2] === userId ? [first[0], first[1], ''] : first)),
    lookups: old.lookups.map((firsts) => firsts.map((first) => (first === userId ? next : first))),
  }));
  // The look-up goes last: until then a repeated erasure finds its way to the other files.
  await rewrite<ArchivedLookup[]>(bucket, key, (rows) => rows.filter(([id]) => id !== userId));
  return true;
}

/** Replaces a file unless somebody else did so meanwhile; then it is read again. */
async function rewrite<T>(bucket: R2Bucket, key: string, change: (value: T) => T): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const read = await readWhole<T>(bucket, key);
    if (read === null) throw new Error(`${key} is missing or damaged`);
    const bytes = new TextEncoder().encode(JSON.stringify(change(read.value)));
    const written = await bucket.put(key, bytes, {
      sha256: await crypto.subtle.digest('SHA-256', bytes),
      onlyIf: { etagMatches: read.etag },
      httpMetadata: { contentType: 'application/json' },
    });
    if (written !== null) return;
  }
  throw new Error(`${key} kept changing`);
}
