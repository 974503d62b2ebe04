/** Operator route that corrects, hides or shows a player in a season. The audit log keeps the reasons. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type CorrectedPlayer, type Correction, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { rankExactSchema, userIdSchema } from '../contract.ts';
import { isScore, toShown, toStored } from '../domain/score-rules.ts';
import { boardOfRef, readSeason } from '../domain/season-name.ts';
import { shardOf } from '../domain/shard-map.ts';
import { toRankJson } from '../domain/standings-json.ts';
import { seasonStub, shardStub, within } from '../objects.ts';
import { findSeason, forgetSeason, type Season } from '../seasons/seasons.ts';
import { correctInArchive, isInArchive } from '../standings/archive-changes.ts';
import { openStandings } from '../standings/standings-opening.ts';
import { OPERATOR } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

/** Time limit of calls to objects. It is longer than elsewhere, because a correction of a past season writes the list of the shard. */
const ANSWER_MS = 30_000;

const correctionSchema = z
  .strictObject({
    score: z.int().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER).optional(),
    hidden: z.boolean().optional(),
    reason: z.string().min(1).max(1_000),
  })
  .refine((change) => change.score !== undefined || change.hidden !== undefined, 'must have score, hidden or both')
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
  const correct = createRoute({
    ...OPERATOR,
    path: `${mount.prefix}/scores/{user_id}`,
    method: 'patch' as const,
    operationId: mount.idOf('correctScore'),
    summary: 'Correct a score, hide a banned player or show one again. The reason is kept in the audit log',
    request: {
      params: z.object({ ...mount.params, user_id: userIdSchema }),
      query: z.strictObject({
        season: mount.season
          .optional()
          .openapi({ description: 'The current or a past season. Default: the current one.' }),
      }),
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
    const find = () => findSeason(c.env, c.req.valid('query').season, createClock(c.env)(), boardOf(c));
    let found = await find();
    // An archived season may have moved into its shards since this isolate read of it.
    if (found.ok && found.value.archive !== null && forgetSeason(found.value.season)) found = await find();
    if (!found.ok) return sendProblem(c, toProblem(found.error));
    const player = openPlayer(c.env, found.value, userId);
    if (!(await player.isKnown())) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { season } = found.value;
    const { label, rules } = readSeason(season);
    if (score !== undefined && !isScore(rules, score)) return sendProblem(c, toProblem({ kind: 'no_such_score' }));
    // The reason is recorded before the change: a change without a reason must not exist, but a reason without its change is
    // harmless.
    await recordAudit(c, 'player.correct', { type: 'player', id: userId }, { season, score, hidden, reason });
    const change = {
      ...(score === undefined ? {} : { score: toStored(rules, score) }),
      ...(hidden === undefined ? {} : { hidden }),
    };
    const corrected = await player.correct(change);
    if (corrected === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { userName, rank, isEstimated = false, isHidden } = corrected;
    const shown = { score: toShown(rules, corrected.score), season: label, hidden: isHidden };
    const user_info = { user_id: userId, user_name: userName, ...toRankJson({ rank, isEstimated }), ...shown };
    return c.json({ user_info }, 200);
  });
}

interface SeasonPlayer {
  isKnown(): Promise<boolean>;
  /** Corrects the player. @returns the new state; null if the player is gone. */
  correct(change: Correction): Promise<CorrectedPlayer | null>;
}

/** Opens a player of a season, in the player's shard or in the archive. */
function openPlayer(env: Env, { season, shards, state, archive }: Season, userId: string): SeasonPlayer {
  const now = createClock(env);
  if (archive !== null) {
    return {
      isKnown: () => isInArchive(env, archive, userId),
      correct: (change) => correctInArchive(env, archive, userId, change, now()),
    };
  }
  const address = { season, shards, shard: shardOf(userId, shards) };
  const name = toShardName(address);
  return {
    isKnown: () => within(name, ANSWER_MS, shardStub(env, address).knows(address, userId)),
    async correct(change) {
      const corrected = await within(name, ANSWER_MS, shardStub(env, address).correct(address, userId, change));
      if (corrected === null || state === 'current') return corrected;
      // The counts of a sealed shard do not change by themselves. The rank is known after the season has them.
      await within(season, ANSWER_MS, seasonStub(env, season).reload({ season, shards }, address.shard));
      const opened = await openStandings(
        env,
        readSeason(season).label,
        undefined,
        boardOfRef(readSeason(season).board),
      );
      const found = opened.ok ? (await opened.value.reader.standings([userId], false)).entries[0] : null;
      return { ...corrected, rank: found?.rank ?? null, isEstimated: false };
    },
  };
}
