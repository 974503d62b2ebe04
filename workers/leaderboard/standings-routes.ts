/** Public reads: the list and its pages, one player, neighbors of a player. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../shared/json-api.ts';
import { problem } from '../shared/problem.ts';
import {
  listQuerySchema,
  listSchema,
  neighborsQuerySchema,
  neighborsSchema,
  playerSchema,
  seasonQuerySchema,
  userParamsSchema,
} from './contract.ts';
import { compareStandings } from './domain/standing.ts';
import { readCursor, toEntryJson, toListJson } from './domain/standings-json.ts';
import { toProblem } from './errors.ts';
import { seasonStub } from './live-standings.ts';
import type { Season } from './seasons.ts';
import { openStandings } from './standings-opening.ts';

const ONLY_THE_TOP_IS_LIVE = problem(400, 'invalid_request', 'Only the top list is live. Omit cursor and user_ids.');

const PUBLIC = { tags: ['leaderboard'], security: [], method: 'get' as const };

export function addStandings(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...PUBLIC,
    path: '/v1/scores',
    operationId: 'listScores',
    summary: 'The best players. A stream with `Accept: text/event-stream` or a WebSocket upgrade',
    request: { query: listQuerySchema },
    responses: { 200: jsonContent(listSchema, 'A page of the list'), ...problemResponses(400, 404, 503) },
  });
  api.openapi(list, async (c) => {
    const { limit, cursor, season: name, user_ids: userIds } = c.req.valid('query');
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
      const { entries, players, asOf } = await reader.standings(userIds);
      const found = entries.filter((entry) => entry !== null).sort(compareStandings);
      return c.json(toListJson(season.season, { entries: found, players, asOf, next: null }), 200);
    }
    return c.json(toListJson(season.season, await reader.page(after?.key ?? null, limit)), 200);
  });

  const player = createRoute({
    ...PUBLIC,
    path: '/v1/scores/{user_id}',
    operationId: 'getScore',
    summary: 'Score, rank and percentile of one player',
    request: { params: userParamsSchema, query: seasonQuerySchema },
    responses: { 200: jsonContent(playerSchema, 'The player'), ...problemResponses(400, 404, 503) },
  });
  api.openapi(player, async (c) => {
    const opened = await openStandings(c.env, c.req.valid('query').season);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const { entries, players, asOf } = await reader.standings([c.req.valid('param').user_id]);
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
    responses: { 200: jsonContent(neighborsSchema, 'In list order'), ...problemResponses(400, 404, 503) },
  });
  api.openapi(neighbors, async (c) => {
    const { radius, season: name } = c.req.valid('query');
    const opened = await openStandings(c.env, name);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const found = await reader.neighbors(c.req.valid('param').user_id, radius);
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
  const url = `https://season/live?season=${season}&shards=${shards}&limit=${limit}`;
  const upgrade = c.req.header('upgrade');
  const response = await seasonStub(c.env, season).fetch(url, upgrade ? { headers: { upgrade } } : {});
  // Response headers from an object are immutable; those of a copy are not.
  return response.status === 101 ? response : new Response(response.body, response);
}
