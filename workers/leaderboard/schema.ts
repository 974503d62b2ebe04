/** The leaderboard's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const season = sqliteTable('season', {
  /** `YYYY-MM` */
  season: text('season').primaryKey(),
  /** Fixed for the season: a player's shard follows from it. */
  shards: integer('shards').notNull(),
  createdAt: integer('created_at').notNull(),
  /** Where the archive is; null until it is verified and published. */
  archive: text('archive'),
  players: integer('players'),
  /** The most players that the season was ever seen with: an archive with far fewer is not published. */
  playersSeen: integer('players_seen').notNull().default(0),
  closedAt: integer('closed_at'),
  /** When the objects were erased; until then they still know the season's event ids. */
  erasedAt: integer('erased_at'),
});

/** What operators changed by hand, and why. */
export const scoreCorrection = sqliteTable(
  'score_correction',
  {
    correctionId: text('correction_id').primaryKey(),
    season: text('season').notNull(),
    userId: text('user_id').notNull(),
    at: integer('at').notNull(),
    /** `root`, or the id of the admin token. */
    operator: text('operator').notNull(),
    /** JSON: what was asked for. */
    change: text('change').notNull(),
    reason: text('reason').notNull(),
  },
  (table) => [index('score_correction_user').on(table.userId, table.at)],
);
