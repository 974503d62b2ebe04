/** Tables of one shard of one season. Times are milliseconds since 1970 UTC; `reached` is in microseconds. */
import { blob, index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The shard's name and state: one row with the id 1. */
export const board = sqliteTable('board', {
  id: integer('id').primaryKey(),
  season: text('season').notNull(),
  shard: integer('shard').notNull(),
  shards: integer('shards').notNull(),
  /** Time at which the shard was sealed; null while scores are accepted. */
  sealedAt: integer('sealed_at'),
  /** Number of the last log entry whose changes are in the stored pages. */
  checkpoint: integer('checkpoint').notNull().default(0),
  /** The newest rules of the board that a post brought, as JSON (`BoardRules`); null while those of the season's name hold. */
  rules: text('rules'),
  /** Number of players in the pages of `sealed_page`; null before they are written. */
  sealedPlayers: integer('sealed_players'),
  /** Number of the last copy in R2 that was begun. A location whose copy has a higher number is not overwritten. */
  copies: integer('copies').notNull().default(0),
  /** 1 once `player_name` has all players, from the first search by name on. */
  hasNames: integer('has_names').notNull().default(0),
});

/** Ids and names of players. `slot` is the row id, which pages store instead of the user id. */
export const player = sqliteTable('player', {
  slot: integer('slot').primaryKey(),
  userId: text('user_id').notNull().unique(),
  userName: text('user_name'),
});

/** Names of players for searches, folded: lower case, in one form of Unicode. Only a shard that was searched has them. */
export const playerName = sqliteTable(
  'player_name',
  { slot: integer('slot').primaryKey(), name: text('name').notNull() },
  (table) => [index('player_name_by_name').on(table.name)],
);

/** Players that an operator has hidden, with their scores. Score pages omit them. */
export const hidden = sqliteTable('hidden', {
  slot: integer('slot').primaryKey(),
  score: real('score').notNull(),
  reached: real('reached').notNull(),
});

/**
 * Points that players got in a day, on boards with a maximum per day. Kept apart from the log, so that boards without one do not pay
 * for it.
 */
export const dayPoints = sqliteTable('day_points', {
  slot: integer('slot').primaryKey(),
  /** The player's last day with points: days of UTC since 1970. */
  day: integer('day').notNull(),
  points: integer('points').notNull(),
});

/** Data of the scores that count, on boards that keep data. */
export const entryData = sqliteTable('entry_data', {
  slot: integer('slot').primaryKey(),
  /** JSON text. */
  data: text('data').notNull(),
});

/** Times of the last posts of players, on boards with plays or with a minimum time between posts. */
export const lastPost = sqliteTable('last_post', {
  slot: integer('slot').primaryKey(),
  at: integer('at').notNull(),
});

/** Score and time of 4,096 players by slot, as of the checkpoint. Format: durable-objects/leaderboard/domain/slot-keys.ts */
export const scorePage = sqliteTable('score_page', {
  id: integer('id').primaryKey(),
  keys: blob('keys').notNull(),
});

/** The list of a sealed shard in list order, 4,096 players per row: durable-objects/leaderboard/shard/sealed-index.ts */
export const sealedPage = sqliteTable(
  'sealed_page',
  {
    /** Number of players before the page. */
    place: integer('place').primaryKey(),
    /** Score and time of the first player. */
    score: real('score').notNull(),
    reached: real('reached').notNull(),
    /** Slots of the players, four bytes each. */
    slots: blob('slots').notNull(),
    /** Score and time of each player, eight bytes each. */
    keys: blob('keys').notNull(),
  },
  (table) => [index('sealed_page_by_key').on(table.score, table.reached)],
);

/** Events up to the checkpoint. Format: durable-objects/leaderboard/domain/event-page.ts */
export const eventPage = sqliteTable('event_page', {
  id: integer('id').primaryKey(),
  /** Time of the checkpoint that stored the page, in seconds since 1970. No event of the page is later. */
  at: integer('at').notNull(),
  /**
   * Slots of the players of all events, four bytes each. This is the first blob, because an erasure reads only this column of
   * most pages.
   */
  slots: blob('slots').notNull(),
  /** Filter words of all events, four bytes each. A restarted shard reads only this column to build its filter. */
  words: blob('words').notNull(),
  records: blob('records').notNull(),
  /** JSON list: the player's name at each event, null if it was the user id. Null if every name was the user id. */
  userNames: text('user_names'),
});

/**
 * Commits since the checkpoint. After a checkpoint, new commits overwrite the old rows, which were not deleted. So a commit costs
 * one written row.
 */
export const log = sqliteTable('log', {
  place: integer('place').primaryKey(),
  /** Number of the commit; it increases with each. Rows with a number up to `board.checkpoint` are out of date. */
  number: integer('number').notNull(),
  /** Slot, score and time of each player whom the commit changed, eight bytes each. The score is −1 if the player is not listed. */
  moves: blob('moves').notNull(),
  slots: blob('slots').notNull(),
  records: blob('records').notNull(),
  userNames: text('user_names'),
});
