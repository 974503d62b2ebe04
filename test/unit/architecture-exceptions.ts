/**
 * Known violations of `architecture.test.ts`. Entries may only be removed. An entry that is no longer needed fails the
 * test.
 */

/** `importer -> imported` */
export const KNOWN_IMPORTS: readonly string[] = [
  'durable-objects/leaderboard-season/closing-store.ts -> workers/leaderboard/archive-files.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/archive-files.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/contract.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/season-store.ts',
  'durable-objects/leaderboard-season/index.ts -> workers/leaderboard/standings-json.ts',
  'workers/mail/outbound/retry-mail.ts -> workers/identity/store.ts',
  'workers/mail/schemas/account.ts -> workers/identity/password-length.ts',
];

/** Files with SQL that belongs in a store. */
export const KNOWN_SQL: readonly string[] = ['workers/shared/health.ts'];
