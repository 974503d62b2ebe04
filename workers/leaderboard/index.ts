/**
 * The leaderboard: game servers write scores, everyone reads standings.
 *
 * By design: reads are public, so any page may read them (CORS `*`). Only a `scores:write` token changes a score.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { createClock } from '../shared/clock.ts';
import { createJsonApi, type JsonApiEnv } from '../shared/json-api.ts';
import { logError } from '../shared/log.ts';
import { seasonAt } from './domain/season-name.ts';
import { seasonStub } from './live-standings.ts';
import { addCorrections, addOperatorRoutes } from './operator-routes.ts';
import { createSeasonStore } from './records/season-store.ts';
import { addScores } from './score-routes.ts';
import { addDistribution, addSeasons } from './season-routes.ts';
import { addStandings } from './standings-routes.ts';

export const leaderboardApi = createLeaderboardApi();

function createLeaderboardApi(): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi();
  for (const path of ['/v1/scores', '/v1/scores/*', '/v1/seasons', '/v1/seasons/:season/distribution']) {
    api.use(path, async (c, next) => {
      if (isReadPreflight(c.req.raw)) return c.body(null, 204, PREFLIGHT_HEADERS);
      await next();
      const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
      if (!isRead || c.res.status === 101) return;
      c.res.headers.set('cache-control', 'no-store');
      if (c.req.path.endsWith('/corrections')) return;
      c.res.headers.set('access-control-allow-origin', '*');
      c.res.headers.set('access-control-expose-headers', 'x-request-id');
      c.res.headers.append('vary', 'Accept');
    });
  }
  addScores(api);
  addStandings(api);
  addSeasons(api);
  addDistribution(api);
  addOperatorRoutes(api);
  addCorrections(api);
  return api;
}

/** Answers a browser's preflight of a read with custom headers. Pages may never write. */
const PREFLIGHT_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
};
const isReadPreflight = (request: Request) =>
  request.method === 'OPTIONS' &&
  /^(GET|HEAD)$/.test(request.headers.get('access-control-request-method') ?? '') &&
  !new URL(request.url).pathname.endsWith('/corrections');

/** Minute of each hour. */
const COUNT_MINUTE = 41;

/**
 * Each minute: continues closing past months, until their objects are erased. Each hour: records the number of players
 * of the current month in DIRECTORY. A closing compares it with the shards before it archives them, so lost shards are
 * noticed.
 */
export async function runLeaderboardSchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const current = seasonAt(createClock(env)());
  const store = createSeasonStore(env.DIRECTORY);
  for (const { season, shards } of await store.listUnfinished(current)) {
    await seasonStub(env, season)
      .close({ season, shards })
      .catch((error: unknown) => logError('leaderboard_close_failed', error, { season }));
  }
  if (new Date(controller.scheduledTime).getUTCMinutes() === COUNT_MINUTE) await recordPlayers(env, current);
}

/** Records the number of players of a season, if the season has a row. */
export async function recordPlayers(env: Env, season: string): Promise<void> {
  const store = createSeasonStore(env.DIRECTORY);
  const row = await store.find(season);
  if (row === null) return;
  const { players } = await seasonStub(env, season).top({ season, shards: row.shards }, 1);
  await store.recordPlayers(season, players);
}
