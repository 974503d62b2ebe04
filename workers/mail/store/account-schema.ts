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
 * Masked addresses: addresses that a person gives away, one for each shop or list. Each has a row in `mail_address` too, which keeps its
 * user after the address was ended, so that it can be opened again. In the user's database.
 */
export const mailMaskedAddress = sqliteTable(
  'mail_masked_address',
  {
    email: text('email').primaryKey(),
    userId: text('user_id').notNull(),
    /** `pending`, `enabled`, `disabled` or `deleted`: see `domain/masked-state.ts`. */
    state: text('state').notNull(),
    /** Where the address was given away, in the person's words. */
    note: text('note').notNull(),
    /** Origin of the site that it was made for, such as `https://shop.example.com`; empty if unknown. */
    forDomain: text('for_domain').notNull(),
    /** Link to the entry of the password manager that made it. */
    url: text('url'),
    /** Name of the app token that made it, or of this service. */
    createdBy: text('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Time of the newest message, precise to an hour; null before the first one. */
    lastMessageAt: integer('last_message_at'),
  },
  (table) => [index('mail_masked_address_user').on(table.userId)],
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
