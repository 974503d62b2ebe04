/** One shard of one season. Times are milliseconds since 1970 UTC, `reached` is in microseconds. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The shard's name and state. One row with the id 1. */
export const board = sqliteTable('board', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shard: integer('shard').notNull(),
  shards: integer('shards').notNull(),
  /** Null while scores are accepted. */
  sealedAt: integer('sealed_at'),
});

/**
 * A score writes one row, which also contains the player's events. The columns that a rebuild reads come first. The
 * slot is the row id; the ordered index stores it instead of the user id.
 */
export const player = sqliteTable('player', {
  slot: integer('slot').primaryKey(),
  score: integer('score').notNull(),
  reached: integer('reached').notNull(),
  isHidden: integer('is_hidden').notNull().default(0),
  userId: text('user_id').notNull().unique(),
  userName: text('user_name'),
  /** Packed records: workers/leaderboard/domain/event-log.ts */
  events: blob('events'),
});

/** Events that are not in their player's row: those of large transactions, and old ones of busy players. */
export const eventPage = sqliteTable('event_page', {
  id: integer('id').primaryKey(),
  /** Seconds since 1970. */
  at: integer('at').notNull(),
  /**
   * The slot of each event, four bytes each. The first blob, because an erasure reads only this column of most pages.
   */
  slots: blob('slots').notNull(),
  events: blob('events').notNull(),
  /** JSON: the player's name at each event, null if it is the user id. Null if all are. */
  userNames: text('user_names'),
});
