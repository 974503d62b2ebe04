/**
 * Known violations of `architecture.test.ts`. Entries may only be removed. An entry that is no longer needed fails the
 * test.
 */

/** `importer -> imported` */
export const KNOWN_IMPORTS: readonly string[] = [];

/** Files with SQL that belongs in a store. */
export const KNOWN_SQL: readonly string[] = [
  'workers/object-storage/engine/actions/buckets.ts',
  'workers/object-storage/engine/actions/commit.ts',
  'workers/object-storage/engine/actions/listing.ts',
  'workers/object-storage/engine/actions/upload-completion.ts',
  'workers/object-storage/engine/actions/uploads.ts',
  'workers/object-storage/engine/actions/writing.ts',
  'workers/object-storage/maintenance/collect.ts',
  'workers/object-storage/maintenance/leases.ts',
  'workers/object-storage/maintenance/scrub.ts',
  'workers/object-storage/maintenance/stats.ts',
];
