/** Addresses of the account whose mail is forwarded. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const addressForward = sqliteTable('address_forward', {
  /** An address or a wildcard of the account, lower-cased. */
  email: text('email').primaryKey(),
  /** JSON list of forward targets. Only confirmed ones are used. */
  targets: text('targets').notNull(),
  /** 0: the message is erased once its forwards are in the outbox. */
  keepsCopy: integer('keeps_copy').notNull(),
});
