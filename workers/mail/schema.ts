/** Mail's tables in DIRECTORY: who has which address. What a mailbox holds is in its own object. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** A user of identity with a mailbox. */
export const mailAccount = sqliteTable('mail_account', {
  userId: text('user_id').primaryKey(),
  /** The address it was registered with: what it logs in with. */
  email: text('email').notNull().unique(),
  /** personal | business */
  accountType: text('account_type').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Every address ever issued. A row stays when its account is gone (`user_id` null), so none is issued twice. */
export const mailAddress = sqliteTable(
  'mail_address',
  { email: text('email').primaryKey(), userId: text('user_id'), createdAt: integer('created_at').notNull() },
  (table) => [index('mail_address_user').on(table.userId)],
);

/** Invitations, for `REGISTRATION=invite`; each works once. */
export const mailInvite = sqliteTable('mail_invite', {
  inviteSha256: text('invite_sha256').primaryKey(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
});

/** Which accounts invited an address to receive forwarded mail, for a day: limits what strangers get from all accounts together. */
export const mailForwardInvitation = sqliteTable(
  'mail_forward_invitation',
  {
    emailSha256: text('email_sha256').notNull(),
    userId: text('user_id').notNull(),
    endsAt: integer('ends_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.emailSha256, table.userId] }),
    index('mail_forward_invitation_ends').on(table.endsAt),
  ],
);
/** Tombstones: accounts whose owner or an operator erased them. Only they allow what is left under `mail/<user_id>/` to go. */
export const mailErasedAccount = sqliteTable('mail_erased_account', {
  userId: text('user_id').primaryKey(),
  erasedAt: integer('erased_at').notNull(),
});
