/** Routes that end a season, restore a shard from its copy, or accept its loss. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type CopyFault, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  sendProblem,
  toValidationProblem,
} from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { seasonStub, shardStub, UnavailableError, within } from '../objects.ts';
import { createSeasonStore } from '../records/season-store.ts';
import { findSeason, forgetSeason } from '../seasons/seasons.ts';
import { OPERATOR } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';
import { seasonParamsOf, seasonSchema, toSeasonJson } from './season-routes.ts';

/** Time limit of a call to a season object that asks one of its shards. */
const ACCEPT_MS = 5_000;
/** Time limit of a restore, which reads all files of a copy twice. */
const RESTORE_MS = 300_000;

const NO_SHARD = problem(404, 'unknown_shard', 'The season has no shard of this number.');

const closeSchema = z.strictObject({ without: z.array(z.int().min(0).max(255)).max(256).optional() });
/** The body of a closing, which clients of 0.2.0 leave empty, also with `Content-Type: application/json`. So the route parses it. */
const closeBody = {
  required: false,
  content: {
    'application/json': {
      schema: {
        type: 'object' as const,
        additionalProperties: false,
        properties: {
          without: {
            type: 'array' as const,
            items: { type: 'integer' as const, minimum: 0, maximum: 255 },
            description: 'Numbers of shards that may be missing if they do not answer',
          },
        },
      },
    },
  },
};
const NOT_JSON = problem(400, 'bad_request', 'The body is not valid JSON.');

/** Parses the body of a closing. @returns the shards that may be missing. */
async function readWithout(c: Context<JsonApiEnv>): Promise<Result<readonly number[], Problem>> {
  const text = await c.req.text();
  let body: unknown;
  try {
    body = text === '' ? {} : JSON.parse(text);
  } catch {
    return err(NOT_JSON);
  }
  const { data, error } = closeSchema.safeParse(body);
  return error === undefined ? ok(data.without ?? []) : err(toValidationProblem(error));
}

export function addClosing(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const params = seasonParamsOf(mount);
  const close = createRoute({
    ...OPERATOR,
    method: 'post',
    path: `${mount.prefix}/seasons/{season}/close`,
    operationId: mount.idOf('closeSeason'),
    summary: 'Close a season that is over, without waiting for the next minute, or without shards that do not answer',
    request: { params, body: closeBody },
    responses: {
      200: jsonContent(seasonSchema, 'The season. In state `closing`, cron repeats it each minute'),
      ...problemResponses(400, 401, 403, 404, 409),
    },
  });
  api.openapi(close, async (c) => {
    const now = createClock(c.env)();
    const { season: label } = c.req.valid('param');
    const season = await findSeason(c.env, label, now, boardOf(c));
    if (!season.ok) return sendProblem(c, toProblem(season.error));
    if (season.value.state === 'current') {
      return sendProblem(c, toProblem({ kind: 'season_running', season: label }));
    }
    const name = season.value.season;
    const read = await readWithout(c);
    if (!read.ok) return sendProblem(c, read.error);
    const without = read.value;
    if (without.some((shard) => shard >= season.value.shards)) return sendProblem(c, NO_SHARD);
    await seasonStub(c.env, name)
      .close(season.value, without)
      .catch((error: unknown) => {
        throw new UnavailableError(name, error);
      });
    forgetSeason(name);
    const row = await createSeasonStore(c.env.DIRECTORY).find(name);
    if (row === null) return sendProblem(c, toProblem({ kind: 'unknown_season', season: label }));
    const details = without.length === 0 ? undefined : { without: without.join() };
    await recordAudit(c, 'season.close', { type: 'season', id: name }, details);
    return c.json(toSeasonJson(row, now), 200);
  });
}

/** Continues with the players that a shard still has. It answers nothing while it has far fewer players than before. */
export function addShardLoss(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const accept = createRoute({
    ...OPERATOR,
    method: 'post',
    path: `${mount.prefix}/seasons/{season}/shards/{shard}/accept-loss`,
    operationId: mount.idOf('acceptShardLoss'),
    summary: 'Continue with the players that a shard still has, after it lost others',
    request: { params: seasonParamsOf(mount).extend({ shard: z.coerce.number().int().min(0) }) },
    responses: {
      200: jsonContent(z.object({ shard: z.int(), players: z.int() }), 'The players that the shard has'),
      ...problemResponses(400, 401, 403, 404, 409, 503),
    },
  });
  api.openapi(accept, async (c) => {
    const { season: label, shard } = c.req.valid('param');
    const season = await findSeason(c.env, label, createClock(c.env)(), boardOf(c));
    if (!season.ok) return sendProblem(c, toProblem(season.error));
    if (season.value.archive !== null) return sendProblem(c, toProblem({ kind: 'not_current', season: label }));
    if (shard >= season.value.shards) return sendProblem(c, NO_SHARD);
    const name = season.value.season;
    await recordAudit(c, 'season.accept_loss', { type: 'season', id: name }, { shard });
    const accepted = seasonStub(c.env, name).acceptLoss(season.value, shard);
    const players = await within(name, ACCEPT_MS, accepted);
    const { shards } = season.value;
    const address = { season: name, shard, shards };
    // The shard writes its copies again. Without a copy there is nothing to take over.
    await Promise.resolve(shardStub(c.env, address).takeOverCopies(address)).catch((error: unknown) =>
      logError('leaderboard_copy_not_taken_over', error, { season: name, shard }),
    );
    return c.json({ shard, players }, 200);
  });
}

type Restored = Result<{ readonly players: number; readonly at: number }, CopyFault>;

/** Restores a shard that has lost its rows from its copy in R2. */
export function addShardRestore(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const restore = createRoute({
    ...OPERATOR,
    method: 'post',
    path: `${mount.prefix}/seasons/{season}/shards/{shard}/restore`,
    operationId: mount.idOf('restoreShard'),
    summary: 'Restore a shard that has lost its players from its copy, which is at most about an hour old',
    request: { params: seasonParamsOf(mount).extend({ shard: z.coerce.number().int().min(0) }) },
    responses: {
      200: jsonContent(z.object({ shard: z.int(), players: z.int(), as_of: z.string() }), 'The players of the copy'),
      ...problemResponses(400, 401, 403, 404, 409, 503),
    },
  });
  api.openapi(restore, async (c) => {
    const { season: label, shard } = c.req.valid('param');
    const found = await findSeason(c.env, label, createClock(c.env)(), boardOf(c));
    if (!found.ok) return sendProblem(c, toProblem(found.error));
    const { season, shards, archive, state } = found.value;
    if (archive !== null) return sendProblem(c, toProblem({ kind: 'not_current', season: label }));
    if (shard >= shards) return sendProblem(c, NO_SHARD);
    const address = { season, shard, shards };
    await recordAudit(c, 'season.restore_shard', { type: 'season', id: season }, { shard });
    const call: Promise<Restored> = Promise.resolve(shardStub(c.env, address).restore(address));
    const restored = await within(toShardName(address), RESTORE_MS, call);
    if (!restored.ok) return sendProblem(c, problem(409, restored.error.kind, restored.error.detail));
    const { players, at } = restored.value;
    if (state !== 'current')
      await within(season, ACCEPT_MS, seasonStub(c.env, season).reload({ season, shards }, shard));
    return c.json({ shard, players, as_of: new Date(at).toISOString() }, 200);
  });
}
