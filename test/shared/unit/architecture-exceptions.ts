/**
 * Known violations of `architecture.test.ts`. Entries may only be removed. An entry that is no longer needed fails the
 * test.
 */

/** Imports that are known violations, as `importer -> imported`. */
export const KNOWN_IMPORTS: readonly string[] = [];

/** Files with SQL outside of a store. */
export const KNOWN_SQL: readonly string[] = [];
