/** The credentials that open this mailbox, so that a mail request needs no other look-up. They are not in backups or exports. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** A session, or an app token of the user. Only the SHA-256 of its secret is stored. */
export const credential = sqliteTable('credential', {
  secretSha256: text('secret_sha256').primaryKey(),
  credentialId: text('credential_id').notNull(),
  kind: text('kind').notNull().$type<'session' | 'token'>(),
  /** User-Agent of the login of a session. */
  userAgent: text('user_agent'),
  createdAt: integer('created_at').notNull(),
  /** Precise to an hour, because a second use within an hour is not recorded. Null before the first use. */
  lastUsedAt: integer('last_used_at'),
  /** Until this time, sensitive actions of the session do not ask for the password again. */
  confirmedUntil: integer('confirmed_until'),
  /** Null for a token that does not expire. */
  expiresAt: integer('expires_at'),
});

/** One row: the facts about the user that requests need. DIRECTORY has the original. */
export const holder = sqliteTable('holder', {
  id: integer('id').primaryKey(),
  userName: text('user_name').notNull(),
  name: text('name').notNull(),
  email: text('email'),
  /** Set while the user is suspended: no credential works. */
  suspendedAt: integer('suspended_at'),
});
