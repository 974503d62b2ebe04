/** One shard of one season. Times are milliseconds since 1970 UTC, `reached` is in microseconds. */
import { blob, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The shard's name and state. One row with the id 1. */
export const board = sqliteTable('board', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shard: integer('shard').notNull(),
  shards: integer('shards').notNull(),
  /** Null while scores are accepted. */
  sealedAt: integer('sealed_at'),
  /** The last entry of the log that is in the pages. */
  checkpoint: integer('checkpoint').notNull().default(0),
});

/** Ids and names. The slot is the row id; pages store it instead of the user id. */
export const player = sqliteTable('player', {
  slot: integer('slot').primaryKey(),
  userId: text('user_id').notNull().unique(),
  userName: text('user_name'),
});

/** Players that an operator has hidden, with their scores. They are in no page. */
export const hidden = sqliteTable('hidden', {
  slot: integer('slot').primaryKey(),
  score: real('score').notNull(),
  reached: real('reached').notNull(),
});

/** Score and time of 4,096 slots as of the checkpoint: workers/leaderboard/domain/slot-keys.ts */
export const scorePage = sqliteTable('score_page', {
  id: integer('id').primaryKey(),
  keys: blob('keys').notNull(),
});

/** Events up to the checkpoint: workers/leaderboard/domain/event-page.ts */
export const eventPage = sqliteTable('event_page', {
  id: integer('id').primaryKey(),
  /** Seconds since 1970; no event is later. */
  at: integer('at').notNull(),
  /** Of each event, four bytes each. The first blob, because an erasure reads only this column of most pages. */
  slots: blob('slots').notNull(),
  /** Of each event, four bytes each. A restarted shard reads only this column to build its filter. */
  words: blob('words').notNull(),
  records: blob('records').notNull(),
  /** JSON: the player's name at each event, null if it is the user id. Null if all are. */
  userNames: text('user_names'),
});

/**
 * Commits since the checkpoint. After a checkpoint the rows are overwritten instead of deleted, so that a commit costs one row
 * written.
 */
export const log = sqliteTable('log', {
  place: integer('place').primaryKey(),
  /** Increases with each commit. Rows up to the checkpoint are out of date. */
  number: integer('number').notNull(),
  /** Slot, score and time of each changed player, eight bytes each. The score is −1 if the player is not listed. */
  moves: blob('moves').notNull(),
  slots: blob('slots').notNull(),
  records: blob('records').notNull(),
  userNames: text('user_names'),
});
