/**
 * The leaderboard's door: scores in from game servers, standings out to everybody.
 *
 * By design: reads are public, so any page may read them (CORS `*`); nothing but a `scores:write` token moves a score.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { createClock } from '../shared/clock.ts';
import { createJsonApi, type JsonApiEnv } from '../shared/json-api.ts';
import { logError } from '../shared/log.ts';
import { seasonAt } from './domain/season-name.ts';
import { seasonStub } from './live-standings.ts';
import { addCorrections, addOperatorRoutes } from './operator-routes.ts';
import { addScores } from './score-routes.ts';
import { addDistribution, addSeasons } from './season-routes.ts';
import { createSeasonStore } from './season-store.ts';
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

/** A browser asks first when a page adds a header of its own to a read. Writes are never allowed to pages. */
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

/** Of each hour. */
const COUNT_MINUTE = 41;

/**
 * Each minute: months that are over go on closing, until their objects are erased. Each hour: the number of players of the
 * current month is recorded in DIRECTORY, so that shards that were lost are noticed before an archive is made of them.
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

/** Counts the players of a season, if it has a row. */
export async function recordPlayers(env: Env, season: string): Promise<void> {
  const store = createSeasonStore(env.DIRECTORY);
  const row = await store.find(season);
  if (row === null) return;
  const { players } = await seasonStub(env, season).top({ season, shards: row.shards }, 1);
  await store.recordPlayers(season, players);
}
