/** Routes of seasons: list, close, distribution, export as CSV. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { createClock } from '../shared/clock.ts';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  readCursorKey,
  sendProblem,
  toPage,
  unchecked,
} from '../shared/json-api.ts';
import { operatorOnly } from './callers.ts';
import { distributionQuerySchema, distributionSchema, seasonParamsSchema } from './contract.ts';
import { readDistribution } from './distribution-cache.ts';
import { toCsvCell } from './domain/csv-cell.ts';
import { seasonAt } from './domain/season-name.ts';
import type { StandingKey } from './domain/standing.ts';
import { toProblem } from './errors.ts';
import { seasonStub } from './live-standings.ts';
import { createSeasonStore, type SeasonRow } from './records/season-store.ts';
import { findSeason, forgetSeason, toSeason } from './seasons.ts';
import { openStandings } from './standings-opening.ts';
import type { StandingsReader } from './standings-reader.ts';

const seasonSchema = z
  .object({
    season: z.string(),
    state: z.enum(['current', 'closing', 'historical']),
    players: z.int().nullable().openapi({ description: 'Number of players; null until the season is closed' }),
    closed_at: z.string().nullable(),
  })
  .openapi('Season');

const TAGS = { tags: ['leaderboard'] };
const PUBLIC = { ...TAGS, security: [] };
const OPERATOR = { ...TAGS, security: [{ bearer: [] }], middleware: operatorOnly };
const EXPORT_PAGE = 2_000;
/** Sorts before every player. A first page with this key may have any size. */
const START: StandingKey = { score: Number.MAX_SAFE_INTEGER, reached: 0, userId: '' };

export function addDistribution(api: OpenAPIHono<JsonApiEnv>): void {
  const distribution = createRoute({
    ...PUBLIC,
    method: 'get',
    path: '/v1/seasons/{season}/distribution',
    operationId: 'getScoreDistribution',
    summary: 'Players per range of scores, in at most `limit` ranges of equal width',
    request: { params: seasonParamsSchema, query: distributionQuerySchema },
    responses: {
      200: jsonContent(distributionSchema, 'In ascending order, without gaps; at most one second old'),
      ...problemResponses(400, 404, 503),
    },
  });
  api.openapi(distribution, async (c) => {
    const { limit } = c.req.valid('query');
    const opened = await openStandings(c.env, c.req.valid('param').season);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season } = opened.value.season;
    const { ranges, players, asOf } = await readDistribution(opened.value, limit);
    return c.json(
      { data: [...ranges], total: ranges.length, season, players, as_of: new Date(asOf).toISOString() },
      200,
    );
  });
}

export function addSeasons(api: OpenAPIHono<JsonApiEnv>): void {
  const list = createRoute({
    ...PUBLIC,
    method: 'get',
    path: '/v1/seasons',
    operationId: 'listSeasons',
    summary: 'The seasons, newest first',
    request: { query: pageQuerySchema },
    responses: { 200: jsonContent(pageSchema(seasonSchema), 'A page of seasons'), ...problemResponses(400) },
  });
  api.openapi(list, async (c) => {
    const { limit, cursor } = c.req.valid('query');
    const before = readCursorKey(cursor);
    if (before === null) return sendProblem(c, INVALID_CURSOR);
    const now = createClock(c.env)();
    await findSeason(c.env, undefined, now);
    const found = await createSeasonStore(c.env.DIRECTORY).list(before === '' ? null : before, limit + 1);
    const { rows, next_cursor } = toPage(found, limit, (row) => row.season);
    return c.json({ data: rows.map((row) => toSeasonJson(row, now)), next_cursor }, 200);
  });

  const close = createRoute({
    ...OPERATOR,
    method: 'post',
    path: '/v1/seasons/{season}/close',
    operationId: 'closeSeason',
    summary: 'Close a month that is over, without waiting for the next minute',
    request: { params: seasonParamsSchema },
    responses: {
      200: jsonContent(seasonSchema, 'The state of the season. A season in state `closing` continues by itself'),
      ...problemResponses(400, 401, 403, 404, 409),
    },
  });
  api.openapi(close, async (c) => {
    const now = createClock(c.env)();
    const { season: name } = c.req.valid('param');
    const season = await findSeason(c.env, name, now);
    if (!season.ok) return sendProblem(c, toProblem(season.error));
    if (season.value.state === 'current') {
      return sendProblem(c, toProblem({ kind: 'season_running', season: name }));
    }
    if (season.value.erasedAt === null) await seasonStub(c.env, name).close(season.value);
    forgetSeason(name);
    const row = await createSeasonStore(c.env.DIRECTORY).find(name);
    if (row === null) return sendProblem(c, toProblem({ kind: 'unknown_season', season: name }));
    return c.json(toSeasonJson(row, now), 200);
  });

  const exportRoute = createRoute({
    ...OPERATOR,
    method: 'get',
    path: '/v1/seasons/{season}/export',
    operationId: 'exportSeason',
    summary: 'The whole standings as CSV',
    request: { params: seasonParamsSchema },
    responses: {
      200: {
        description:
          "rank,user_id,user_name,score. A text that begins with = + - @ or ' has an apostrophe before it, so it is no formula",
        content: { 'text/csv': { schema: z.string() } },
      },
      ...problemResponses(401, 403, 404),
    },
  });
  api.openapi(exportRoute, async (c) => {
    const opened = await openStandings(c.env, c.req.valid('param').season);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    return unchecked(
      new Response(streamCsv(reader), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="leaderboard-${season.season}.csv"`,
          'cache-control': 'no-store',
        },
      }),
    );
  });
}

const toSeasonJson = (row: SeasonRow, now: number) => ({
  season: row.season,
  state: toSeason(row, seasonAt(now)).state,
  players: row.players,
  closed_at: row.closedAt === null ? null : new Date(row.closedAt).toISOString(),
});

/** Reads further pages only as fast as the client reads the stream. */
function streamCsv(reader: StandingsReader): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let after: StandingKey | null = START;
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode('rank,user_id,user_name,score\r\n')),
    async pull(controller) {
      if (after === null) return controller.close();
      const page = await reader.page(after, EXPORT_PAGE);
      after = page.next;
      const lines = page.entries.map(
        ({ rank, userId, userName, score }) => `${rank},${toCsvCell(userId)},${toCsvCell(userName)},${score}\r\n`,
      );
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.join('')));
      if (after === null) controller.close();
    },
  });
}
