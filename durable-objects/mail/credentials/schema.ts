/**
 * The credentials that open this mailbox. They are stored here so that a mail request needs no look-up elsewhere. Backups and
 * exports omit them.
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Sessions and app tokens of the user. Only the SHA-256 of a secret is stored. */
export const credential = sqliteTable('credential', {
  secretSha256: text('secret_sha256').primaryKey(),
  credentialId: text('credential_id').notNull(),
  kind: text('kind').notNull().$type<'session' | 'token'>(),
  /** User-Agent of the client that logged in; null for tokens. */
  userAgent: text('user_agent'),
  createdAt: integer('created_at').notNull(),
  /** Time of the last use, precise to an hour because further uses within an hour are not recorded. Null before the first use. */
  lastUsedAt: integer('last_used_at'),
  /** End of the time in which sensitive actions of the session do not ask for the password again. */
  confirmedUntil: integer('confirmed_until'),
  /** Expiry; null for a token that does not expire. */
  expiresAt: integer('expires_at'),
});

/** One row with the facts about the user that requests need. DIRECTORY has the original. */
export const holder = sqliteTable('holder', {
  id: integer('id').primaryKey(),
  userName: text('user_name').notNull(),
  name: text('name').notNull(),
  email: text('email'),
  /** Time of the user's suspension, during which no credential works; null while not suspended. */
  suspendedAt: integer('suspended_at'),
});
