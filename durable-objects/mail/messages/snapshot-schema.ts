/** Records the pages of the last snapshot in R2, from which a lost mailbox is rebuilt. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row per page of messages, and one row `folders`. */
export const snapshot = sqliteTable('snapshot', {
  page: text('page').primaryKey(),
  r2Key: text('r2_key').notNull(),
  /** SHA-256 of the page's bytes. A page that has not changed is not written again. */
  sha256: text('sha256').notNull(),
  /** Number of the last change that the snapshot includes. It is kept up to date only in the row `folders`. */
  state: integer('state').notNull(),
});
