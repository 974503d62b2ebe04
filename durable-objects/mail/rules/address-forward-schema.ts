/** Addresses of the account whose mail is forwarded. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const addressForward = sqliteTable('address_forward', {
  /** An address or wildcard of the account, in lower case. */
  email: text('email').primaryKey(),
  /** JSON list of forward targets. Only confirmed targets are used. */
  targets: text('targets').notNull(),
  /** 1: the mailbox keeps a copy. 0: a message is erased once its forwards are in the outbox. */
  keepsCopy: integer('keeps_copy').notNull(),
});
