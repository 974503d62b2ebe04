/** Operator routes for one player: correct, hide, show or erase the player in a season. The audit log keeps the reasons. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type CorrectedPlayer, type Correction, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { mintPseudonym, recordAudit } from '../../shared/audit/audit.ts';
import { createAuditStore } from '../../shared/audit/audit-store.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { type Board, findBoard } from '../boards/boards.ts';
import { rankExactSchema, userIdSchema } from '../contract.ts';
import { mirror } from '../domain/score-rules.ts';
import { readSeason, seasonAt, seasonNamed } from '../domain/season-name.ts';
import { shardOf } from '../domain/shard-map.ts';
import { toRankJson } from '../domain/standings-json.ts';
import { seasonStub, shardStub, within } from '../objects.ts';
import { createSeasonStore } from '../records/season-store.ts';
import { findSeason, type Season, toSeason } from '../seasons/seasons.ts';
import { correctInArchive, eraseFromArchive, isInArchive } from '../standings/archive-changes.ts';
import { OPERATOR } from './callers.ts';
import { type LeaderboardError, toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

/** Time limit of calls to a shard. It is longer than elsewhere, because an erasure reads all events of a shard. */
const ANSWER_MS = 30_000;

const correctionSchema = z
  .strictObject({
    score: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
    hidden: z.boolean().optional(),
    reason: z.string().min(1).max(1_000),
  })
  .refine((change) => change.score !== undefined || change.hidden !== undefined, 'score, hidden or both')
  .openapi('ScoreCorrection');

const correctedSchema = z.object({
  user_info: z.object({
    user_id: z.string(),
    user_name: z.string(),
    score: z.int(),
    rank: z.int().nullable().openapi({ description: 'Null while hidden' }),
    rank_exact: rankExactSchema,
    season: z.string(),
    hidden: z.boolean(),
  }),
});

export function addOperatorRoutes(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const path = `${mount.prefix}/scores/{user_id}`;
  const params = z.object({ ...mount.params, user_id: userIdSchema });
  const queryOf = (description: string) => z.strictObject({ season: mount.season.optional().openapi({ description }) });
  const correct = createRoute({
    ...OPERATOR,
    path,
    method: 'patch' as const,
    operationId: mount.idOf('correctScore'),
    summary: 'Correct a score, hide a banned player or show one again. The reason is kept in the audit log',
    request: {
      params,
      query: queryOf('The current or a past season. Default: the current one.'),
      ...jsonBody(correctionSchema),
    },
    responses: {
      200: jsonContent(correctedSchema, 'The player with the new score'),
      ...problemResponses(400, 401, 403, 404, 409, 503),
    },
  });
  api.openapi(correct, async (c) => {
    const { score, hidden, reason } = c.req.valid('json');
    const { user_id: userId } = c.req.valid('param');
    const found = await findSeason(c.env, c.req.valid('query').season, createClock(c.env)(), boardOf(c));
    if (!found.ok) return sendProblem(c, toProblem(found.error));
    const player = openPlayer(c.env, found.value, userId);
    if (!player.ok) return sendProblem(c, toProblem(player.error));
    if (!(await player.value.isKnown())) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { season } = found.value;
    const { label, rules } = readSeason(season);
    // The reason is recorded before the change: a change without a reason must not exist, but a reason without its change is
    // harmless.
    await recordAudit(c, 'player.correct', { type: 'player', id: userId }, { season, score, hidden, reason });
    const change = {
      ...(score === undefined ? {} : { score: mirror(rules, score) }),
      ...(hidden === undefined ? {} : { hidden }),
    };
    const corrected = await player.value.correct(change);
    if (corrected === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { userName, rank, isEstimated = false, isHidden } = corrected;
    const shown = { score: mirror(rules, corrected.score), season: label, hidden: isHidden };
    const user_info = { user_id: userId, user_name: userName, ...toRankJson({ rank, isEstimated }), ...shown };
    return c.json({ user_info }, 200);
  });

  const erase = createRoute({
    ...OPERATOR,
    path,
    method: 'delete' as const,
    operationId: mount.idOf('erasePlayer'),
    summary: 'Delete a player permanently, in one season or in all. Other players keep their ranks in past seasons',
    request: {
      params,
      query: queryOf('Erases the player in this season only; default: in every season of the board.'),
    },
    responses: { 204: { description: 'Erased' }, ...problemResponses(400, 401, 403, 404, 409, 503) },
  });
  api.openapi(erase, async (c) => {
    const { user_id: userId } = c.req.valid('param');
    const { season } = c.req.valid('query');
    const board = await findBoard(c.env, boardOf(c));
    if (board === null) return sendProblem(c, toProblem({ kind: 'unknown_board', board: boardOf(c) ?? '' }));
    const erased = await erasePlayer(c.env, board, userId, season);
    if (!erased.ok) return sendProblem(c, toProblem(erased.error));
    const { isFound, seasons } = erased.value;
    // A player's id may be a name, so the audit log must not keep it. This step runs even if nothing was erased now, because an
    // earlier erasure may have failed before it.
    const id = mintPseudonym();
    await createAuditStore(c.env.DIRECTORY).erasePlayer(userId, seasons, id);
    if (!isFound) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const details = { board: boardOf(c), season };
    await recordAudit(c, 'player.erase', { type: 'player', id }, details);
    return c.body(null, 204);
  });
}

interface SeasonPlayer {
  isKnown(): Promise<boolean>;
  /** Corrects the player. @returns the new state; null if the player is gone. */
  correct(change: Correction): Promise<CorrectedPlayer | null>;
}

/** Opens a player of a season, in the player's shard or in the archive. */
function openPlayer(env: Env, found: Season, userId: string): Result<SeasonPlayer, LeaderboardError> {
  const { season, shards, state, archive } = found;
  if (archive !== null) {
    return ok({
      isKnown: () => isInArchive(env, archive, userId),
      correct: (change) => correctInArchive(env, archive, userId, change, createClock(env)()),
    });
  }
  if (state === 'closing') return err({ kind: 'season_closing', season: readSeason(season).label });
  const address = { season, shards, shard: shardOf(userId, shards) };
  return ok({
    isKnown: () => within(toShardName(address), ANSWER_MS, shardStub(env, address).knows(address, userId)),
    correct: (change) =>
      within(toShardName(address), ANSWER_MS, shardStub(env, address).correct(address, userId, change)),
  });
}

/**
 * Erases a player in one season of a board, or in every season if no label is given. Can be repeated after a failure.
 * @returns the seasons, and whether the player had a score in any of them; `season_closing` while one of them is being archived.
 */
async function erasePlayer(
  env: Env,
  board: Board,
  userId: string,
  label: string | undefined,
): Promise<Result<{ isFound: boolean; seasons: string[] }, LeaderboardError>> {
  const clock = createClock(env);
  const now = clock();
  const current = seasonAt(now, board);
  const found = await findSeasonsToErase(env, board, label, now);
  if (!found.ok) return found;
  const seasons = found.value;
  const closing = seasons.find(({ state }) => state === 'closing');
  // Until the archive is published, the shards of a sealed season must stay as they are, because the archive is compared with them.
  if (closing !== undefined) return err({ kind: 'season_closing', season: readSeason(closing.season).label });
  let isFound = false;
  for (const { season, shards, archive, erasedAt } of seasons) {
    if (archive !== null && (await eraseFromArchive(env, archive, userId))) isFound = true;
    if (erasedAt !== null) continue;
    const address = { season, shards, shard: shardOf(userId, shards) };
    const isErased = within(toShardName(address), ANSWER_MS, shardStub(env, address).erase(address, userId));
    if (await isErased) isFound = true;
    if (archive !== null) continue;
    // The season object's snapshot of the shard may have the player's name, so it is loaded again.
    await within(season, ANSWER_MS, seasonStub(env, season).reload({ season, shards }, address.shard));
  }
  // If the season ended during the erasure, its archive may contain data that was read before the erasure.
  const isOver = seasonAt(clock(), board) !== current && seasons.some(({ season }) => season === current);
  if (isOver) return err({ kind: 'season_closing', season: readSeason(current).label });
  return ok({ isFound, seasons: seasons.map(({ season }) => season) });
}

async function findSeasonsToErase(
  env: Env,
  board: Board,
  label: string | undefined,
  now: number,
): Promise<Result<Season[], LeaderboardError>> {
  const store = createSeasonStore(env.DIRECTORY);
  if (label === undefined) return ok((await store.listAll(board.ref)).map((row) => toSeason(row, now)));
  const name = seasonNamed(label, board);
  const row = name === null ? null : await store.find(name);
  if (row !== null) return ok([toSeason(row, now)]);
  // The current season may have no row yet, because its first read or score creates the row.
  return name === seasonAt(now, board) ? ok([]) : err({ kind: 'unknown_season', season: label });
}
