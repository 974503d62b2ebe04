/** Filters, forward targets, vacation replies, automatic mail that waits, and contacts. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const filter = sqliteTable('filter', {
  filterId: text('filter_id').primaryKey(),
  ordinal: integer('ordinal').notNull(),
  /** The filter as JSON: name, enabled, match, conditions, actions. */
  rule: text('rule').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Addresses to which filters may forward. Only confirmed targets are used. */
export const forwardTarget = sqliteTable('forward_target', {
  email: text('email').primaryKey(),
  codeSha256: text('code_sha256'),
  guesses: integer('guesses').notNull().default(0),
  confirmedAt: integer('confirmed_at'),
  createdAt: integer('created_at').notNull(),
});

/**
 * Codes that were mailed to forward targets in the last day. A row stays when its target is removed. Otherwise, removing and adding
 * the target would reset the limits.
 */
export const forwardInvitation = sqliteTable('forward_invitation', {
  invitationId: integer('invitation_id').primaryKey(),
  email: text('email').notNull(),
  createdAt: integer('created_at').notNull(),
});

/**
 * Recipients of the vacation reply, with the time of the last one. RFC 3834 §2: the same person gets no second reply within days.
 */
export const vacationReply = sqliteTable('vacation_reply', {
  email: text('email').primaryKey(),
  repliedAt: integer('replied_at').notNull(),
});

/** Automatic mail that waits to be sent, such as a forward or vacation reply. Written with the message that caused it. */
export const automaticSend = sqliteTable('automatic_send', {
  sendId: integer('send_id').primaryKey({ autoIncrement: true }),
  kind: text('kind').notNull(),
  messageId: text('message_id').notNull(),
  recipient: text('recipient').notNull(),
  envelopeFrom: text('envelope_from').notNull(),
  createdAt: integer('created_at').notNull(),
});

/**
 * Contacts, at most 20,000 rows. The table has no further index, because every sent message writes here, and an index would add a
 * row to each write.
 */
export const contact = sqliteTable('contact', {
  email: text('email').primaryKey(),
  contactId: text('contact_id').notNull(),
  name: text('name').notNull(),
  note: text('note').notNull().default(''),
  /** 1 if the user saved the contact; 0 if it was gathered from sent mail. */
  isSaved: integer('is_saved').notNull(),
  sentCount: integer('sent_count').notNull().default(0),
  lastSentAt: integer('last_sent_at'),
  createdAt: integer('created_at').notNull(),
});
