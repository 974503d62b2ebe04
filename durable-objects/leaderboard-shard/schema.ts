/** One shard of one season. Times are milliseconds since 1970 UTC, `reached` is in microseconds. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The shard's own name and state; its one row has the id 1. */
export const board = sqliteTable('board', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shard: integer('shard').notNull(),
  shards: integer('shards').notNull(),
  /** Null while scores are taken. */
  sealedAt: integer('sealed_at'),
});

/**
 * A score is one row written: the player's events stand beside it. The columns that a rebuild reads come first; the slot is
 * the row id, which the ordered index keeps in place of the user id.
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

/** Events that do not stand beside their player: a transaction's, when they were many, and old ones of busy players. */
export const eventPage = sqliteTable('event_page', {
  id: integer('id').primaryKey(),
  /** Seconds since 1970. */
  at: integer('at').notNull(),
  /** Whose each event is: four bytes a slot. First of the blobs, because an erasure reads nothing else of most pages. */
  slots: blob('slots').notNull(),
  events: blob('events').notNull(),
  /** JSON: the player's name at each event, null where that is the user id; null when all are. */
  userNames: text('user_names'),
});
