/** Keys of the objects that describe a shard's database in every location: pages of its journal and of its snapshots. */

export const journalPrefix = (shard: number): string => `journal/${shard}/`;

const toEpochKey = (shard: number, epoch: number): string =>
  `${journalPrefix(shard)}${String(epoch).padStart(15, '0')}`;

/** The folder with the pages of one epoch. */
export const journalFolder = (shard: number, epoch: number): string => `${toEpochKey(shard, epoch)}/`;

/** A key after all pages of the epoch and before those of the next one. */
export const journalKeyAfter = (shard: number, epoch: number): string => `${toEpochKey(shard, epoch)}0`;

export const journalEpochOf = (shard: number, key: string): number =>
  Number(key.slice(journalPrefix(shard).length).split('/')[0]);

export const snapshotPrefix = (shard: number): string => `snapshots/${shard}/`;

export const snapshotFolder = (shard: number, startedAt: number): string =>
  `${snapshotPrefix(shard)}${new Date(startedAt).toISOString()}/`;

export const snapshotManifestKey = (folder: string): string => `${folder}manifest.json.gz`;

export const snapshotPageKey = (folder: string, table: string, page: number): string =>
  `${folder}${table}/${String(page).padStart(6, '0')}.json.gz`;
