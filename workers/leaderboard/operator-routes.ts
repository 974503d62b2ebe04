/** Operator routes for one player: correct or hide it in the current season, list its corrections, erase it. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { createClock } from '../shared/clock.ts';
import {
  decodeCursor,
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
} from '../shared/json-api.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { eraseFromArchive } from './archive-erasure.ts';
import { operatorOnly } from './callers.ts';
import { seasonSchema, userParamsSchema } from './contract.ts';
import { seasonAt } from './domain/season-name.ts';
import { shardOf } from './domain/shard-map.ts';
import { type LeaderboardError, toProblem } from './errors.ts';
import { shardStub } from './live-standings.ts';
import { createSeasonStore } from './records/season-store.ts';
import { findSeason, type Season, toSeason } from './seasons.ts';

const OPERATOR = {
  tags: ['leaderboard'],
  security: [{ bearer: [] }],
  middleware: operatorOnly,
  path: '/v1/scores/{user_id}' as const,
};

const correctionSchema = z
  .strictObject({
    score: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    hidden: z.boolean().optional(),
    reason: z.string().min(1).max(1_000),
  })
  .refine((change) => change.score !== undefined || change.hidden !== undefined, 'score, hidden or both')
  .openapi('ScoreCorrection');

const correctQuerySchema = z.strictObject({
  season: seasonSchema
    .optional()
    .openapi({ description: 'The current season, which is also the default. Any other season is 409.' }),
});

const eraseQuerySchema = z.strictObject({
  season: seasonSchema
    .optional()
    .openapi({ description: 'Erases the player in this season only; default: in every season.' }),
});

const correctedSchema = z.object({
  user_info: z.object({
    user_id: z.string(),
    user_name: z.string(),
    score: z.int(),
    rank: z.int().nullable().openapi({ description: 'Null while hidden' }),
    season: z.string(),
    hidden: z.boolean(),
  }),
});

const pastCorrectionSchema = z
  .object({
    correction_id: z.string(),
    season: z.string(),
    at: z.string().openapi({ format: 'date-time' }),
    operator: z.string().openapi({ description: '`root`, or the id of the admin token' }),
    score: z.int().optional(),
    hidden: z.boolean().optional(),
    reason: z.string(),
  })
  .openapi('PastScoreCorrection');

/** The stored JSON of a correction. */
const changeSchema = z.object({ score: z.int().optional(), hidden: z.boolean().optional() });

export function addCorrections(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...OPERATOR,
    path: '/v1/scores/{user_id}/corrections',
    method: 'get' as const,
    operationId: 'listScoreCorrections',
    summary: 'Corrections of a player by operators with their reasons, newest first',
    request: { params: userParamsSchema, query: pageQuerySchema },
    responses: {
      200: jsonContent(pageSchema(pastCorrectionSchema), 'A page of corrections'),
      ...problemResponses(400, 401, 403),
    },
  });
  api.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query');
    const [at, id] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, ''] : (decodeCursor(cursor) ?? []);
    if (typeof at !== 'number' || typeof id !== 'string') return sendProblem(c, INVALID_CURSOR);
    const store = createSeasonStore(c.env.DIRECTORY);
    const found = await store.listCorrections(c.req.valid('param').user_id, { at, id }, limit + 1);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const data = rows.map(({ correctionId, season, at, operator, change, reason }) => ({
      correction_id: correctionId,
      season,
      at: new Date(at).toISOString(),
      operator,
      ...changeSchema.parse(JSON.parse(change)),
      reason,
    }));
    return c.json({ data, next_cursor: last === undefined ? null : encodeCursor([last.at, last.correctionId]) }, 200);
  });
}

export function addOperatorRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  const correct = createRoute({
    ...OPERATOR,
    method: 'patch' as const,
    operationId: 'correctScore',
    summary: 'Correct a score or hide a banned player in the current season. The reason is recorded',
    request: { params: userParamsSchema, query: correctQuerySchema, ...jsonBody(correctionSchema) },
    responses: {
      200: jsonContent(correctedSchema, 'The player with the new score'),
      ...problemResponses(400, 401, 403, 404, 409),
    },
  });
  api.openapi(correct, async (c) => {
    const operator = c.get('operator');
    if (operator === undefined) throw new Error('the route has no operator');
    const { score, hidden, reason } = c.req.valid('json');
    const { user_id: userId } = c.req.valid('param');
    const now = createClock(c.env)();
    const found = await findSeason(c.env, c.req.valid('query').season, now);
    if (!found.ok) return sendProblem(c, toProblem(found.error));
    const { season, shards, state } = found.value;
    if (state !== 'current') return sendProblem(c, toProblem({ kind: 'not_current', season }));
    const address = { season, shards, shard: shardOf(userId, shards) };
    const [known] = (await shardStub(c.env, address).knows(address, [userId])) ?? [];
    if (!known) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const change = { ...(score === undefined ? {} : { score }), ...(hidden === undefined ? {} : { hidden }) };
    // The reason is recorded first: a change without a reason must not exist, a reason without its change is harmless.
    await createSeasonStore(c.env.DIRECTORY).recordCorrection({
      correctionId: crypto.randomUUID(),
      season,
      userId,
      at: now,
      operator,
      change: JSON.stringify(change),
      reason,
    });
    const corrected = await shardStub(c.env, address).correct(address, userId, change);
    if (corrected === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { userName, rank, isHidden } = corrected;
    const user_info = { user_id: userId, user_name: userName, score: corrected.score, rank, season, hidden: isHidden };
    return c.json({ user_info }, 200);
  });

  const erase = createRoute({
    ...OPERATOR,
    method: 'delete' as const,
    operationId: 'erasePlayer',
    summary: 'Erase a player in one season or in all. Other players keep their ranks in past seasons',
    request: { params: userParamsSchema, query: eraseQuerySchema },
    responses: { 204: { description: 'Erased' }, ...problemResponses(400, 401, 403, 404, 409) },
  });
  api.openapi(erase, async (c) => {
    const erased = await erasePlayer(c.env, c.req.valid('param').user_id, c.req.valid('query').season);
    if (!erased.ok) return sendProblem(c, toProblem(erased.error));
    return erased.value ? c.body(null, 204) : sendProblem(c, toProblem({ kind: 'unknown_player' }));
  });
}

/**
 * Erases a player in one season, or in every season without a name. Can be repeated after a failure.
 * @returns whether the player had a score in any of them; `season_closing` while one of them is being archived.
 */
async function erasePlayer(
  env: Env,
  userId: string,
  name: string | undefined,
): Promise<Result<boolean, LeaderboardError>> {
  const clock = createClock(env);
  const current = seasonAt(clock());
  const found = await findSeasonsToErase(env, name, current);
  if (!found.ok) return found;
  const seasons = found.value;
  const closing = seasons.find(({ state }) => state === 'closing');
  // Until the archive is published, the shards of a sealed season must match it.
  if (closing !== undefined) return err({ kind: 'season_closing', season: closing.season });
  let isFound = false;
  for (const { season, shards, archive, erasedAt } of seasons) {
    if (archive !== null && (await eraseFromArchive(env, archive, userId))) isFound = true;
    if (erasedAt !== null) continue;
    const address = { season, shards, shard: shardOf(userId, shards) };
    if (await shardStub(env, address).erase(address, userId)) isFound = true;
  }
  await createSeasonStore(env.DIRECTORY).eraseCorrections(userId, name);
  // If the month ended meanwhile, its archive may contain data read before the erasure.
  const isOver = seasonAt(clock()) !== current && seasons.some(({ season }) => season === current);
  return isOver ? err({ kind: 'season_closing', season: current }) : ok(isFound);
}

async function findSeasonsToErase(
  env: Env,
  name: string | undefined,
  current: string,
): Promise<Result<Season[], LeaderboardError>> {
  const store = createSeasonStore(env.DIRECTORY);
  if (name === undefined) return ok((await store.listAll()).map((row) => toSeason(row, current)));
  const row = await store.find(name);
  if (row !== null) return ok([toSeason(row, current)]);
  // The first read or score of a month creates its row.
  return name === current ? ok([]) : err({ kind: 'unknown_season', season: name });
}
