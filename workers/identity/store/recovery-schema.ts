/** Identity's tables in DIRECTORY for account recovery. Times are milliseconds since 1970 UTC. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { user } from './schema.ts';

/**
 * Secrets that work once: links that reset a password, codes that were mailed, WebAuthn challenges. Only the SHA-256 of purpose and
 * secret is stored. Expired rows are deleted daily.
 */
export const oneTimeSecret = sqliteTable(
  'one_time_secret',
  {
    secretSha256: text('secret_sha256').primaryKey(),
    purpose: text('purpose').notNull(),
    /** User to whom the secret belongs. Null for a login by passkey, where only the device's answer names the user. */
    userId: text('user_id').references(() => user.userId, { onDelete: 'cascade' }),
    /** Text that the secret confirms, such as a recovery address. */
    detail: text('detail'),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    index('one_time_secret_user').on(table.userId, table.purpose),
    index('one_time_secret_expires').on(table.expiresAt),
  ],
);

/** Address for links and codes when the owner cannot log in. Only confirmed addresses are stored here, and removed ones for a while. */
export const recoveryAddress = sqliteTable('recovery_address', {
  userId: text('user_id')
    .primaryKey()
    .references(() => user.userId, { onDelete: 'cascade' }),
  /** The recovery address, in lower case; empty after its removal. */
  email: text('email').notNull(),
  confirmedAt: integer('confirmed_at').notNull(),
  /** Time from which `email` counts. Until then the former address does, so that a thief cannot take the account by it. */
  worksFrom: integer('works_from').notNull().default(0),
  /** The address that counted before; null if there was none. */
  formerEmail: text('former_email'),
});
