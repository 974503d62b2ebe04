/** What only JMAP clients make. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Submissions of JMAP clients (RFC 8621 §7). The outbox knows what became of them. */
export const emailSubmission = sqliteTable(
  'email_submission',
  {
    /** The id in the outbox. */
    submissionId: text('submission_id').primaryKey(),
    messageId: text('message_id').notNull(),
    thread: integer('thread').notNull(),
    identityId: text('identity_id').notNull(),
    /** JSON: envelope sender, recipients. */
    envelope: text('envelope').notNull(),
    sendAt: integer('send_at').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  // Finds the submissions of a message whose delivery changed.
  (table) => [index('email_submission_message').on(table.messageId)],
);
