/** The credentials that open this mailbox, so that a request of mail asks nothing else. They are in no backup and no export. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** A session, or an app token of the user. Only the SHA-256 of its secret is stored. */
export const credential = sqliteTable('credential', {
  secretSha256: text('secret_sha256').primaryKey(),
  credentialId: text('credential_id').notNull(),
  kind: text('kind').notNull().$type<'session' | 'token'>(),
  /** Of a session. */
  userAgent: text('user_agent'),
  createdAt: integer('created_at').notNull(),
  /** A use within the last hour before it is not recorded. Null before the first use. */
  lastUsedAt: integer('last_used_at'),
  /** Until then, sensitive actions of the session do not ask for the password again. */
  confirmedUntil: integer('confirmed_until'),
  /** Null for a token that does not expire. */
  expiresAt: integer('expires_at'),
});

/** One row: what a request has to know of the user. DIRECTORY has the original. */
export const holder = sqliteTable('holder', {
  id: integer('id').primaryKey(),
  userName: text('user_name').notNull(),
  name: text('name').notNull(),
  email: text('email'),
  /** Set while the user is suspended: no credential works. */
  suspendedAt: integer('suspended_at'),
});
