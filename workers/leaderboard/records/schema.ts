/** The leaderboard's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { blob, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { LogoType } from '../domain/board-logo.ts';
import type { ScoreRules } from '../domain/score-rules.ts';
import type { Period } from '../domain/season-name.ts';

/** Boards that operators created. `default` has a row once it has a title or a logo; nothing else of that row is read. */
export const board = sqliteTable('board', {
  board: text('board').primaryKey(),
  /** 8 hexadecimal digits, used in the names of the board's seasons. */
  id: text('id').notNull(),
  title: text('title').notNull(),
  sort: text('sort').notNull().$type<ScoreRules['sort']>(),
  operator: text('operator').notNull().$type<ScoreRules['operator']>(),
  period: text('period').notNull().$type<Period>(),
  isPublic: integer('is_public', { mode: 'boolean' }).notNull(),
  pointsMax: integer('points_max').notNull(),
  /** The hash of its logo, whose bytes are in `board_logo`. */
  logo: text('logo'),
  createdAt: integer('created_at').notNull(),
  /** Cron erases the seasons of a deleted board, then this row. */
  deletedAt: integer('deleted_at'),
});

export const boardLogo = sqliteTable('board_logo', {
  board: text('board').primaryKey(),
  /** The first 8 bytes of its SHA-256, in hexadecimal. */
  hash: text('hash').notNull(),
  type: text('type').notNull().$type<LogoType>(),
  image: blob('image', { mode: 'buffer' }).notNull().$type<Uint8Array>(),
});

export const season = sqliteTable(
  'season',
  {
    /** workers/leaderboard/domain/season-name.ts */
    season: text('season').primaryKey(),
    /** The reference of the season's board; '' for `default`. */
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
    /** When cron next has work for the season: prepares the next one, closes it, erases its objects. Null if no work is left. */
    dueAt: integer('due_at'),
    /** The time since which a part of the season does not answer. Health probes these seasons. */
    silentAt: integer('silent_at'),
  },
  (table) => [
    index('season_by_board').on(table.board, table.season),
    index('season_by_due').on(table.dueAt),
    index('season_by_silence').on(table.silentAt).where(sql`silent_at IS NOT NULL`),
  ],
);

/** The URL that receives a notice at the end of each season of a board. */
export const boardWebhook = sqliteTable('board_webhook', {
  /** The name of a board, or `default`. */
  board: text('board').primaryKey(),
  url: text('url').notNull(),
  /** Sealed JSON: `WebhookSecrets` of workers/leaderboard/webhooks.ts. */
  secretsSealed: text('secrets_sealed').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Ends of seasons that the receiver has not accepted yet. */
export const seasonNotice = sqliteTable(
  'season_notice',
  {
    season: text('season').primaryKey(),
    /** The key of `board_webhook`. */
    board: text('board').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Number of attempts: failed ones and the current one. */
    attempts: integer('attempts').notNull().default(0),
    dueAt: integer('due_at').notNull(),
    /** HTTP status of the receiver's last answer; null if it has not answered. */
    status: integer('status'),
  },
  (table) => [index('season_notice_by_due').on(table.dueAt), index('season_notice_by_board').on(table.board)],
);
