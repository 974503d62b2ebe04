/** Routes of boards. Operators create, change and delete boards. Everyone may list and read the public ones. */
import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Context, Next } from 'hono';
import { requireOperator, requireOperatorOrScope } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { deleteBoard } from '../boards/board-deletion.ts';
import { admitBoard } from '../boards/board-limit.ts';
import {
  type Board,
  DEFAULT_BOARD,
  findBoard,
  forgetBoard,
  RULES_AFTER_MS,
  shardsOf,
  toBoard,
  toDefaultRow,
} from '../boards/boards.ts';
import {
  boardParamsSchema,
  boardPrefixSchema,
  boardRulesSchema,
  boardSchema,
  defaultBoardSchema,
  logoPath,
  sessionRulesSchema,
} from '../contract.ts';
import type { ScheduleRules } from '../domain/schedule.ts';
import type { SessionRules } from '../domain/session-rules.ts';
import { type BoardRow, createBoardStore, FIXED_RULES } from '../records/board-store.ts';
import { createDeletedBoardStore } from '../records/deleted-board-store.ts';
import type { scheduleSchema } from '../schedule-contract.ts';
import { OPERATOR, PUBLIC } from './callers.ts';
import { type LeaderboardError, toProblem } from './errors.ts';
import { boardOf } from './mounts.ts';

/** Maximum number of boards with several shards: cron asks the season of each for its players every hour. */
const SHARDED_BOARDS_MAX = 100;

const ROUTE = { ...OPERATOR, path: '/v1/boards/{board}' as const };

const boardsQuerySchema = pageQuerySchema.extend({
  prefix: boardPrefixSchema.optional().openapi({ description: 'Only boards whose names begin with it' }),
});

function addBoardList(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...PUBLIC,
    method: 'get',
    path: '/v1/boards',
    operationId: 'listBoards',
    summary: 'The public boards beside `default`. Operators also see the others',
    request: { query: boardsQuerySchema },
    responses: { 200: jsonContent(pageSchema(boardSchema), 'A page of boards'), ...problemResponses(400, 401, 403) },
  });
  api.openapi(list, async (c) => {
    const isOperator = c.req.header('authorization') !== undefined;
    const caller = isOperator ? await requireOperator(c) : ok(null);
    if (!caller.ok) return sendProblem(c, caller.error);
    const store = createBoardStore(c.env.DIRECTORY);
    const query = c.req.valid('query');
    const filter = { prefix: query.prefix ?? '', isPublicOnly: !isOperator };
    return sendPage(c, query, {
      read: (after, limit) => store.list(after, limit, filter),
      keyOf: (row) => row.board,
      toItem: (row) => toBoardJson(c.env, toBoard(row), row.createdAt),
    });
  });
}

/** Whether rules are those of the board `default`. */
function isDefault(env: Env, rules: object): boolean {
  const fixed: Record<string, unknown> = toBoardJson(env, DEFAULT_BOARD, null);
  return Object.entries(rules).every(([name, value]) => value === fixed[name]);
}

export function addBoards(api: OpenAPIHono<JsonApiEnv>): void {
  addBoardList(api);
  const putDefault = createRoute({
    ...OPERATOR,
    method: 'put',
    path: '/v1/boards/default',
    operationId: 'putDefaultBoard',
    summary:
      'Change the title of the board `default`, and how many seasons it keeps. Its other members never change, and may be left out',
    request: jsonBody(defaultBoardSchema),
    responses: { 200: jsonContent(boardSchema, 'The board'), ...problemResponses(400, 401, 403, 409) },
  });
  api.openapi(putDefault, async (c) => {
    const { title, seasons_kept: seasonsKept = null, find_by_name: findsNames, ...rules } = c.req.valid('json');
    const { board } = DEFAULT_BOARD;
    if (!isDefault(c.env, rules)) return sendProblem(c, toProblem({ kind: 'default_rules_fixed' }));
    const now = createClock(c.env)();
    const row = await createBoardStore(c.env.DIRECTORY).put(
      toDefaultRow(title, { seasonsKept, findsNames: findsNames ?? false }, now),
      now,
      now,
    );
    await recordAudit(c, 'board.put', { type: 'board', id: board }, toAuditDetails(row));
    return c.json(toBoardJson(c.env, toBoard(row), null), 200);
  });

  const put = createRoute({
    ...ROUTE,
    method: 'put',
    operationId: 'putBoard',
    summary: 'Create a board, or change its title, visibility and limit. The other members never change',
    request: { params: boardParamsSchema, ...jsonBody(boardRulesSchema) },
    responses: { 200: jsonContent(boardSchema, 'The board'), ...problemResponses(400, 401, 403, 409) },
  });
  api.openapi(put, async (c) => {
    const { board } = c.req.valid('param');
    const written = await putBoard(c.env, board, c.req.valid('json'));
    forgetBoard(board);
    if (!written.ok) return sendProblem(c, toProblem(written.error));
    await recordAudit(c, 'board.put', { type: 'board', id: board }, toAuditDetails(written.value));
    return c.json(toBoardJson(c.env, toBoard(written.value), written.value.createdAt), 200);
  });

  const get = createRoute({
    ...PUBLIC,
    method: 'get',
    path: '/v1/boards/{board}',
    operationId: 'getBoard',
    summary: 'One board, also `default`. One that is not public is for operators and tokens with its scope',
    request: { params: boardParamsSchema },
    responses: { 200: jsonContent(boardSchema, 'The board'), ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(get, async (c) => {
    const { board: name } = c.req.valid('param');
    const row = await createBoardStore(c.env.DIRECTORY).find(name);
    if (name === DEFAULT_BOARD.board) return c.json(toBoardJson(c.env, row ? toBoard(row) : DEFAULT_BOARD, null), 200);
    if (row === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board: name }));
    return c.json(toBoardJson(c.env, toBoard(row), row.createdAt), 200);
  });
  addBoardDeletion(api);
}

function addBoardDeletion(api: OpenAPIHono<JsonApiEnv>): void {
  const remove = createRoute({
    ...ROUTE,
    method: 'delete',
    operationId: 'deleteBoard',
    summary:
      'Delete a board with all its seasons permanently. Its name is free at once. Cron erases the seasons after a minute',
    request: { params: boardParamsSchema },
    responses: { 204: { description: 'Deleted' }, ...problemResponses(400, 401, 403, 404, 409) },
  });
  api.openapi(remove, async (c) => {
    const { board: name } = c.req.valid('param');
    if (name === DEFAULT_BOARD.board) return sendProblem(c, toProblem({ kind: 'default_not_deletable' }));
    const row = await createBoardStore(c.env.DIRECTORY).find(name);
    if (row === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board: name }));
    await recordAudit(c, 'board.delete', { type: 'board', id: name });
    await deleteBoard(c.env, row, createClock(c.env)());
    return c.body(null, 204);
  });
}

const toAuditDetails = ({ title, isPublic, pointsPerDayMax, seasonsKept, sessions }: BoardRow) => ({
  title,
  sessions: sessions === null ? undefined : 'required',
  public: isPublic,
  max_points_per_day: pointsPerDayMax ?? undefined,
  seasons_kept: seasonsKept ?? undefined,
});

function toSessionRules(rules: z.infer<typeof sessionRulesSchema>): SessionRules {
  const { origins, least_seconds: leastSeconds, least_points: leastPoints, judged: isJudged } = rules;
  const { most_points: mostPoints, most_points_per_second: mostPointsPerSecond } = rules;
  return { origins, leastSeconds, leastPoints, mostPoints, mostPointsPerSecond, isJudged };
}

const toSessionRulesJson = (rules: SessionRules): z.infer<typeof sessionRulesSchema> => ({
  origins: [...rules.origins],
  least_seconds: rules.leastSeconds,
  least_points: rules.leastPoints,
  most_points: rules.mostPoints,
  most_points_per_second: rules.mostPointsPerSecond,
  judged: rules.isJudged,
});

const toSchedule = (schedule: z.infer<typeof scheduleSchema> | null): ScheduleRules | null =>
  schedule && {
    every: schedule.every,
    unit: schedule.unit,
    startsAt: Date.parse(schedule.starts_at),
    timeZone: schedule.time_zone,
    endsAt: schedule.ends_at === null ? null : Date.parse(schedule.ends_at),
  };

const toScheduleJson = ({ every, unit, startsAt, timeZone, endsAt }: ScheduleRules) => ({
  every,
  unit,
  starts_at: new Date(startsAt).toISOString(),
  time_zone: timeZone,
  ends_at: endsAt === null ? null : new Date(endsAt).toISOString(),
});

/** The row of a board that is created now. Its limits hold from the start. */
function toNewRow(board: string, rules: z.infer<typeof boardRulesSchema>, createdAt: number): BoardRow {
  const { title, sort, operator, period, decimals, max_points_per_day: pointsPerDayMax } = rules;
  return {
    ...{ board, title, sort, operator, period, decimals, createdAt },
    id: crypto.randomUUID().slice(0, 8),
    isPublic: rules.public,
    isSigned: rules.negative,
    pointsMax: rules.max_points_per_post,
    pointsPerDayMax,
    pointsPerDayBefore: pointsPerDayMax,
    // Shards keep the newest rules only, and know those of a board without a limit by its name.
    rulesFrom: pointsPerDayMax === null ? 0 : createdAt,
    seasonsKept: rules.seasons_kept,
    findsNames: rules.find_by_name,
    secondsBetween: rules.seconds_between_posts,
    dataBytesMax: rules.max_data_bytes,
    schedule: toSchedule(rules.schedule),
    resets: null,
    shards: rules.shards ?? 1,
    makes: rules.makes_boards,
    sessions:
      rules.sessions === 'required' ? toSessionRules(rules.session_rules ?? sessionRulesSchema.parse({})) : null,
    logo: null,
    deletedAt: null,
  };
}

async function putBoard(
  env: Env,
  board: string,
  rules: z.infer<typeof boardRulesSchema>,
): Promise<Result<BoardRow, LeaderboardError>> {
  if (rules.session_rules !== null && rules.sessions === 'off') return err({ kind: 'session_rules_without_sessions' });
  const wanted = toNewRow(board, rules, createClock(env)());
  if (wanted.pointsPerDayMax !== null && (wanted.operator !== 'sum' || wanted.isSigned))
    return err({ kind: 'no_sum_to_limit' });
  const { schedule } = wanted;
  const isFuture = schedule === null || schedule.endsAt === null || schedule.endsAt > schedule.startsAt;
  if ((wanted.period === 'custom') !== (schedule !== null) || !isFuture) return err({ kind: 'schedule_mismatch' });
  const store = createBoardStore(env.DIRECTORY);
  const known = await store.find(wanted.board);
  if (known === null && (await createDeletedBoardStore(env.DIRECTORY).isOneOpen(board, wanted.createdAt)))
    return err({ kind: 'board_being_deleted' });
  const row = known !== null && rules.shards === undefined ? { ...wanted, shards: known.shards } : wanted;
  const isNewlySharded = row.shards !== 1 && (known === null || known.shards === 1);
  if (isNewlySharded && (await store.countSharded()) >= SHARDED_BOARDS_MAX)
    return err({ kind: 'too_many_boards', boardsMax: SHARDED_BOARDS_MAX });
  const admitted = known === null ? await admitBoard(env, wanted.createdAt, true) : ok(null);
  if (!admitted.ok) return admitted;
  const written = await store.put(row, wanted.createdAt, wanted.createdAt + RULES_AFTER_MS);
  if (written.deletedAt !== null) return err({ kind: 'board_being_deleted' });
  const isSame = FIXED_RULES.every((name) => JSON.stringify(written[name]) === JSON.stringify(wanted[name]));
  return isSame ? ok(written) : err({ kind: 'board_rules_fixed' });
}

/** Middleware for the paths of a board. A board that is not public requires an operator or a token with the board's scope. */
export async function admitReader(c: Context<JsonApiEnv>, next: Next) {
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  const board = isRead ? await findBoard(c.env, boardOf(c)) : null;
  if (board === null || board.isPublic) return next();
  const caller = await requireOperatorOrScope(c, `board:${board.board}:read`);
  return caller.ok ? next() : sendProblem(c, caller.error);
}

const toBoardJson = (env: Env, board: Board, createdAt: number | null) => ({
  board: board.board,
  title: board.title,
  sort: board.sort,
  operator: board.operator,
  period: board.period,
  schedule: board.schedule == null ? null : toScheduleJson(board.schedule.rules),
  public: board.isPublic,
  max_points_per_post: board.pointsMax,
  max_points_per_day: board.pointsPerDayMax,
  max_points_per_day_from: board.rulesFrom === 0 ? null : new Date(board.rulesFrom).toISOString(),
  seasons_kept: board.seasonsKept,
  negative: board.isSigned,
  decimals: board.decimals,
  seconds_between_posts: board.secondsBetween,
  max_data_bytes: board.dataBytesMax,
  sessions: board.sessions === null ? ('off' as const) : ('required' as const),
  session_rules: board.sessions === null ? null : toSessionRulesJson(board.sessions),
  find_by_name: board.findsNames,
  shards: shardsOf(env, board),
  makes_boards: board.makes,
  logo: board.logo === null ? null : logoPath(board.board, board.logo),
  created_at: createdAt === null ? null : new Date(createdAt).toISOString(),
});
