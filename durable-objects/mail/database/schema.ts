/**
 * The schema of one user's mailbox. Each room has its tables in its own `schema.ts`; the tables here belong to the mailbox as a
 * whole. Times are milliseconds since 1970 UTC unless a name says otherwise.
 *
 * Guarantees to clients, which JMAP (RFC 8621) requires too:
 * - **A message never changes under its id**, except folders, flags and labels. A draft keeps its message id, but for JMAP each
 * save makes a new email (`workers/mail/domain/email-id.ts`). A change record names the old email and the new one.
 * - **A message never changes its thread.** It joins the thread of its nearest known parent. Threads are never merged.
 * - **A message may be in several folders.** The table `message_folder` has one row for each. `message.folder` is the first folder;
 * `also_in` lists the others.
 * - **All types share one change log.** The state of every type is the number of its last change. A client with a state before
 * `state_floor` must reload everything. A change record says which folders a message left and whether its thread began or ended, so
 * `/changes` of every type can be answered from the log.
 *
 * Row writes dominate the price of mail: an insert costs one row, and one more for each index with an entry for it. So tables with
 * a text key are WITHOUT ROWID (`drizzle.config.ts`), and each index says what it is for.
 *
 * `position` is a message's time of arrival in microseconds since 1970, made unique within the mailbox. It is the row id, so the
 * table is in order of time. The public id of a message (a TIMEUUID) contains the same time, so an id finds its row without an
 * index.
 *
 * The full-text index (`message_search`, FTS5) has the same row ids. It can be rebuilt from the messages. `search-index-store.ts`
 * creates it, because drizzle has no virtual tables.
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** One row about the mailbox as a whole. It does not store the used bytes, which are the sum over `folder` and `upload`. */
export const mailbox = sqliteTable('mailbox', {
  id: integer('id').primaryKey(),
  userId: text('user_id').notNull(),
  accountType: text('account_type').notNull(),
  limitBytes: integer('limit_bytes').notNull(),
  /** Number of the last change that was pruned. A client with an older state must reload everything. */
  stateFloor: integer('state_floor').notNull().default(0),
  /** Settings of the user as JSON, such as signature and vacation reply. */
  settings: text('settings').notNull().default('{}'),
  /** JSON: recipients of the last hour and day, and the mailbox's shares of its domains' limits (`send-limit-store.ts`). */
  sending: text('sending').notNull().default('{}'),
  /** Number of accepted messages that could not be stored. */
  refused: integer('refused').notNull().default(0),
  /** JSON of the totals of incoming mail that the operator's tables have, with the time of their publication. */
  publishedLedger: text('published_ledger'),
  /** Number of the change at which the search index was last merged. */
  tidiedState: integer('tidied_state').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  /** UIDVALIDITY of all folders; null for the second in which the mailbox was created. */
  uidValidity: integer('uid_validity'),
});

/** The change log: one number per change, assigned in the transaction that makes it. The newest row is never deleted. */
export const change = sqliteTable('change', {
  state: integer('state').primaryKey(),
  changedAt: integer('changed_at').notNull(),
  /** JSON of the change, as clients receive it. */
  body: text('body').notNull(),
});

/** R2 keys that no message uses any more. The alarm deletes their objects in every location. */
export const garbage = sqliteTable('garbage', {
  r2Key: text('r2_key').primaryKey(),
  since: integer('since').notNull(),
});
