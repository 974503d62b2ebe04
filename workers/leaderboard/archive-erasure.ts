/** Erases one player from the archive of a past season. Other players keep their places and ranks. */

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
/** Ids are ASCII, so no look-up ends at a file that begins with this. */
const AFTER_EVERY_ID = '\u{ffff}';

/** @returns whether the player was in the archive. Idempotent: each location is checked separately. */
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
  // The manifest contains the first id of each file. '' sorts before every id with the same score and time.
  const next = lookup.find(([id]) => id > userId)?.[0] ?? manifest.lookups[shard]?.[file + 1] ?? AFTER_EVERY_ID;
  await rewrite<ArchiveManifest>(bucket, manifestKey(archive), (old) => ({
    ...old,
    standings: old.standings.map((first) => (first[2] === userId ? [first[0], first[1], ''] : first)),
    lookups: old.lookups.map((firsts) => firsts.map((first) => (first === userId ? next : first))),
  }));
  // The look-up is rewritten last: until then a repeated erasure finds the other files.
  await rewrite<ArchivedLookup[]>(bucket, key, (rows) => rows.filter(([id]) => id !== userId));
  return true;
}

/** Replaces a file if it is unchanged. If another writer changed it meanwhile, reads it again. */
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
