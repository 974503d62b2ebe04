/** Routes of seasons: list, close, distribution, state of the shards, export as CSV. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../shared/audit.ts';
import { createClock } from '../shared/clock.ts';
import {
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
  unchecked,
} from '../shared/json-api.ts';
import { operatorOnly } from './callers.ts';
import {
  distributionQuerySchema,
  distributionSchema,
  exportQuerySchema,
  seasonParamsSchema,
  shardsSchema,
} from './contract.ts';
import { toCsvCell } from './domain/csv-cell.ts';
import { seasonAt } from './domain/season-name.ts';
import type { RankedEntry } from './domain/standing.ts';
import { toProblem } from './errors.ts';
import { seasonStub, UnavailableError } from './objects.ts';
import { createSeasonStore, type SeasonRow } from './records/season-store.ts';
import { findSeason, forgetSeason, toSeason } from './seasons.ts';
import { readShards } from './shard-status.ts';
import { openStandings } from './standings-opening.ts';

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
/** Below the 10,000 calls that the platform allows per request, with two per file or page. */
const EXPORT_PARTS_MAX = 4_500;

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
    const { ranges, players, asOf } = await opened.value.reader.distribution(limit);
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
    const now = createClock(c.env)();
    await findSeason(c.env, undefined, now);
    const store = createSeasonStore(c.env.DIRECTORY);
    return sendPage(c, c.req.valid('query'), {
      read: (before, limit) => store.list(before === '' ? null : before, limit),
      keyOf: (row) => row.season,
      toItem: (row) => toSeasonJson(row, now),
    });
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
    if (season.value.erasedAt === null) {
      await seasonStub(c.env, name)
        .close(season.value)
        .catch((error: unknown) => {
          throw new UnavailableError(name, error);
        });
    }
    forgetSeason(name);
    const row = await createSeasonStore(c.env.DIRECTORY).find(name);
    if (row === null) return sendProblem(c, toProblem({ kind: 'unknown_season', season: name }));
    await recordAudit(c, 'season.close', { type: 'season', id: name });
    return c.json(toSeasonJson(row, now), 200);
  });

  const exportRoute = createRoute({
    ...OPERATOR,
    method: 'get',
    path: '/v1/seasons/{season}/export',
    operationId: 'exportSeason',
    summary: 'The whole standings as CSV. If the stream is cut, continue after the last player',
    request: { params: seasonParamsSchema, query: exportQuerySchema },
    responses: {
      200: {
        description:
          "rank,user_id,user_name,score. A text that begins with = + - @ or ' has an apostrophe before it, so it is no formula",
        content: { 'text/csv': { schema: z.string() } },
      },
      ...problemResponses(400, 401, 403, 404, 503),
    },
  });
  api.openapi(exportRoute, async (c) => {
    const opened = await openStandings(c.env, c.req.valid('param').season);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const parts = reader.rows(c.req.valid('query').after ?? null);
    // The first part is read before the answer begins, so that its errors have a status.
    const first = await parts.next();
    if (first.value === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    await recordAudit(c, 'season.export', { type: 'season', id: season.season });
    return unchecked(
      new Response(streamCsv(first.value ?? [], parts), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="leaderboard-${season.season}.csv"`,
          'cache-control': 'no-store',
        },
      }),
    );
  });

  const shards = createRoute({
    ...OPERATOR,
    method: 'get',
    path: '/v1/seasons/{season}/shards',
    operationId: 'listShards',
    summary: 'The parts of a live season, and which of them do not answer',
    request: { params: seasonParamsSchema },
    responses: { 200: jsonContent(shardsSchema, 'The shards'), ...problemResponses(400, 401, 403, 404, 409) },
  });
  api.openapi(shards, async (c) => {
    const season = await findSeason(c.env, c.req.valid('param').season, createClock(c.env)());
    if (!season.ok) return sendProblem(c, toProblem(season.error));
    if (season.value.archive !== null) {
      return sendProblem(c, toProblem({ kind: 'not_current', season: season.value.season }));
    }
    const found = await readShards(c.env, season.value);
    const data = (found ?? []).map(({ shard, isAvailable, players, asOf }) => {
      return { shard, available: isAvailable, players, as_of: new Date(asOf).toISOString() };
    });
    return c.json({ season: season.value.season, available: found !== null, data }, 200);
  });
}

const toSeasonJson = (row: SeasonRow, now: number) => ({
  season: row.season,
  state: toSeason(row, seasonAt(now)).state,
  players: row.players,
  closed_at: row.closedAt === null ? null : new Date(row.closedAt).toISOString(),
});

/** Reads further parts only as fast as the client reads the stream. If a part cannot be read, the stream breaks off. */
function streamCsv(
  first: readonly RankedEntry[],
  parts: AsyncGenerator<readonly RankedEntry[] | null>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const toLines = (entries: readonly RankedEntry[]) =>
    entries.map(({ rank, userId, userName, score }) => {
      return `${rank},${toCsvCell(userId)},${toCsvCell(userName)},${score}\r\n`;
    });
  let sent = 0;
  return new ReadableStream({
    start: (controller) =>
      controller.enqueue(encoder.encode(['rank,user_id,user_name,score\r\n', ...toLines(first)].join(''))),
    async pull(controller) {
      if (++sent > EXPORT_PARTS_MAX) throw new Error('the export is longer than a request may be');
      const { value, done } = await parts.next();
      if (done) return controller.close();
      controller.enqueue(encoder.encode(toLines(value ?? []).join('')));
    },
    async cancel() {
      await parts.return(null);
    },
  });
}
