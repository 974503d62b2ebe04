/** Mail's account tables in DIRECTORY: accounts and their addresses. A mailbox's content is in its own object. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Identity users with a mailbox. */
export const mailAccount = sqliteTable('mail_account', {
  userId: text('user_id').primaryKey(),
  /** Address that the account was registered with. It is used to log in. */
  email: text('email').notNull().unique(),
  /** Account type: `personal` or `business`. */
  accountType: text('account_type').notNull(),
  createdAt: integer('created_at').notNull(),
});

/**
 * Every address that was ever issued. A row stays when its account is deleted (`user_id` is then null), so no address is issued
 * twice.
 */
export const mailAddress = sqliteTable(
  'mail_address',
  { email: text('email').primaryKey(), userId: text('user_id'), createdAt: integer('created_at').notNull() },
  (table) => [index('mail_address_user').on(table.userId)],
);

/**
 * Number of groups of user databases that this database knows: a single row; 1 without a row. A Worker that knows fewer
 * groups cannot issue an address in this database, because the newest group issues it.
 */
export const directoryGroup = sqliteTable('directory_group', {
  one: integer('one').primaryKey(),
  groups: integer('groups').notNull(),
});

/** Invitations to register, for `REGISTRATION=invite`. Each is valid only once. */
export const mailInvite = sqliteTable('mail_invite', {
  inviteSha256: text('invite_sha256').primaryKey(),
  createdAt: integer('created_at').notNull(),
  expiresAt: integer('expires_at').notNull(),
  usedAt: integer('used_at'),
});

/**
 * Accounts that, within a day, invited an address to receive forwarded mail. Limits the invitations that an address receives from
 * all accounts together.
 */
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
/**
 * Tombstones of erased accounts. Without a tombstone, bytes under `mail/<user_id>/` must not be deleted, even if the mailbox is
 * missing.
 */
export const mailErasedAccount = sqliteTable('mail_erased_account', {
  userId: text('user_id').primaryKey(),
  erasedAt: integer('erased_at').notNull(),
});
