/**
 * The leaderboard: game servers write scores, everyone reads standings.
 *
 * By design: reads are public, so any page may read them (CORS `*`). Only a `scores:write` token changes a score.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { readClient, UNKNOWN_CLIENT } from '../identity/index.ts';
import { createClock } from '../shared/clock.ts';
import { admitToRoute, createJsonApi, type JsonApiEnv, rateLimited, sendProblem } from '../shared/json-api.ts';
import { logError } from '../shared/log.ts';
import { settingsOf } from '../shared/settings.ts';
import { eraseDeletedBoards } from './board-deletion.ts';
import { addBoards, admitReader } from './board-routes.ts';
import { seasonAt } from './domain/season-name.ts';
import { toProblem } from './errors.ts';
import { BOARD_MOUNT, DEFAULT_MOUNT } from './mounts.ts';
import { seasonStub, shardStub, UnavailableError } from './objects.ts';
import { addOperatorRoutes } from './operator-routes.ts';
import { createSeasonStore } from './records/season-store.ts';
import { addScores } from './score-routes.ts';
import { addDistribution, addSeasons } from './season-routes.ts';
import { addStandings } from './standings-routes.ts';
import { addWebhooks } from './webhook-routes.ts';
import { sendNotices } from './webhooks.ts';

export { findSilentObjects } from './shard-status.ts';
export { webhookSecrets } from './webhooks.ts';

export const leaderboardApi = createLeaderboardApi();

function createLeaderboardApi(): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi((error) => {
    if (!(error instanceof UnavailableError)) return null;
    logError('leaderboard_part_unavailable', error);
    return toProblem({ kind: 'unavailable' });
  });
  // `/scores/*` includes `/scores`. A second match would count each read twice.
  const publicPaths = ['/scores/*', '/seasons', '/seasons/:season/distribution'];
  for (const path of [
    '/v1/boards',
    ...['/v1', '/v1/boards/:board'].flatMap((base) => publicPaths.map((end) => base + end)),
  ]) {
    api.use(path, async (c, next) => {
      if (isReadPreflight(c.req.raw)) return c.body(null, 204, PREFLIGHT_HEADERS);
      const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
      if (isRead && !(await admitRead(c))) c.res = sendProblem(c, rateLimited('client'));
      else await next();
      if (!isRead || c.res.status === 101) return;
      c.res.headers.set('cache-control', 'no-store');
      c.res.headers.set('access-control-allow-origin', '*');
      c.res.headers.set('access-control-expose-headers', EXPOSED_HEADERS);
      c.res.headers.append('vary', 'Accept');
    });
  }
  api.use('/v1/boards/:board/*', admitReader);
  for (const mount of [DEFAULT_MOUNT, BOARD_MOUNT]) {
    addScores(api, mount);
    addStandings(api, mount);
    addSeasons(api, mount);
    addDistribution(api, mount);
    addOperatorRoutes(api, mount);
  }
  addBoards(api);
  addWebhooks(api);
  return api;
}

const EXPOSED_HEADERS = 'x-request-id, retry-after, ratelimit-policy, ratelimit';

/** Applies the request rate of a client to a read. */
async function admitRead(c: Context<JsonApiEnv>): Promise<boolean> {
  const client = readClient(c.req.raw.headers);
  return client === UNKNOWN_CLIENT || admitToRoute(c, 'client', client);
}

/** Answers a browser's preflight of a read with custom headers. Pages may never write. */
const PREFLIGHT_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
};
const isReadPreflight = (request: Request) =>
  request.method === 'OPTIONS' && /^(GET|HEAD)$/.test(request.headers.get('access-control-request-method') ?? '');

/** Minute of each hour. */
const HOURLY_MINUTE = 41;
const DAY_MS = 86_400_000;

/**
 * Each minute: erases deleted boards, and continues closing past seasons, until their objects are erased. Each hour: records
 * the number of players of the current seasons in DIRECTORY, and on the last day of a month creates the objects of the next one. A closing
 * compares the number with the shards before it archives them, so lost shards are noticed.
 */
export async function runLeaderboardSchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const now = createClock(env)();
  const store = createSeasonStore(env.DIRECTORY);
  await eraseDeletedBoards(env, now);
  for (const { season, shards } of await store.listUnfinished(now)) {
    await seasonStub(env, season)
      .close({ season, shards })
      .catch((error: unknown) => logError('leaderboard_close_failed', error, { season }));
  }
  await sendNotices(env, now);
  if (new Date(controller.scheduledTime).getUTCMinutes() !== HOURLY_MINUTE) return;
  const next = seasonAt(now + DAY_MS);
  if (next !== seasonAt(now)) await prepareSeason(env, next);
  for (const { season } of await store.listCurrent(now)) {
    await recordPlayers(env, season).catch((error: unknown) => logError('leaderboard_count_failed', error, { season }));
  }
}

/** Records the number of players of a season, if the season has a row. */
export async function recordPlayers(env: Env, season: string): Promise<void> {
  const store = createSeasonStore(env.DIRECTORY);
  const row = await store.find(season);
  if (row === null) return;
  await store.recordPlayers(season, await seasonStub(env, season).players({ season, shards: row.shards }));
}

/** Creates the objects of a season at the set location, instead of near the first player. */
export async function prepareSeason(env: Env, season: string): Promise<void> {
  const shards = settingsOf(env).LEADERBOARD_SHARDS;
  const addresses = Array.from({ length: shards }, (_, shard) => ({ season, shard, shards }));
  await Promise.all([
    seasonStub(env, season).prepare(),
    ...addresses.map((address) => shardStub(env, address).prepare()),
  ]);
}
