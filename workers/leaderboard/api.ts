/**
 * The JSON API of the leaderboard.
 *
 * By design: reads are public, so any page may read them (CORS `*`). Only a `scores:write` token changes a score.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { readClient, UNKNOWN_CLIENT } from '../identity/index.ts';
import { admitToRoute, createRoutes, type JsonApiEnv, rateLimited, sendProblem } from '../shared/json/json-api.ts';
import { addBoards, admitReader } from './routes/board-routes.ts';
import { addClosing, addShardLoss, addShardRestore } from './routes/closing-routes.ts';
import { addErasure, addErasures } from './routes/erasure-routes.ts';
import { addLogos } from './routes/logo-routes.ts';
import { BOARD_MOUNT, DEFAULT_MOUNT } from './routes/mounts.ts';
import { addOperatorRoutes } from './routes/operator-routes.ts';
import { addPlays } from './routes/play-routes.ts';
import { addPlayers } from './routes/player-routes.ts';
import { addBans, addQuarantine } from './routes/quarantine-routes.ts';
import { addReset } from './routes/reset-routes.ts';
import { addScores } from './routes/score-routes.ts';
import { addDistribution, addSeasons } from './routes/season-routes.ts';
import { addNeighbors, addStandings } from './routes/standings-routes.ts';
import { addWebhooks } from './routes/webhook-routes.ts';

export function createApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  // `/scores/*` also matches `/scores`. A second pattern that matches would count each read twice.
  const publicPaths = ['/scores/*', '/players', '/seasons', '/seasons/:season/distribution'];
  for (const path of [
    '/v1/boards',
    '/v1/boards/:board',
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
    addNeighbors(api, mount);
    addPlayers(api, mount);
    addSeasons(api, mount);
    addClosing(api, mount);
    addDistribution(api, mount);
    addShardLoss(api, mount);
    addShardRestore(api, mount);
    addOperatorRoutes(api, mount);
    addErasures(api, mount);
  }
  addBoards(api);
  addReset(api);
  addPlays(api);
  addQuarantine(api);
  addBans(api);
  addErasure(api);
  addLogos(api);
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
