/** Known breaches of `architecture.test.ts`. The lists only shrink: an entry that is no longer needed fails the test. */

/** `importer -> imported` */
export const KNOWN_IMPORTS: readonly string[] = [
  'durable-objects/leaderboard-season/closing-store.ts -> workers/leaderboard/archive-files.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/archive-files.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/contract.ts',
  'durable-objects/leaderboard-season/closing.ts -> workers/leaderboard/season-store.ts',
  'durable-objects/leaderboard-season/index.ts -> workers/leaderboard/standings-json.ts',
  'durable-objects/mailbox/spam-lesson-store.ts -> workers/mail/blobs.ts',
  'durable-objects/mailbox/spam-lesson-store.ts -> workers/mail/checks/index.ts',
  'durable-objects/mailbox/submission-store.ts -> workers/mail/mime/clean-html.ts',
  'durable-objects/mailbox/transport-wakes.ts -> workers/mail/inbound/process-incoming.ts',
  'durable-objects/mailbox/transport-wakes.ts -> workers/mail/outbound/queue-store.ts',
  'durable-objects/mailbox/transport-wakes.ts -> workers/mail/outbound/send-due.ts',
  'durable-objects/mailbox/transport-wakes.ts -> workers/mail/outbound/send-reports.ts',
  'durable-objects/mailbox/wakes.ts -> workers/mail/automatic-mail.ts',
  'durable-objects/mailbox/wakes.ts -> workers/mail/blobs.ts',
  'workers/mail/outbound/retry-mail.ts -> workers/identity/store.ts',
  'workers/mail/schemas/account.ts -> workers/identity/password-length.ts',
];

/** Files with SQL that belongs in a store. */
export const KNOWN_SQL: readonly string[] = [
  'durable-objects/mailbox/search-walk.ts',
  'durable-objects/mailbox/transport-wakes.ts',
  'workers/shared/health.ts',
];
