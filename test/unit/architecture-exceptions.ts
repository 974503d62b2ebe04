/**
 * Known violations of `architecture.test.ts`. Entries may only be removed. An entry that is no longer needed fails the
 * test.
 */

/** `importer -> imported` */
export const KNOWN_IMPORTS: readonly string[] = [];

/** Files with SQL that belongs in a store. */
export const KNOWN_SQL: readonly string[] = [];
