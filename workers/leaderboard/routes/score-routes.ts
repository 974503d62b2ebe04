/** `POST …/scores` and its batch, for game servers with the scope `scores:write`. No other route adds to scores. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { requireScope, toActor } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  admitToRoute,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  problemSchema,
  rateLimited,
  sendProblem,
  toValidationProblem,
} from '../../shared/json/json-api.ts';
import { type Problem, toProblemBody } from '../../shared/json/problem.ts';
import { err } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { DEFAULT_BOARD } from '../boards/boards.ts';
import { makeBoard, type NotMade } from '../boards/made-boards.ts';
import {
  BATCH_BODY_BYTES_MAX,
  batchSchemaOf,
  SCORE_BODY_BYTES_MAX,
  scoredSchema,
  type UpdateJson,
} from '../contract.ts';
import { fillOpen } from '../domain/in-groups.ts';
import { toRankJson } from '../domain/standings-json.ts';
import { writeScores } from '../score-writer.ts';
import type { SeasonUpdate, WriteResult, WrittenScore } from '../write-results.ts';
import { readRegion } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

const refusedSchema = problemSchema
  .extend({ user_id: z.string().optional(), event_id: z.string().optional() })
  .openapi('RefusedUpdate', { description: 'Repeats the ids of the update' });
type RefusedUpdate = z.infer<typeof refusedSchema>;
const batchAnswerSchema = z.object({ results: z.array(z.union([scoredSchema, refusedSchema])) });

const SECURITY = { security: [{ bearer: [] }], tags: ['leaderboard'] };

export function addScores(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const single = createRoute({
    ...SECURITY,
    method: 'post',
    path: `${mount.prefix}/scores`,
    operationId: mount.idOf('addScore'),
    summary: 'Add the points of a win that the game server has validated',
    middleware: admitPosts(SCORE_BODY_BYTES_MAX),
    request: { ...mount.inPath, ...jsonBody(mount.update) },
    responses: {
      200: jsonContent(scoredSchema, 'The player with the new score'),
      ...problemResponses(400, 401, 403, 404, 409, 413, 429, 503),
    },
  });
  api.openapi(single, async (c) => {
    const [result] = await writePosts(c, [toUpdate(c.req.valid('json'))]);
    if (result === undefined) throw new Error('the shard returned no result for an update');
    return result.ok ? c.json(toScoredJson(result.value), 200) : sendProblem(c, toProblem(result.error));
  });

  const batch = createRoute({
    ...SECURITY,
    method: 'post',
    path: `${mount.prefix}/scores/batch`,
    operationId: mount.idOf('addScores'),
    summary: 'Add up to 1,000 wins. Each succeeds or fails by itself',
    middleware: admitPosts(BATCH_BODY_BYTES_MAX),
    request: { ...mount.inPath, ...jsonBody(batchSchemaOf(mount.updateName)) },
    responses: {
      200: jsonContent(batchAnswerSchema, 'A result or a problem for each update, in order'),
      ...problemResponses(400, 401, 403, 413, 429),
    },
  });
  api.openapi(batch, async (c) => {
    const parsed = c.req.valid('json').updates.map((update) => mount.update.safeParse(update));
    const good = parsed.flatMap((each) => (each.success ? [toUpdate(each.data)] : []));
    const written: WriteResult[] = await writePosts(c, good);
    let next = 0;
    const updates = c.req.valid('json').updates;
    const refuse = (place: number, problem: Problem): RefusedUpdate =>
      ({ ...toProblemBody(problem, c.get('requestId')), ...idsOf(updates[place]) }) as RefusedUpdate;
    const results = parsed.map((each, place) => {
      if (!each.success) return refuse(place, toValidationProblem(each.error));
      const result = written[next++];
      if (result === undefined) throw new Error('the shard returned no result for an update');
      return result.ok ? toScoredJson(result.value) : refuse(place, toProblem(result.error));
    });
    return c.json({ results }, 200);
  });
}

/** Writes updates. If the board is unknown and the token may make boards, these are its first posts. */
async function writePosts(c: Context<JsonApiEnv>, updates: readonly SeasonUpdate[]): Promise<WriteResult[]> {
  const name = boardOf(c);
  const write = (some: readonly SeasonUpdate[]) => writeScores(c.env, some, name, readRegion(c));
  const written = await write(updates);
  const isUnknown = (result: WriteResult) => !result.ok && result.error.kind === 'unknown_board';
  if (name === undefined || !written.some(isUnknown) || !(await requireScope(c, 'boards:create')).ok) return written;
  const made = await makeBoard(c.env, name, createClock(c.env)());
  if (made === null) return written;
  const refused = written.map((result) => (isUnknown(result) ? (made.ok ? null : toNotMade(made.error)) : result));
  if (made.ok) await recordAudit(c, 'board.put', { type: 'board', id: name }, { title: made.value.title });
  return fillOpen<SeasonUpdate, WriteResult>(updates, refused, write);
}

/**
 * The result of a first post that makes no board. If the board of this name was deleted a moment ago, and a shard of it did not answer, a
 * repeat succeeds in seconds.
 */
const toNotMade = (error: NotMade): WriteResult =>
  err(error.kind === 'board_being_deleted' ? { kind: 'unavailable' } : error);

/** The ids of a refused update, for its result. The update may be invalid, so its members are checked. */
function idsOf(update: unknown): { user_id?: string; event_id?: string } {
  const entries = typeof update === 'object' && update !== null ? Object.entries(update) : [];
  return Object.fromEntries(
    entries.filter(([name, value]) => /^(?:user|event)_id$/.test(name) && typeof value === 'string'),
  );
}

/** Checks the caller and the request rate before a body of at most this length is read. */
function admitPosts(jsonBytesMax: number): MiddlewareHandler<JsonApiEnv> {
  return async (c, next) => {
    const caller = await requireScope(c, ['scores:write', `board:${boardOf(c) ?? DEFAULT_BOARD.board}:write`]);
    if (!caller.ok) return sendProblem(c, caller.error);
    if (!(await admitToRoute(c, 'token', toActor(caller.value).id))) return sendProblem(c, rateLimited('token'));
    c.set('jsonBytesMax', jsonBytesMax);
    return next();
  };
}

const toUpdate = ({ user_id, points, user_name, event_id, season, data }: UpdateJson): SeasonUpdate => ({
  userId: user_id,
  points,
  userName: user_name ?? null,
  eventId: event_id ?? null,
  season,
  ...(data == null ? {} : { data: JSON.stringify(data) }),
});

export const toScoredJson = ({
  userId,
  userName,
  score,
  season,
  isDuplicate,
  asOf,
  writtenAt,
  ...counted
}: WrittenScore) => ({
  user_info: { user_id: userId, user_name: userName, score, ...toRankJson(counted), season },
  duplicate: isDuplicate,
  as_of: new Date(asOf).toISOString(),
  written_at: new Date(writtenAt).toISOString(),
});
