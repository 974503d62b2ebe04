/** What only JMAP clients make. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Submissions of JMAP clients (RFC 8621 §7). The outbox knows what became of them. */
export const emailSubmission = sqliteTable(
  'email_submission',
  {
    /** The id in the outbox. */
    submissionId: text('submission_id').primaryKey(),
    emailId: text('email_id').notNull(),
    thread: integer('thread').notNull(),
    identityId: text('identity_id').notNull(),
    /** JSON: envelope sender, recipients. */
    envelope: text('envelope').notNull(),
    sendAt: integer('send_at').notNull(),
    isCanceled: integer('is_canceled').notNull().default(0),
    /** JSON list of `DeliveryState`, once no recipient waits; null before. */
    delivery: text('delivery'),
    createdAt: integer('created_at').notNull(),
  },
  // Finds the submissions of a message whose delivery changed.
  (table) => [index('email_submission_email').on(table.emailId)],
);

/** Where clients want to be told of changes (RFC 8620 §7.2). */
export const pushSubscription = sqliteTable('push_subscription', {
  subscriptionId: text('subscription_id').primaryKey(),
  /** The credential that made it, and with which it ends. */
  credentialId: text('credential_id').notNull(),
  deviceClientId: text('device_client_id').notNull(),
  url: text('url').notNull(),
  /** JSON {p256dh, auth}; null for pushes that are not encrypted. */
  keys: text('keys'),
  /** JSON list; null for all. */
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
