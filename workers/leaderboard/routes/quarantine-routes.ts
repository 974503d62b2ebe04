/** Operator routes of the quarantine of a board: results that wait, the decision about them, and banned players. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
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
import { type Board, findBoard } from '../boards/boards.ts';
import { boardParamsSchema, userIdSchema } from '../contract.ts';
import { BREACHES } from '../domain/session-rules.ts';
import { acceptResult, banPlayer, refuseResult } from '../plays/quarantine.ts';
import { createQuarantineStore, type QuarantinedRow } from '../records/quarantine-store.ts';
import { OPERATOR } from './callers.ts';
import { toPlayProblem } from './play-errors.ts';

const timeSchema = z.string().openapi({ format: 'date-time' });
const rowSchema = z
  .object({
    play_id: z.string(),
    user_id: z.string(),
    user_name: z.string().nullable(),
    points: z.int(),
    data: z.unknown(),
    breach: z.enum(BREACHES).openapi({ description: 'The first rule that it breaks' }),
    seconds: z.number().openapi({ description: 'From the begin of the play to the result' }),
    status: z.enum(['waiting', 'accepted', 'refused']),
    received_at: timeSchema,
    decided_at: timeSchema.nullable(),
  })
  .openapi('ResultInQuarantine');
const decisionSchema = z.strictObject({
  decision: z.enum(['accept', 'refuse', 'ban']).openapi({
    description:
      '`accept` counts the result. `ban` refuses it, bans the player and hides the score of the current season',
  }),
  reason: z.string().min(1).max(1_000).openapi({ description: 'Kept in the audit log' }),
});
const banSchema = z.object({ user_id: z.string(), banned_at: timeSchema }).openapi('BannedPlayer');

const toJson = (row: QuarantinedRow): z.infer<typeof rowSchema> => ({
  play_id: row.play,
  user_id: row.userId,
  user_name: row.userName,
  points: row.points,
  data: row.data === null ? null : JSON.parse(row.data),
  breach: row.breach,
  seconds: (row.createdAt - row.startedAt) / 1_000,
  status: row.state,
  received_at: new Date(row.createdAt).toISOString(),
  decided_at: row.decidedAt === null ? null : new Date(row.decidedAt).toISOString(),
});

/** The board in the path of an operator's route; null if it does not exist. */
const boardIn = (c: Context<JsonApiEnv>): Promise<Board | null> => findBoard(c.env, c.req.param('board'));
const unknownBoard = (c: Context<JsonApiEnv>) =>
  sendProblem(c, toPlayProblem({ kind: 'unknown_board', board: c.req.param('board') ?? '' }));

export function addQuarantine(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...OPERATOR,
    method: 'get',
    path: '/v1/boards/{board}/quarantine',
    operationId: 'listResultsInQuarantine',
    summary: 'Results of plays in quarantine, the oldest first. Decided ones are kept for 30 days',
    request: {
      params: boardParamsSchema,
      query: pageQuerySchema.extend({ status: z.enum(['waiting', 'accepted', 'refused']).default('waiting') }),
    },
    responses: {
      200: jsonContent(pageSchema(rowSchema), 'A page of results'),
      ...problemResponses(400, 401, 403, 404),
    },
  });
  api.openapi(list, async (c) => {
    const board = await boardIn(c);
    if (board === null) return unknownBoard(c);
    const { status, ...page } = c.req.valid('query');
    const store = createQuarantineStore(c.env.DIRECTORY);
    return sendPage(c, page, {
      read: (after, limit) => store.list(board.ref, status, after, limit),
      keyOf: (row) => row.play,
      toItem: toJson,
    });
  });

  const decide = createRoute({
    ...OPERATOR,
    method: 'post',
    path: '/v1/boards/{board}/quarantine/{play}',
    operationId: 'decideResult',
    summary: 'Accept or refuse a result, or ban its player',
    request: { params: boardParamsSchema.extend({ play: z.string().max(64) }), ...jsonBody(decisionSchema) },
    responses: {
      200: jsonContent(rowSchema, 'The result'),
      ...problemResponses(400, 401, 403, 404, 409, 503),
    },
  });
  api.openapi(decide, async (c) => {
    const board = await boardIn(c);
    if (board === null) return unknownBoard(c);
    const { play } = c.req.valid('param');
    const { decision, reason } = c.req.valid('json');
    const found = await createQuarantineStore(c.env.DIRECTORY).find(board.ref, play);
    if (found === null) return sendProblem(c, toPlayProblem({ kind: 'unknown_result' }));
    const action = decision === 'accept' ? 'board_result.accept' : 'board_result.refuse';
    const details = { board: board.board, play, points: found.points, banned: decision === 'ban' || undefined, reason };
    await recordAudit(c, action, { type: 'player', id: found.userId }, details);
    const decided = await (decision === 'accept' ? acceptResult : refuseResult)(c.env, board, play);
    // Also a player whose result was refused before can be banned by it.
    if (decision === 'ban') await banPlayer(c.env, board, found.userId);
    else if (!decided.ok) return sendProblem(c, toPlayProblem(decided.error));
    return c.json(toJson(decided.ok ? decided.value : found), 200);
  });
}

export function addBans(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...OPERATOR,
    method: 'get',
    path: '/v1/boards/{board}/bans',
    operationId: 'listBans',
    summary: 'Players who may not begin plays on a board',
    request: { params: boardParamsSchema, query: pageQuerySchema },
    responses: {
      200: jsonContent(pageSchema(banSchema), 'A page of players'),
      ...problemResponses(400, 401, 403, 404),
    },
  });
  api.openapi(list, async (c) => {
    const board = await boardIn(c);
    if (board === null) return unknownBoard(c);
    const store = createQuarantineStore(c.env.DIRECTORY);
    return sendPage(c, c.req.valid('query'), {
      read: (after, limit) => store.listBans(board.ref, after, limit),
      keyOf: ({ userId }) => userId,
      toItem: ({ userId, createdAt }) => ({ user_id: userId, banned_at: new Date(createdAt).toISOString() }),
    });
  });

  const params = boardParamsSchema.extend({ user_id: userIdSchema });
  const remove = createRoute({
    ...OPERATOR,
    method: 'delete',
    path: '/v1/boards/{board}/bans/{user_id}',
    operationId: 'unbanPlayer',
    summary: 'Let a player begin plays again. The score stays hidden until it is shown with PATCH',
    request: { params },
    responses: { 204: { description: 'Not banned any more' }, ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(remove, async (c) => {
    const board = await boardIn(c);
    if (board === null) return unknownBoard(c);
    const { user_id: userId } = c.req.valid('param');
    if (!(await createQuarantineStore(c.env.DIRECTORY).unban(board.ref, userId)))
      return sendProblem(c, toPlayProblem({ kind: 'not_banned' }));
    await recordAudit(c, 'player.unban', { type: 'player', id: userId }, { board: board.board });
    return c.body(null, 204);
  });
}
