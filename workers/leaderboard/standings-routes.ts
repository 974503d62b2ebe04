/** Public reads: the list and its pages, one player, neighbors of a player. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { readClient } from '../identity/index.ts';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../shared/json-api.ts';
import { problem } from '../shared/problem.ts';
import { settingsOf } from '../shared/settings.ts';
import {
  listQuerySchema,
  listSchema,
  neighborsQuerySchema,
  neighborsSchema,
  playerQuerySchema,
  playerSchema,
  TOP_LIMIT_DEFAULT,
  userParamsSchema,
} from './contract.ts';
import { compareStandings } from './domain/standing.ts';
import { readCursor, toEntryJson, toListJson } from './domain/standings-json.ts';
import { toProblem } from './errors.ts';
import { seasonStub, within } from './objects.ts';
import type { Season } from './seasons.ts';
import { openStandings } from './standings-opening.ts';

const ONLY_THE_TOP_IS_LIVE = problem(400, 'invalid_request', 'Only the top list is live. Omit cursor and user_ids.');

/** Time to open a stream. */
const OPEN_MS = 3_000;
const NO_PAGE_OF_IDS = problem(400, 'invalid_request', 'user_ids has no pages. Omit limit and cursor.');
const TOO_MANY_VIEWERS = problem(
  429,
  'rate_limited',
  'This client has too many live connections. Close one, or share one connection among several views.',
  { retryAfterSeconds: 10 },
);

const PUBLIC = { tags: ['leaderboard'], security: [], method: 'get' as const };

export function addStandings(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...PUBLIC,
    path: '/v1/scores',
    operationId: 'listScores',
    summary: 'The best players. A stream with `Accept: text/event-stream` or a WebSocket upgrade',
    request: { query: listQuerySchema },
    responses: { 200: jsonContent(listSchema, 'A page of the list'), ...problemResponses(400, 404, 429, 503) },
  });
  api.openapi(list, async (c) => {
    const { limit = TOP_LIMIT_DEFAULT, cursor, season: name, user_ids: userIds, exact } = c.req.valid('query');
    if (userIds !== undefined && (cursor ?? c.req.valid('query').limit) !== undefined) {
      return sendProblem(c, NO_PAGE_OF_IDS);
    }
    const after = cursor === undefined ? null : readCursor(cursor);
    if (cursor !== undefined && (after === null || (name !== undefined && name !== after.season))) {
      return sendProblem(c, INVALID_CURSOR);
    }
    if (isLive(c) && (after ?? userIds)) return sendProblem(c, ONLY_THE_TOP_IS_LIVE);
    const opened = await openStandings(c.env, name ?? after?.season);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    if (isLive(c)) return unchecked(await watch(c, season, limit));
    if (userIds !== undefined) {
      const { entries, players, asOf } = await reader.standings(userIds, exact === '1');
      const found = entries.filter((entry) => entry !== null).sort(compareStandings);
      return c.json(toListJson(season.season, { entries: found, players, asOf, next: null }), 200);
    }
    return c.json(toListJson(season.season, await reader.page(after?.key ?? null, limit, exact === '1')), 200);
  });

  const player = createRoute({
    ...PUBLIC,
    path: '/v1/scores/{user_id}',
    operationId: 'getScore',
    summary: 'Score, rank and percentile of one player',
    request: { params: userParamsSchema, query: playerQuerySchema },
    responses: { 200: jsonContent(playerSchema, 'The player'), ...problemResponses(400, 404, 429, 503) },
  });
  api.openapi(player, async (c) => {
    const { season: name, exact } = c.req.valid('query');
    const opened = await openStandings(c.env, name);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const { entries, players, asOf } = await reader.standings([c.req.valid('param').user_id], exact === '1');
    const entry = entries[0];
    if (!entry) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const percentile = Math.round((10_000 * (players - entry.rank + 1)) / players) / 100;
    const user_info = { ...toEntryJson(entry), season: season.season, players, percentile };
    return c.json({ user_info, as_of: new Date(asOf).toISOString() }, 200);
  });

  const neighbors = createRoute({
    ...PUBLIC,
    path: '/v1/scores/{user_id}/neighbors',
    operationId: 'listNeighbors',
    summary: 'The players above and below one',
    request: { params: userParamsSchema, query: neighborsQuerySchema },
    responses: { 200: jsonContent(neighborsSchema, 'In list order'), ...problemResponses(400, 404, 429, 503) },
  });
  api.openapi(neighbors, async (c) => {
    const { radius, season: name, exact } = c.req.valid('query');
    const opened = await openStandings(c.env, name);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const found = await reader.neighbors(c.req.valid('param').user_id, radius, exact === '1');
    if (found === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const data = found.entries.map(toEntryJson);
    const as_of = new Date(found.asOf).toISOString();
    return c.json({ data, total: data.length, season: season.season, as_of }, 200);
  });
}

const isLive = (c: Context<JsonApiEnv>): boolean =>
  c.req.header('upgrade')?.toLowerCase() === 'websocket' ||
  (c.req.header('accept') ?? '').includes('text/event-stream');

/** Forwards a viewer to the season object, which holds the connection. */
async function watch(c: Context<JsonApiEnv>, { season, shards, state }: Season, limit: number): Promise<Response> {
  if (state === 'historical') return sendProblem(c, toProblem({ kind: 'not_current', season }));
  const viewer = new URLSearchParams({
    client: readClient(c.req.raw.headers),
    per_client: String(settingsOf(c.env).LIVE_VIEWERS_PER_CLIENT),
  });
  const url = `https://season/live?season=${season}&shards=${shards}&limit=${limit}&${viewer}`;
  const upgrade = c.req.header('upgrade');
  const opened = seasonStub(c.env, season).fetch(url, upgrade ? { headers: { upgrade } } : {});
  const response = await within(season, OPEN_MS, opened);
  if (response.status === 429) return sendProblem(c, TOO_MANY_VIEWERS);
  // Response headers from an object are immutable; those of a copy are not.
  return response.status === 101 ? response : new Response(response.body, response);
}
