/** Routes that erase a player, and show how far an erasure is. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { type Board, findBoard } from '../boards/boards.ts';
import { boardParamsSchema, userIdSchema } from '../contract.ts';
import { readSeason, seasonAt, seasonNamed } from '../domain/season-name.ts';
import { createErasureStore, type ErasureRow } from '../records/erasure-store.ts';
import { createSeasonStore } from '../records/season-store.ts';
import { beginErasure } from '../standings/player-erasure.ts';
import { OPERATOR } from './callers.ts';
import { type LeaderboardError, toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

const erasureSchema = z
  .object({
    id: z.string(),
    state: z.enum(['waiting', 'done']),
    requested_at: z.string(),
    finished_at: z.string().nullable(),
    waiting: z.array(z.string()).openapi({ description: 'Seasons whose shard of the player did not answer yet' }),
  })
  .openapi('PlayerErasure');

export function addErasures(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const erase = createRoute({
    ...OPERATOR,
    path: `${mount.prefix}/scores/{user_id}`,
    method: 'delete' as const,
    operationId: mount.idOf('erasePlayer'),
    summary: 'Delete a player permanently, in one season or in all. Other players keep their ranks in past seasons',
    request: {
      params: z.object({ ...mount.params, user_id: userIdSchema }),
      query: z.strictObject({
        season: mount.season
          .optional()
          .openapi({ description: 'Erases the player in this season only; default: in every season of the board.' }),
      }),
    },
    responses: {
      202: jsonContent(
        erasureSchema,
        'A part of the board does not answer. Lists hide the player; the rest is repeated',
      ),
      204: { description: 'Erased' },
      ...problemResponses(400, 401, 403, 404, 503),
    },
  });
  api.openapi(erase, async (c) => {
    const board = await findBoard(c.env, boardOf(c));
    if (board === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board: boardOf(c) ?? '' }));
    const { season } = c.req.valid('query');
    const name = await findSeasonToErase(c.env, board, season);
    if (!name.ok) return sendProblem(c, toProblem(name.error));
    const { pseudonym: id, ...erasure } = await beginErasure(
      c.env,
      board.ref,
      c.req.valid('param').user_id,
      name.value,
    );
    const isFinished = erasure.finishedAt !== null;
    if (isFinished && !erasure.isFound) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    await recordAudit(c, 'player.erase', { type: 'player', id }, { board: boardOf(c), season });
    return isFinished ? c.body(null, 204) : c.json(toErasureJson(erasure), 202);
  });
}

export function addErasure(api: OpenAPIHono<JsonApiEnv>): void {
  const get = createRoute({
    ...OPERATOR,
    path: '/v1/boards/{board}/erasures/{erasure}',
    method: 'get' as const,
    operationId: 'getPlayerErasure',
    summary: 'How far the erasure of a player is. `board` may be `default`. It is kept for 30 days after its end',
    request: { params: boardParamsSchema.extend({ erasure: z.uuid() }) },
    responses: { 200: jsonContent(erasureSchema, 'The erasure'), ...problemResponses(400, 401, 403, 404) },
  });
  api.openapi(get, async (c) => {
    const { board: name, erasure: id } = c.req.valid('param');
    const board = await findBoard(c.env, name);
    const erasure = board && (await createErasureStore(c.env.DIRECTORY).find(board.ref, id));
    if (!erasure) return sendProblem(c, toProblem({ kind: 'unknown_erasure' }));
    return c.json(toErasureJson(erasure), 200);
  });
}

const toErasureJson = ({ erasure, createdAt, finishedAt, waiting }: ErasureRow) => {
  const seasons: readonly string[] = JSON.parse(waiting ?? '[]');
  return {
    id: erasure,
    state: finishedAt === null ? ('waiting' as const) : ('done' as const),
    requested_at: new Date(createdAt).toISOString(),
    finished_at: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    waiting: seasons.map((season) => readSeason(season).label),
  };
};

/** Finds the name of the season in which a player is erased; null for all seasons. */
async function findSeasonToErase(
  env: Env,
  board: Board,
  label: string | undefined,
): Promise<Result<string | null, LeaderboardError>> {
  if (label === undefined) return ok(null);
  const name = seasonNamed(label, board);
  // The current season may have no row yet, because its first read or score creates the row.
  if (name !== null && name === seasonAt(createClock(env)(), board)) return ok(name);
  const row = name === null ? null : await createSeasonStore(env.DIRECTORY).find(name);
  return row === null ? err({ kind: 'unknown_season', season: label }) : ok(row.season);
}
