/**
 * The leaderboard's door: scores in from game servers, standings out to everybody.
 *
 * By design: reads are public, so any page may read them (CORS `*`); nothing but a `scores:write` token moves a score.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { createJsonApi, type JsonApiEnv } from '../shared/json-api.ts';
import { addScores } from './score-routes.ts';
import { addStandings } from './standings-routes.ts';

export const leaderboardApi = createLeaderboardApi();

function createLeaderboardApi(): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi();
  for (const path of ['/v1/scores', '/v1/scores/*', '/v1/seasons']) {
    api.use(path, async (c, next) => {
      await next();
      const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
      if (!isRead || c.res.status === 101) return;
      c.res.headers.set('access-control-allow-origin', '*');
      c.res.headers.set('access-control-expose-headers', 'x-request-id');
      c.res.headers.set('cache-control', 'no-store');
      c.res.headers.append('vary', 'Accept');
    });
  }
  addScores(api);
  addStandings(api);
  return api;
}

export async function runLeaderboardSchedule(
  _controller: ScheduledController,
  _env: Env,
  _ctx: ExecutionContext,
): Promise<void> {}
