/** The pages of the last snapshot, from which a lost mailbox is rebuilt. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row per page, and the row `folders`. */
export const snapshot = sqliteTable('snapshot', {
  page: text('page').primaryKey(),
  r2Key: text('r2_key').notNull(),
  /** Hash of the page's bytes. A page that has not changed is not written again. */
  sha256: text('sha256').notNull(),
  /** Number of the last change that the snapshot has. Only the row `folders` is kept up to date. */
  state: integer('state').notNull(),
});
