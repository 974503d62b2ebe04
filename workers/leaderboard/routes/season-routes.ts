/** Routes of seasons: list, closing, distribution, state of the shards, and export as CSV. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { distributionQuerySchema, distributionSchema, exportQuerySchema, shardsSchema } from '../contract.ts';
import { toCsvCell } from '../domain/csv-cell.ts';
import { type ScoreRules, toShown } from '../domain/score-rules.ts';
import { readSeason } from '../domain/season-name.ts';
import type { RankedEntry } from '../domain/standing.ts';
import { createSeasonStore, type SeasonRow } from '../records/season-store.ts';
import { findSeason, toSeason } from '../seasons/seasons.ts';
import { readShards } from '../seasons/shard-status.ts';
import { openStandings } from '../standings/standings-opening.ts';
import { OPERATOR, PUBLIC } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

export const seasonSchema = z
  .object({
    season: z.string(),
    state: z.enum(['current', 'closing', 'historical']),
    players: z.int().nullable().openapi({ description: 'Number of players; null until the season is closed' }),
    closed_at: z.string().nullable(),
    without: z
      .array(z.int())
      .openapi({ description: 'Shards that the closed season lacks. Their last counts stay in ranks' }),
  })
  .openapi('Season');

/** Maximum number of parts (files or pages) of an export. Each takes two calls, and the platform allows 10,000 per request. */
const EXPORT_PARTS_MAX = 4_500;
export const seasonParamsOf = (mount: Mount) => z.object({ ...mount.params, season: mount.season });

export function addDistribution(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const distribution = createRoute({
    ...PUBLIC,
    method: 'get',
    path: `${mount.prefix}/seasons/{season}/distribution`,
    operationId: mount.idOf('getScoreDistribution'),
    summary: 'Players per range of scores, in at most `limit` ranges of equal width',
    request: { params: seasonParamsOf(mount), query: distributionQuerySchema },
    responses: {
      200: jsonContent(distributionSchema, 'In ascending order, without gaps; at most one second old'),
      ...problemResponses(400, 404, 503),
    },
  });
  api.openapi(distribution, async (c) => {
    const { limit } = c.req.valid('query');
    const { season } = c.req.valid('param');
    const opened = await openStandings(c.env, season, undefined, boardOf(c));
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { ranges, players, asOf } = await opened.value.reader.distribution(limit);
    return c.json(
      { data: [...ranges], total: ranges.length, season, players, as_of: new Date(asOf).toISOString() },
      200,
    );
  });
}

export function addSeasons(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const params = seasonParamsOf(mount);
  const list = createRoute({
    ...PUBLIC,
    method: 'get',
    path: `${mount.prefix}/seasons`,
    operationId: mount.idOf('listSeasons'),
    summary: 'The seasons, newest first',
    request: { ...mount.inPath, query: pageQuerySchema },
    responses: { 200: jsonContent(pageSchema(seasonSchema), 'A page of seasons'), ...problemResponses(400, 404) },
  });
  api.openapi(list, async (c) => {
    const now = createClock(c.env)();
    const current = await findSeason(c.env, undefined, now, boardOf(c));
    if (!current.ok) return sendProblem(c, toProblem(current.error));
    const { board } = readSeason(current.value.season);
    const store = createSeasonStore(c.env.DIRECTORY);
    return sendPage(c, c.req.valid('query'), {
      read: (before, limit) => store.list(board, before === '' ? null : before, limit),
      keyOf: (row) => row.season,
      toItem: (row) => toSeasonJson(row, now),
    });
  });

  const exportRoute = createRoute({
    ...OPERATOR,
    method: 'get',
    path: `${mount.prefix}/seasons/{season}/export`,
    operationId: mount.idOf('exportSeason'),
    summary: 'The whole standings as CSV. If the stream is cut, continue after the last player',
    request: { params, query: exportQuerySchema },
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
    const { season: label } = c.req.valid('param');
    const opened = await openStandings(c.env, label, undefined, boardOf(c));
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const parts = reader.rows(c.req.valid('query').after ?? null);
    // The first part is read before the response begins, so that an error of it becomes an HTTP status.
    const first = await parts.next();
    if (first.value === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    await recordAudit(c, 'season.export', { type: 'season', id: season.season });
    return unchecked(
      new Response(streamCsv(readSeason(season.season).rules, first.value ?? [], parts), {
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="${boardOf(c) ?? 'leaderboard'}-${label}.csv"`,
          'cache-control': 'no-store',
        },
      }),
    );
  });

  const shards = createRoute({
    ...OPERATOR,
    method: 'get',
    path: `${mount.prefix}/seasons/{season}/shards`,
    operationId: mount.idOf('listShards'),
    summary: 'The parts of a live season, and which of them do not answer',
    request: { params },
    responses: { 200: jsonContent(shardsSchema, 'The shards'), ...problemResponses(400, 401, 403, 404, 409) },
  });
  api.openapi(shards, async (c) => {
    const { season: label } = c.req.valid('param');
    const season = await findSeason(c.env, label, createClock(c.env)(), boardOf(c));
    if (!season.ok) return sendProblem(c, toProblem(season.error));
    if (season.value.archive !== null) {
      return sendProblem(c, toProblem({ kind: 'not_current', season: label }));
    }
    const found = await readShards(c.env, season.value);
    const data = (found ?? []).map(({ shard, isAvailable, players, asOf }) => {
      return { shard, available: isAvailable, players, as_of: new Date(asOf).toISOString() };
    });
    return c.json({ season: label, available: found !== null, data }, 200);
  });
}

export const toSeasonJson = (row: SeasonRow, now: number) => ({
  season: readSeason(row.season).label,
  state: toSeason(row, now).state,
  players: row.players,
  closed_at: row.closedAt === null ? null : new Date(row.closedAt).toISOString(),
  without: [...toSeason(row, now).without],
});

/**
 * Writes the CSV export as a stream. Reads further parts only as fast as the client reads the stream. If a part cannot be read, the
 * stream breaks off.
 */
function streamCsv(
  rules: ScoreRules,
  first: readonly RankedEntry[],
  parts: AsyncGenerator<readonly RankedEntry[] | null>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const toLines = (entries: readonly RankedEntry[]) =>
    entries.map(({ rank, userId, userName, score }) => {
      return `${rank},${toCsvCell(userId)},${toCsvCell(userName)},${toShown(rules, score)}\r\n`;
    });
  let sent = 0;
  return new ReadableStream({
    start: (controller) =>
      controller.enqueue(encoder.encode(['rank,user_id,user_name,score\r\n', ...toLines(first)].join(''))),
    async pull(controller) {
      if (++sent > EXPORT_PARTS_MAX) throw new Error('the export needs more calls than one request may make');
      const { value, done } = await parts.next();
      if (done) return controller.close();
      controller.enqueue(encoder.encode(toLines(value ?? []).join('')));
    },
    async cancel() {
      await parts.return(null);
    },
  });
}
