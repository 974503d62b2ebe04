/**
 * The schema of one user's mailbox. Each room has its tables in its own `schema.ts`; those here belong to the mailbox as a whole.
 * Times are milliseconds since 1970 UTC unless a name says otherwise.
 *
 * Guarantees to clients, which JMAP (RFC 8621) requires too:
 * - **A message never changes under its id**, except folders, flags and labels. A draft keeps its id through all saves, but each
 * save makes it a new email for JMAP (`workers/mail/domain/email-id.ts`): a change record names the replaced email and the new one.
 * - **A message never changes its thread.** It joins the thread of its nearest parent that is known. Threads are never merged.
 * - **A message may be in several folders**: one row of `message_folder` for each. `message.folder` is the first; `also_in` has the
 * rest.
 * - **One change log for all types.** Its number is the state of each type. A client older than `state_floor` must reload
 * everything. A record says which folders a message left and whether its thread began or ended, so `changes` of every type can be
 * answered from it.
 *
 * Row writes dominate the price of mail: an insert costs one row, and one more for each index that gets an entry. So tables with a
 * text key are WITHOUT ROWID (`drizzle.config.ts`), and each index says what it is for.
 *
 * `position` is the time of a message's arrival in microseconds since 1970, made unique in the mailbox. It is the row id, so the
 * table is in order of time. The public id (a TIMEUUID) contains the same time, so an id finds its row without an index. The
 * full-text index (`message_search`, FTS5) has the same row ids. It is derived; `search-index-store.ts` creates it because drizzle
 * has no virtual tables.
 */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The one row about the mailbox as a whole. The used bytes are the sum over `folder` and `upload`. */
export const mailbox = sqliteTable('mailbox', {
  id: integer('id').primaryKey(),
  userId: text('user_id').notNull(),
  accountType: text('account_type').notNull(),
  limitBytes: integer('limit_bytes').notNull(),
  /** Changes up to this number were pruned: a client with an older state must reload everything. */
  stateFloor: integer('state_floor').notNull().default(0),
  /** JSON: signature, vacation. */
  settings: text('settings').notNull().default('{}'),
  /** JSON: what the account sent in the last hour and day, and its shares of its domains' limits (`send-limit-store.ts`). */
  sending: text('sending').notNull().default('{}'),
  /** Number of accepted messages that could not be stored. */
  refused: integer('refused').notNull().default(0),
  /** JSON of the totals of incoming mail that the operator's tables have, with the time of their publication. */
  publishedLedger: text('published_ledger'),
  /** The change at which the search index was last merged. */
  tidiedState: integer('tidied_state').notNull().default(0),
  createdAt: integer('created_at').notNull(),
});

/** The change log: one number per change, assigned in the transaction that makes it. The newest row is never deleted. */
export const change = sqliteTable('change', {
  state: integer('state').primaryKey(),
  changedAt: integer('changed_at').notNull(),
  /** JSON, as clients receive it. */
  body: text('body').notNull(),
});

/** R2 keys without an owner. The alarm deletes the objects in every location. */
export const garbage = sqliteTable('garbage', {
  r2Key: text('r2_key').primaryKey(),
  since: integer('since').notNull(),
});
