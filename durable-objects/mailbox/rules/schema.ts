/** Filters, forward targets, vacation replies, automatic mail that waits, and contacts. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const filter = sqliteTable('filter', {
  filterId: text('filter_id').primaryKey(),
  ordinal: integer('ordinal').notNull(),
  /** JSON: name, enabled, match, conditions, actions. */
  rule: text('rule').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Addresses for automatic forwards. Only confirmed ones are used. */
export const forwardTarget = sqliteTable('forward_target', {
  email: text('email').primaryKey(),
  codeSha256: text('code_sha256'),
  guesses: integer('guesses').notNull().default(0),
  confirmedAt: integer('confirmed_at'),
  createdAt: integer('created_at').notNull(),
});

/** Codes mailed to forward targets in the last day. Rows outlive their target: removing and adding it again must not reset a limit. */
export const forwardInvitation = sqliteTable('forward_invitation', {
  invitationId: integer('invitation_id').primaryKey(),
  email: text('email').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Recipients of the vacation reply. RFC 3834 §2: the same person gets no second one within days. */
export const vacationReply = sqliteTable('vacation_reply', {
  email: text('email').primaryKey(),
  repliedAt: integer('replied_at').notNull(),
});

/** Automatic mail to be sent (a forward, a vacation reply), written with the message that caused it. */
export const automaticSend = sqliteTable('automatic_send', {
  sendId: integer('send_id').primaryKey({ autoIncrement: true }),
  kind: text('kind').notNull(),
  messageId: text('message_id').notNull(),
  recipient: text('recipient').notNull(),
  envelopeFrom: text('envelope_from').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** At most 20,000 rows. Every sent message writes here, and each further index would add a row to that write, so there is none. */
export const contact = sqliteTable('contact', {
  email: text('email').primaryKey(),
  contactId: text('contact_id').notNull(),
  name: text('name').notNull(),
  note: text('note').notNull().default(''),
  /** 1: entered by the user; 0: gathered from sent mail. */
  isSaved: integer('is_saved').notNull(),
  sentCount: integer('sent_count').notNull().default(0),
  lastSentAt: integer('last_sent_at'),
  createdAt: integer('created_at').notNull(),
});
