/** The leaderboard's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { LogoType } from '../domain/board-logo.ts';
import type { ScheduleRules } from '../domain/schedule.ts';
import type { ScoreRules } from '../domain/score-rules.ts';
import type { Period } from '../domain/season-name.ts';
import type { Breach, SessionRules } from '../domain/session-rules.ts';

/**
 * Boards that operators created. `default` has a row only once it has a title or a logo; of its other columns only `seasons_kept` is
 * read.
 */
export const board = sqliteTable(
  'board',
  {
    board: text('board').primaryKey(),
    /** 8 hexadecimal digits, which are part of the names of the board's seasons. */
    id: text('id').notNull(),
    title: text('title').notNull(),
    sort: text('sort').notNull().$type<ScoreRules['sort']>(),
    operator: text('operator').notNull().$type<ScoreRules['operator']>(),
    period: text('period').notNull().$type<Period>(),
    isPublic: integer('is_public', { mode: 'boolean' }).notNull(),
    pointsMax: integer('points_max').notNull(),
    /** Maximum of points that a player gets in a day of UTC, from `rules_from` on; null without a limit. */
    pointsPerDayMax: integer('points_per_day_max'),
    /** The limit before `rules_from`. */
    pointsPerDayBefore: integer('points_per_day_before'),
    /** Time from which `points_per_day_max` holds; 0 if it never changed. */
    rulesFrom: integer('rules_from').notNull().default(0),
    /** Number of past seasons that are kept; null for all. It holds for `default`, too. */
    seasonsKept: integer('seasons_kept'),
    /** Whether scores may be negative. It never changes. */
    isSigned: integer('is_signed', { mode: 'boolean' }).notNull().default(false),
    /** Decimals with which pages show scores. */
    decimals: integer('decimals').notNull().default(0),
    /** Rules of plays as JSON (`SessionRules`); null for a board that takes scores from game servers only. */
    sessions: text('sessions', { mode: 'json' }).$type<SessionRules>(),
    /** Maximum length of the data of an entry in bytes of JSON; null for a board without data. */
    dataBytesMax: integer('data_bytes_max'),
    /** Minimum of seconds between two posts of a player; null without one. */
    secondsBetween: integer('seconds_between'),
    /** The periods of a board whose period is `custom`, as JSON. They never change. */
    schedule: text('schedule', { mode: 'json' }).$type<ScheduleRules>(),
    /** Times of resets as JSON, in ascending order. The last one may be some seconds ahead. */
    resets: text('resets', { mode: 'json' }).$type<readonly number[]>(),
    /** Whether everyone may search its players by name. It holds for `default`, too. */
    findsNames: integer('finds_names', { mode: 'boolean' }).notNull().default(false),
    /** Number of shards of its next seasons; null for `LEADERBOARD_SHARDS`. */
    shards: integer('shards'),
    /** Beginning of the names of boards that a first post makes with the rules of this one; null if it makes none. */
    makes: text('makes'),
    /** Hash of the board's logo, whose bytes are in `board_logo`; null without a logo. */
    logo: text('logo'),
    createdAt: integer('created_at').notNull(),
    /** Time at which 0.2.0 deleted the board. Its row then moves to `deleted_board`. */
    deletedAt: integer('deleted_at'),
  },
  (table) => [index('board_by_makes').on(table.makes).where(sql`makes IS NOT NULL`)],
);

/** Boards that were deleted, until cron has erased their seasons. Their names may be in use again. */
export const deletedBoard = sqliteTable(
  'deleted_board',
  {
    /** Reference of the board. */
    ref: text('ref').primaryKey(),
    /** Its name. */
    board: text('board').notNull(),
    deletedAt: integer('deleted_at').notNull(),
    /** Time until which an isolate may still post to it, because not all its shards were sealed; null if they were. */
    openUntil: integer('open_until'),
  },
  (table) => [index('deleted_board_by_name').on(table.board), index('deleted_board_by_time').on(table.deletedAt)],
);

export const boardLogo = sqliteTable('board_logo', {
  board: text('board').primaryKey(),
  /** Hash of the logo: the first 8 bytes of its SHA-256, in hexadecimal. */
  hash: text('hash').notNull(),
  type: text('type').notNull().$type<LogoType>(),
  image: blob('image', { mode: 'buffer' }).notNull().$type<Uint8Array>(),
});

export const season = sqliteTable(
  'season',
  {
    /** Name of the season (workers/leaderboard/domain/season-name.ts). */
    season: text('season').primaryKey(),
    /** Reference of the season's board; '' for `default`. */
    board: text('board').notNull(),
    endsAt: integer('ends_at').notNull(),
    /** Number of shards. It never changes in a season, because the shard of a player depends on it. */
    shards: integer('shards').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Prefix of the season's archive, if 0.2.0 archived it. */
    archive: text('archive'),
    players: integer('players'),
    /** Numbers of the shards that a final season lacks, as JSON; null if it has all. */
    without: text('without'),
    /** Largest number of players seen in the season. With far fewer players it does not become final. */
    playersSeen: integer('players_seen').notNull().default(0),
    /** Time at which the season became final; null before. */
    closedAt: integer('closed_at'),
    /** Time at which the objects of an archived season were erased. */
    erasedAt: integer('erased_at'),
    /**
     * Time at which cron next has work for the season: prepare the next season, or close this one. Null if no work is left.
     */
    dueAt: integer('due_at'),
    /** Time since which a part of the season does not answer; null if all do. The health check probes such seasons. */
    silentAt: integer('silent_at'),
  },
  (table) => [
    index('season_by_board').on(table.board, table.season),
    index('season_by_due').on(table.dueAt),
    index('season_by_silence').on(table.silentAt).where(sql`silent_at IS NOT NULL`),
    index('season_by_lack').on(table.season).where(sql`without IS NOT NULL`),
  ],
);

/** Erasures of players: durable tasks, which cron repeats for the seasons that wait. */
export const playerErasure = sqliteTable(
  'player_erasure',
  {
    erasure: text('erasure').primaryKey(),
    /** Reference of the board; '' for `default`. */
    board: text('board').notNull(),
    /** The player; '' once the erasure is finished. */
    userId: text('user_id').notNull(),
    /** Name of the only season; null for all seasons of the board. */
    season: text('season'),
    /** Names of the seasons that are left, as JSON; null before the first run is over. */
    waiting: text('waiting'),
    /** Whether the player was found in a season. */
    isFound: integer('is_found', { mode: 'boolean' }).notNull(),
    attempts: integer('attempts').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Time of the next run; null once it is finished. */
    dueAt: integer('due_at'),
    finishedAt: integer('finished_at'),
  },
  (table) => [
    index('player_erasure_by_due').on(table.dueAt).where(sql`due_at IS NOT NULL`),
    index('player_erasure_by_end').on(table.finishedAt).where(sql`finished_at IS NOT NULL`),
  ],
);

/** Results of plays that wait for an operator, or were decided within the last 30 days. A play has at most one. */
export const quarantinedResult = sqliteTable(
  'quarantined_result',
  {
    /** Id of the play, which begins with its time. */
    play: text('play').primaryKey(),
    /** Reference of the board. */
    board: text('board').notNull(),
    userId: text('user_id').notNull(),
    userName: text('user_name'),
    points: integer('points').notNull(),
    /** Data of the result as JSON text; null without data. */
    data: text('data'),
    breach: text('breach').notNull().$type<Breach>(),
    startedAt: integer('started_at').notNull(),
    createdAt: integer('created_at').notNull(),
    state: text('state').notNull().$type<'waiting' | 'accepted' | 'refused'>(),
    decidedAt: integer('decided_at'),
  },
  (table) => [
    index('quarantined_result_by_state').on(table.board, table.state, table.play),
    index('quarantined_result_by_player').on(table.board, table.userId),
    index('quarantined_result_by_end').on(table.decidedAt).where(sql`decided_at IS NOT NULL`),
  ],
);

/** Players who may not begin plays on a board. */
export const bannedPlayer = sqliteTable(
  'banned_player',
  {
    /** Reference of the board. */
    board: text('board').notNull(),
    userId: text('user_id').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.board, table.userId] })],
);

/** Webhooks of boards, which receive a notice at the end of each season. */
export const boardWebhook = sqliteTable('board_webhook', {
  /** Name of the board, which may be `default`. */
  board: text('board').primaryKey(),
  url: text('url').notNull(),
  /** Secrets of the webhook as sealed JSON: `WebhookSecrets` of workers/leaderboard/boards/webhooks.ts. */
  secretsSealed: text('secrets_sealed').notNull(),
  createdAt: integer('created_at').notNull(),
});

/** Notices of ended seasons that their receiver has not accepted yet. */
export const seasonNotice = sqliteTable(
  'season_notice',
  {
    season: text('season').primaryKey(),
    /** Name of the board, the key of `board_webhook`. */
    board: text('board').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Number of attempts to send the notice, including one in progress. */
    attempts: integer('attempts').notNull().default(0),
    dueAt: integer('due_at').notNull(),
    /** HTTP status of the receiver's last answer; null if it never answered. */
    status: integer('status'),
  },
  (table) => [index('season_notice_by_due').on(table.dueAt), index('season_notice_by_board').on(table.board)],
);
