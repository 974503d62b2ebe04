/** Routes of plays, for pages: begin a play, and send its result. Only boards with sessions have them, and only pages that the board lists. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, Next } from 'hono';
import { readClient, requireScope, UNKNOWN_CLIENT } from '../../identity/index.ts';
import { displayNameSchema } from '../../shared/json/display-name.ts';
import {
  admitToRoute,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  rateLimited,
  sendProblem,
} from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { type Board, findBoard } from '../boards/boards.ts';
import {
  boardNameSchema,
  boardParamsSchema,
  boardPointsSchema,
  dataSchema,
  scoredSchema,
  textOf,
  userIdSchema,
} from '../contract.ts';
import { PLAY_MS_MAX } from '../domain/session-rules.ts';
import { beginPlay, inventedId } from '../plays/play.ts';
import { takeResult } from '../plays/results.ts';
import { createQuarantineStore } from '../records/quarantine-store.ts';
import { PUBLIC, readRegion } from './callers.ts';
import { toPlayProblem } from './play-errors.ts';
import { toScoredJson } from './score-routes.ts';

const secretSchema = z
  .string()
  .regex(/^[\w-]{32,128}$/, 'must be 32 to 128 characters of A-Z a-z 0-9 _ -')
  .openapi({ description: 'A random text that the browser of the player keeps. Its hash is the id of the player' });

const beginSchema = z.strictObject({
  player_secret: secretSchema.optional(),
  user_id: userIdSchema.optional().openapi({ description: 'Of a player whom the game server knows. Needs its token' }),
});
const playSchema = z
  .object({
    play_id: z.string().openapi({ description: 'Also the `event_id` of the result' }),
    play: z.string().openapi({
      description: 'Sent with the result. Secret: it lets anybody send the result',
    }),
    user_id: z.string(),
    started_at: z.string().openapi({ format: 'date-time' }),
    ends_at: z.string().openapi({ format: 'date-time' }),
  })
  .openapi('Play');

const resultSchema = z.strictObject({
  play: z.string().max(2_000),
  player_secret: secretSchema.optional(),
  points: boardPointsSchema,
  user_name: displayNameSchema(textOf(64)).optional(),
  data: dataSchema.optional(),
});
const countedSchema = scoredSchema.extend({ status: z.literal('counted') }).openapi('CountedResult');
const asideSchema = z
  .object({ status: z.enum(['waiting', 'accepted', 'refused']) })
  .openapi('QuarantinedResult', { description: '`waiting`: an operator decides about it' });

const CORS_HEADERS = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '600',
};

/** Lets only pages call that the board lists, without credentials of the browser. Programs without an origin pass. */
async function admitOrigin(c: Context<JsonApiEnv>, next: Next) {
  const origin = c.req.header('origin');
  const isPreflight = c.req.method === 'OPTIONS';
  const name = boardNameSchema.safeParse(c.req.param('board'));
  const board = origin !== undefined && name.success ? await findBoard(c.env, name.data) : null;
  const isListed = origin !== undefined && (board?.sessions?.origins.includes(origin) ?? false);
  if (origin !== undefined && board?.sessions && !isListed)
    return sendProblem(c, toPlayProblem({ kind: 'origin_not_listed' }));
  if (isPreflight) c.res = c.body(null, 204, isListed ? CORS_HEADERS : {});
  else await next();
  if (isListed) {
    c.res.headers.set('access-control-allow-origin', origin);
    c.res.headers.set('access-control-expose-headers', 'x-request-id, retry-after');
  }
  c.res.headers.append('vary', 'Origin');
  c.res.headers.set('cache-control', 'no-store');
}

export function addPlays(api: OpenAPIHono<JsonApiEnv>): void {
  for (const path of ['/v1/boards/:board/plays', '/v1/boards/:board/plays/:play/result']) api.use(path, admitOrigin);

  const begin = createRoute({
    ...PUBLIC,
    method: 'post',
    path: '/v1/boards/{board}/plays',
    operationId: 'beginPlay',
    summary: 'Begin a play, on a board with sessions. It ends within 24 hours and has one result',
    request: { params: boardParamsSchema, ...jsonBody(beginSchema) },
    responses: {
      201: jsonContent(playSchema, 'The play'),
      ...problemResponses(400, 401, 403, 404, 409, 413, 429),
    },
  });
  api.openapi(begin, async (c) => {
    const { board: name } = c.req.valid('param');
    const client = readClient(c.req.raw.headers);
    if (client !== UNKNOWN_CLIENT && !(await admitToRoute(c, 'play', client)))
      return sendProblem(c, rateLimited('play'));
    const board = await findBoard(c.env, name);
    if (board === null) return sendProblem(c, toPlayProblem({ kind: 'unknown_board', board: name }));
    if (board.sessions === null) return sendProblem(c, toPlayProblem({ kind: 'no_sessions' }));
    const player = await findPlayer(c, board, c.req.valid('json'));
    if (!player.ok) return sendProblem(c, player.error);
    const { userId, hasSecret } = player.value;
    if (!(await admitToRoute(c, 'player', `${board.ref} ${userId}`))) return sendProblem(c, rateLimited('player'));
    if (await createQuarantineStore(c.env.DIRECTORY).isBanned(board.ref, userId))
      return sendProblem(c, toPlayProblem({ kind: 'player_banned' }));
    const { play, text } = beginPlay(c.env, board, { userId, hasSecret, startedAt: createClock(c.env)() });
    const times = { started_at: toTime(play.startedAt), ends_at: toTime(play.startedAt + PLAY_MS_MAX) };
    return c.json({ play_id: play.id, play: text, user_id: userId, ...times }, 201);
  });

  const result = createRoute({
    ...PUBLIC,
    method: 'post',
    path: '/v1/boards/{board}/plays/{play}/result',
    operationId: 'sendResult',
    summary: 'Send the result of a play. A repeat is safe, and another result of the same play is refused',
    request: {
      params: boardParamsSchema.extend({ play: z.string().max(64) }),
      ...jsonBody(resultSchema),
    },
    responses: {
      200: jsonContent(countedSchema, 'The player with the new score'),
      202: jsonContent(asideSchema, 'The result breaks a rule of the board, and is in quarantine'),
      ...problemResponses(400, 403, 404, 409, 413, 429, 503),
    },
  });
  api.openapi(result, async (c) => {
    const { board: name, play: id } = c.req.valid('param');
    const client = readClient(c.req.raw.headers);
    if (client !== UNKNOWN_CLIENT && !(await admitToRoute(c, 'client', client)))
      return sendProblem(c, rateLimited('client'));
    const board = await findBoard(c.env, name);
    if (board === null) return sendProblem(c, toPlayProblem({ kind: 'unknown_board', board: name }));
    const { play: text, player_secret: secret, points, user_name: userName = null, data } = c.req.valid('json');
    const sent = { id, text, secret, points, userName, data: data == null ? null : JSON.stringify(data) };
    const taken = await takeResult(c.env, board, sent, readRegion(c));
    if (!taken.ok) return sendProblem(c, toPlayProblem(taken.error));
    if (taken.value.state !== 'counted') return c.json({ status: taken.value.state }, 202);
    return c.json({ status: 'counted' as const, ...toScoredJson(taken.value.score) }, 200);
  });
}

const toTime = (at: number): string => new Date(at).toISOString();

/** The player of a play: an invented one, or one whom a game server names with its token. */
async function findPlayer(
  c: Context<JsonApiEnv>,
  { board }: Board,
  { player_secret: secret, user_id: userId }: z.infer<typeof beginSchema>,
): Promise<Result<{ readonly userId: string; readonly hasSecret: boolean }, Problem>> {
  const isServer = c.req.header('authorization') !== undefined;
  if (!isServer && secret !== undefined && userId === undefined)
    return ok({ userId: inventedId(secret), hasSecret: true });
  if (!isServer || userId === undefined || secret !== undefined) return err(toPlayProblem({ kind: 'unnamed_player' }));
  const caller = await requireScope(c, ['scores:write', `board:${board}:write`]);
  return caller.ok ? ok({ userId, hasSecret: false }) : caller;
}
