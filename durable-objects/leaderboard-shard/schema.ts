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
  /** Whether older events of the last 49 hours stand in `event`. */
  isSpilled: integer('is_spilled').notNull().default(0),
  userId: text('user_id').notNull().unique(),
  userName: text('user_name'),
  /** Packed records: workers/leaderboard/domain/event-log.ts */
  events: blob('events'),
});

/** Events of players with more than 32 in 49 hours. The id is 53 bits of a hash of player and event, probed upwards. */
export const event = sqliteTable('event', {
  id: integer('id').primaryKey(),
  slot: integer('slot').notNull(),
  hash: blob('hash').notNull(),
  userName: text('user_name'),
  points: integer('points').notNull(),
  score: integer('score').notNull(),
  rank: integer('rank').notNull(),
  at: integer('at').notNull(),
});
