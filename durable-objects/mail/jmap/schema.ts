/** Tables that only JMAP clients use. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Submissions of JMAP clients (RFC 8621 §7). While a recipient waits, the delivery states are in the outbox. */
export const emailSubmission = sqliteTable(
  'email_submission',
  {
    /** Id of the submission; the row in the outbox has the same id. */
    submissionId: text('submission_id').primaryKey(),
    emailId: text('email_id').notNull(),
    thread: integer('thread').notNull(),
    identityId: text('identity_id').notNull(),
    /** JSON of the envelope: sender and recipients. */
    envelope: text('envelope').notNull(),
    sendAt: integer('send_at').notNull(),
    isCanceled: integer('is_canceled').notNull().default(0),
    /** JSON list of `DeliveryState`, written once no recipient waits; null before. */
    delivery: text('delivery'),
    createdAt: integer('created_at').notNull(),
  },
  // Index to find the submissions of a message whose delivery changed.
  (table) => [index('email_submission_email').on(table.emailId)],
);

/** Push subscriptions of clients (RFC 8620 §7.2). */
export const pushSubscription = sqliteTable('push_subscription', {
  subscriptionId: text('subscription_id').primaryKey(),
  /** Credential that created the subscription. The subscription ends with it. */
  credentialId: text('credential_id').notNull(),
  deviceClientId: text('device_client_id').notNull(),
  url: text('url').notNull(),
  /** Keys for encryption as JSON `{p256dh, auth}`; null if pushes are not encrypted. */
  keys: text('keys'),
  /** JSON list of the JMAP types to push; null for all. */
  types: text('types'),
  code: text('code').notNull(),
  isVerified: integer('is_verified').notNull(),
  isCodeSent: integer('is_code_sent').notNull(),
  /** Number of the last state that was pushed. */
  pushedState: integer('pushed_state').notNull(),
  /** Failed attempts in a row. No further attempt is made before `next_at`. */
  failures: integer('failures').notNull(),
  nextAt: integer('next_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
});
