/** The leaderboard's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { ScoreRules } from '../domain/score-rules.ts';
import type { Period } from '../domain/season-name.ts';

/** Boards that operators made. The board `default` has no row. */
export const board = sqliteTable('board', {
  board: text('board').primaryKey(),
  /** Its id in the names of its seasons: 8 hexadecimal digits. */
  id: text('id').notNull(),
  title: text('title').notNull(),
  sort: text('sort').notNull().$type<ScoreRules['sort']>(),
  operator: text('operator').notNull().$type<ScoreRules['operator']>(),
  period: text('period').notNull().$type<Period>(),
  isPublic: integer('is_public', { mode: 'boolean' }).notNull(),
  pointsMax: integer('points_max').notNull(),
  createdAt: integer('created_at').notNull(),
  /** Cron erases the seasons of a deleted board, then this row. */
  deletedAt: integer('deleted_at'),
});

export const season = sqliteTable(
  'season',
  {
    /** workers/leaderboard/domain/season-name.ts */
    season: text('season').primaryKey(),
    /** The reference of its board; '' for `default`. */
    board: text('board').notNull(),
    endsAt: integer('ends_at').notNull(),
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
  },
  (table) => [index('season_by_board').on(table.board, table.season)],
);
