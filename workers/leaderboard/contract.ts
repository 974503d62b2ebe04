/** Schemas of the leaderboard API. They validate requests and generate the API reference. */
import { z } from '@hono/zod-openapi';
import { BOARD_POINTS_MAX, POINTS_MAX, SIGNED_POINTS_MIN } from '../../durable-objects/leaderboard/protocol.ts';
import { displayNameSchema } from '../shared/json/display-name.ts';
import { RANGES_MAX } from './domain/distribution.ts';
import { OPERATORS, SORTS } from './domain/score-rules.ts';
import { PERIODS, type Period, parsePeriod } from './domain/season-name.ts';
import { scheduleSchema } from './schedule-contract.ts';

/** Maximum length of the data of an entry, in bytes of JSON. */
export const DATA_BYTES_MAX = 1_024;
export const BATCH_UPDATES_MAX = 1_000;
export const TOP_LIMIT_DEFAULT = 10;
export const TOP_LIMIT_MAX = 100;
export const RADIUS_DEFAULT = 4;
export const RADIUS_MAX = 50;
export const RANGES_DEFAULT = 20;
export const SCORE_BODY_BYTES_MAX = 16 * 1024;
export const BATCH_BODY_BYTES_MAX = 2 * 1024 * 1024;

const asOfSchema = z.string().openapi({ format: 'date-time' });

/** Schema of a text with a maximum length in characters, not UTF-16 units. Rejects control characters and unpaired surrogates. */
export const textOf = (max: number) =>
  z
    .string()
    .refine(
      (text) => text.length > 0 && (text.length <= max || [...text].length <= max),
      `must have 1 to ${max} characters`,
    )
    .refine(
      (text) => text.isWellFormed() && !/\p{Cc}/u.test(text),
      'must not have control characters or broken characters',
    )
    .openapi({ type: 'string', minLength: 1, maxLength: max });

/** Not `.` or `..`: no URL has them as a part of its path. */
export const USER_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:@-]{1,64}$/;

export const userIdSchema = z
  .string()
  .regex(USER_ID, 'must be 1 to 64 characters of A-Z a-z 0-9 . _ : @ -, not . or ..')
  .openapi({ example: 'player-7f3a' });

/** Whether a label is that of a whole period of a calendar. */
const isCalendar = (label: string, period: Period): boolean => {
  const parsed = parsePeriod(label);
  return parsed?.period === period && parsed.resetAt === undefined;
};

/** Schema of a season's label. @param period period of the board; any period if omitted. */
export const seasonSchemaOf = (period?: Period) =>
  z
    .string()
    .refine(
      (label) => (period === undefined ? parsePeriod(label) !== null : isCalendar(label, period)),
      period === 'month'
        ? 'a month as YYYY-MM'
        : 'YYYY-MM, YYYY-Www, YYYY-MM-DD, all, or a name of the list of seasons',
    )
    .openapi(
      period === 'month'
        ? { type: 'string', pattern: '^\\d{4}-(0[1-9]|1[0-2])$', example: '2026-11' }
        : {
            type: 'string',
            pattern: '^(\\d{4}-(\\d\\d(-\\d\\d)?|W\\d\\d)|all|\\d{8}T\\d{6}Z--\\d{8}T\\d{6}Z)(\\.\\d{8}T\\d{6}Z)?$',
            example: '2026-W47',
            description:
              'A month, a week of ISO 8601, a day, `all` for a board without periods, or start and end. After a reset, `.` and its time follow. All in UTC',
          },
    );

/** Data of an entry: any JSON of at most 1 KB. The board has the limit. */
export const dataSchema = z.unknown().openapi({
  description:
    'JSON that is kept with the score that counts, such as the car or the build. At most `max_data_bytes` of the board',
});

/** Points of any board. Only boards with negative scores take them below zero, and none above `max_points_per_post`. */
export const boardPointsSchema = z.int().min(SIGNED_POINTS_MIN).max(BOARD_POINTS_MAX);

export const updateSchemaOf = (pointsMax: number, period?: Period) =>
  z.strictObject({
    user_id: userIdSchema,
    points: period === undefined ? boardPointsSchema : z.int().min(0).max(pointsMax),
    user_name: displayNameSchema(textOf(64)).optional(),
    event_id: textOf(128).optional().openapi({
      description:
        'Of this player. A repeat returns the first result for at least 48 hours; with other points it is 409',
    }),
    season: seasonSchemaOf(period).optional(),
    // The board `default` keeps no data.
    ...(period === undefined ? { data: dataSchema.optional() } : {}),
  });
export type UpdateJson = z.infer<ReturnType<typeof updateSchemaOf>>;

/** Schema of a batch of updates. @param update name of the OpenAPI component of an update. */
export const batchSchemaOf = (update: string) =>
  z.strictObject({
    updates: z
      .array(z.unknown())
      .min(1)
      .max(BATCH_UPDATES_MAX)
      .openapi({ type: 'array', items: { $ref: `#/components/schemas/${update}` } }),
  });

export const boardNameSchema = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/, '1 to 32 characters of a-z 0-9 and -, none of them - at an end')
  .openapi({ example: 'races' });
/** Beginning of the names of boards. */
export const boardPrefixSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,30}$/, '1 to 31 characters of a-z 0-9 and -, not - at the beginning');
export const logoPath = (board: string, hash: string): string => `/v1/boards/${board}/logo/${hash}`;
export const boardParamsSchema = z.object({ board: boardNameSchema });

const ORIGIN = /^(?:https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|http:\/\/(?:localhost|127\.0\.0\.1))(?::\d{1,5})?$/;

/** Rules of plays. A result that breaks one waits in the quarantine. */
export const sessionRulesSchema = z
  .strictObject({
    origins: z
      .array(z.string().max(200).regex(ORIGIN, 'must be an origin, such as https://game.example.com'))
      .max(20)
      .default([])
      .openapi({ description: 'Origins of the pages that may begin plays. No page of another origin may' }),
    least_seconds: z
      .int()
      .min(0)
      .max(86_400)
      .default(0)
      .openapi({ description: 'From the begin of a play to its result' }),
    least_points: boardPointsSchema.default(0),
    most_points: boardPointsSchema.nullable().default(null),
    most_points_per_second: z.number().positive().max(BOARD_POINTS_MAX).nullable().default(null),
    judged: z.boolean().default(false).openapi({
      description: 'Whether the webhook of the board judges each result that breaks no rule',
    }),
  })
  .openapi('SessionRules');

export const boardRulesSchema = z.strictObject({
  title: textOf(64).openapi({ example: 'Fastest laps' }),
  sort: z.enum(SORTS).openapi({ description: '`asc`: a lower score is better, as for race times' }),
  operator: z.enum(OPERATORS).openapi({ description: 'How the points of several posts make one score' }),
  period: z.enum(PERIODS).openapi({
    description: 'A season of the board. Weeks begin on Monday. All in UTC. `custom` needs `schedule`',
  }),
  schedule: scheduleSchema.nullable().default(null).openapi({
    description: 'Seasons of a chosen length, with the period `custom`. It never changes',
  }),
  public: z.boolean().openapi({ description: 'Whether everyone may read it' }),
  max_points_per_post: z.int().min(1).max(BOARD_POINTS_MAX).default(POINTS_MAX),
  negative: z.boolean().default(false).openapi({
    description: 'Whether points and scores may be negative. It never changes',
  }),
  decimals: z.int().min(0).max(6).default(0).openapi({
    description:
      'Decimals with which pages show scores: 2 shows 1234 as 12.34. Points and scores of the API stay integers',
  }),
  seconds_between_posts: z.int().min(1).max(86_400).nullable().default(null).openapi({
    description: 'Minimum of seconds between two posts of a player; null without one',
  }),
  max_data_bytes: z.int().min(1).max(DATA_BYTES_MAX).nullable().default(null).openapi({
    description: 'Maximum length of the data of an entry, in bytes of JSON; null for a board without data',
  }),
  sessions: z.enum(['off', 'required']).default('off').openapi({
    description: '`required`: pages may begin plays and send their results. Game servers may post in any case',
  }),
  session_rules: sessionRulesSchema.nullable().default(null).openapi({
    description: 'Rules of plays; null without sessions, or for the defaults',
  }),
  max_points_per_day: z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable().default(null).openapi({
    description: 'Maximum of points that a player gets in a day of UTC; null without a limit. Needs the operator `sum`',
  }),
  seasons_kept: z.int().min(1).max(10_000).nullable().default(null).openapi({
    description: 'Number of past seasons that are kept; null for all. Older ones are erased for good',
  }),
  find_by_name: z.boolean().default(false).openapi({
    description: 'Whether everyone may search its players by the beginning of their names',
  }),
  shards: z.int().min(1).max(256).optional().openapi({
    description:
      'Number of shards of the next seasons. Without it, a new board has 1, and an existing one is not changed',
  }),
  makes_boards: boardPrefixSchema.nullable().default(null).openapi({
    description:
      'A first post to a name that begins with this makes a board with the rules of this one, if the token has the scope `boards:create`',
    example: 'level-',
  }),
});
/** Schema of a change of the board `default`. Its rules never change, so they may be omitted. `seasons_kept` may change. */
export const defaultBoardSchema = boardRulesSchema
  .omit({ shards: true, makes_boards: true, schedule: true })
  .partial()
  .required({ title: true });
export const boardSchema = boardRulesSchema
  .extend({
    board: z.string().openapi({ example: 'races' }),
    logo: z.string().nullable().openapi({
      description: 'Path of its logo, which changes with the picture',
      example: '/v1/boards/races/logo/3f9c2d1e5b7a4860',
    }),
    max_points_per_day_from: asOfSchema.nullable().openapi({
      description: 'Time from which `max_points_per_day` holds: 30 seconds after a change. Null if it never changed',
    }),
    shards: z.int().openapi({ description: 'Number of shards of its next seasons' }),
    created_at: asOfSchema.nullable(),
  })
  .openapi('Board');

const minAsOfSchema = z.iso
  .datetime()
  .transform((time) => Date.parse(time))
  .optional()
  .openapi({
    type: 'string',
    format: 'date-time',
    description:
      '`as_of` of the answer is not earlier, or it is 503. With `written_at` of a post, the answer counts that post',
  });

const entrySchema = z
  .object({
    user_id: z.string(),
    user_name: z.string(),
    rank: z.int(),
    score: z.int(),
    data: z
      .unknown()
      .optional()
      .openapi({ description: 'Data of the score, if the board keeps data and the score has some' }),
  })
  .openapi('LeaderboardEntry');

/** Present if the rank of a write is an estimate. */
export const rankExactSchema = z.literal(false).optional().openapi({
  description:
    'Present if the rank is an estimate: other players have scores near this one. A read of the player is exact',
});

export const scoredSchema = z
  .object({
    user_info: entrySchema.extend({ season: z.string(), rank_exact: rankExactSchema }),
    duplicate: z.boolean(),
    as_of: asOfSchema.openapi({
      description: 'Without `rank_exact`, the rank is exact as of this time. That of a duplicate is the first one',
    }),
    written_at: asOfSchema.openapi({ description: 'For `min_as_of` of a read that has to count this post' }),
  })
  .openapi('ScoredPlayer');

const exactSchema = z
  .literal('1')
  .optional()
  .openapi({ description: 'Asks every shard: the answer is as of now, or 503' });

type SeasonSchema = ReturnType<typeof seasonSchemaOf>;

export const listQuerySchemaOf = (season: SeasonSchema) =>
  z.strictObject({
    limit: z.coerce.number().int().min(1).max(TOP_LIMIT_MAX).optional().openapi({ default: TOP_LIMIT_DEFAULT }),
    cursor: z.string().max(1024).optional(),
    season: season.optional(),
    user_ids: z
      .string()
      .transform((text) => [...new Set(text.split(','))])
      .pipe(z.array(userIdSchema).min(1).max(100))
      .optional()
      .openapi({ type: 'string', description: 'Up to 100 ids, separated by commas. Not with limit or cursor' }),
    among: z.literal('1').optional().openapi({ description: 'With `user_ids`: ranks are those among these players' }),
    from_rank: z.coerce
      .number()
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .openapi({ description: 'Starts at the first player whose rank is not better. Not with cursor or user_ids' }),
    exact: exactSchema,
    min_as_of: minAsOfSchema,
  });

export const listSchema = z
  .object({
    data: z.array(entrySchema),
    total: z.int(),
    season: z.string(),
    players: z.int(),
    as_of: asOfSchema,
    next_cursor: z.string().nullable(),
  })
  .openapi('Leaderboard');
export type ListJson = z.infer<typeof listSchema>;

export const playerSchema = z
  .object({
    user_info: entrySchema.extend({
      season: z.string(),
      players: z.int(),
      percentile: z.number().openapi({ description: 'Percent of all players whose score is not higher' }),
    }),
    as_of: asOfSchema,
  })
  .openapi('LeaderboardPlayer');

export const neighborsQuerySchemaOf = (season: SeasonSchema) =>
  z.strictObject({
    radius: z.coerce.number().int().min(0).max(RADIUS_MAX).default(RADIUS_DEFAULT),
    full: z.literal('1').optional().openapi({
      description: 'At an end of the list, more players of the other side: the window has as many as in the middle',
    }),
    season: season.optional(),
    exact: exactSchema,
  });
export const neighborsSchema = z
  .object({ data: z.array(entrySchema), total: z.int(), season: z.string(), as_of: asOfSchema })
  .openapi('LeaderboardNeighbors');

export const distributionQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(RANGES_MAX).default(RANGES_DEFAULT),
});
export const distributionSchema = z
  .object({
    data: z.array(z.object({ from: z.int(), to: z.int().openapi({ description: 'inclusive' }), players: z.int() })),
    total: z.int().openapi({ description: 'Number of ranges' }),
    season: z.string(),
    players: z.int().openapi({ description: 'Sum over all ranges' }),
    as_of: asOfSchema,
  })
  .openapi('LeaderboardDistribution');

export const playerQuerySchemaOf = (season: SeasonSchema) =>
  z.strictObject({
    season: season.optional(),
    exact: exactSchema,
    min_as_of: minAsOfSchema,
  });

export const exportQuerySchema = z.strictObject({
  after: userIdSchema
    .optional()
    .openapi({ description: 'Continues after this player, the last of a stream that was cut' }),
});

export const shardsSchema = z
  .object({
    season: z.string(),
    available: z.boolean().openapi({ description: 'Whether the season object answers. If not, `data` is empty' }),
    data: z.array(
      z.object({
        shard: z.int(),
        available: z.boolean(),
        players: z.int(),
        as_of: asOfSchema.openapi({ description: 'When ranks last counted the shard' }),
      }),
    ),
  })
  .openapi('LeaderboardShards');
