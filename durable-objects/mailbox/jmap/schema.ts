/** Tables that only JMAP clients use. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Submissions of JMAP clients (RFC 8621 §7). While a message waits, its states are in the outbox. */
export const emailSubmission = sqliteTable(
  'email_submission',
  {
    /** Same id as in the outbox. */
    submissionId: text('submission_id').primaryKey(),
    emailId: text('email_id').notNull(),
    thread: integer('thread').notNull(),
    identityId: text('identity_id').notNull(),
    /** JSON: envelope sender, recipients. */
    envelope: text('envelope').notNull(),
    sendAt: integer('send_at').notNull(),
    isCanceled: integer('is_canceled').notNull().default(0),
    /** JSON list of `DeliveryState` once no recipient waits; null before. */
    delivery: text('delivery'),
    createdAt: integer('created_at').notNull(),
  },
  // Finds the submissions of a message whose delivery changed.
  (table) => [index('email_submission_email').on(table.emailId)],
);

/** Push subscriptions of clients (RFC 8620 §7.2). */
export const pushSubscription = sqliteTable('push_subscription', {
  subscriptionId: text('subscription_id').primaryKey(),
  /** The credential that created it. The subscription ends with it. */
  credentialId: text('credential_id').notNull(),
  deviceClientId: text('device_client_id').notNull(),
  url: text('url').notNull(),
  /** JSON {p256dh, auth}; null for pushes that are not encrypted. */
  keys: text('keys'),
  /** JSON list of JMAP types; null for all. */
  types: text('types'),
  code: text('code').notNull(),
  isVerified: integer('is_verified').notNull(),
  isCodeSent: integer('is_code_sent').notNull(),
  /** The last state that was pushed. */
  pushedState: integer('pushed_state').notNull(),
  /** Failures in a row, and the time before which there is no further attempt. */
  failures: integer('failures').notNull(),
  nextAt: integer('next_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
});
