/** The leaderboard's table in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const season = sqliteTable('season', {
  /** `YYYY-MM` */
  season: text('season').primaryKey(),
  /** Fixed for the season: the shard of a player depends on it. */
  shards: integer('shards').notNull(),
  createdAt: integer('created_at').notNull(),
  /** Prefix of the archive; null until it is verified and published. */
  archive: text('archive'),
  players: integer('players'),
  /** Largest number of players seen in the season. An archive with far fewer is not published. */
  playersSeen: integer('players_seen').notNull().default(0),
  closedAt: integer('closed_at'),
  /** When the objects were erased. Until then they answer retries of the season's events. */
  erasedAt: integer('erased_at'),
});
