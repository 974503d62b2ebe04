/** Public reads of standings: the list and its pages, one player, and the neighbors of a player. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type {
  StandingsPage,
  StandingsReader,
  ViewAddress,
  Viewer,
} from '../../../durable-objects/leaderboard/protocol.ts';
import { readClient } from '../../identity/index.ts';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import {
  listQuerySchemaOf,
  listSchema,
  neighborsQuerySchemaOf,
  neighborsSchema,
  playerQuerySchemaOf,
  playerSchema,
  TOP_LIMIT_DEFAULT,
  userIdSchema,
} from '../contract.ts';
import { readSeason } from '../domain/season-name.ts';
import { compareStandings, rankRun, type StandingKey } from '../domain/standing.ts';
import { readCursor, toEntryJson, toListJson } from '../domain/standings-json.ts';
import { UnavailableError, viewStub, within } from '../objects.ts';
import type { Season } from '../seasons/seasons.ts';
import { withData } from '../standings/entry-data.ts';
import { openStandings } from '../standings/standings-opening.ts';
import { PUBLIC, readRegion } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

const ONLY_THE_TOP_IS_LIVE = problem(
  400,
  'invalid_request',
  'Only the top list is live. Omit cursor, from_rank and user_ids.',
);

const OPEN_MS = 3_000;
/** Maximum difference between the clocks of two machines, rounded up. */
const CLOCKS_APART_MS = 1_000;
const FUTURE_TIME = problem(400, 'invalid_request', 'min_as_of is in the future.');
/** Maximum number of views per region, with 10,000 viewers each. */
const VIEWS_PER_REGION_MAX = 16;
const ONE_START = problem(400, 'invalid_request', 'Send one of cursor, from_rank and user_ids.');
const AMONG_WHOM = problem(400, 'invalid_request', 'among needs user_ids.');
const NO_PAGE_OF_IDS = problem(400, 'invalid_request', 'user_ids has no pages. Omit limit and cursor.');
const TOO_MANY_VIEWERS = problem(
  429,
  'rate_limited',
  'This client has too many live connections. Close one, or share one connection among several views.',
  { retryAfterSeconds: 10 },
);

const READ = { ...PUBLIC, method: 'get' as const };

interface PageQuery {
  readonly key: StandingKey | null;
  readonly fromRank: number | undefined;
  readonly limit: number;
  readonly isExact: boolean;
  readonly minAsOf: number | undefined;
}

/** Reads the page after a key, or the page that begins at a rank. It is as old as the older of the counts that it used. */
async function readPage(reader: StandingsReader, query: PageQuery): Promise<StandingsPage> {
  const { key, fromRank = 1, limit, isExact, minAsOf } = query;
  if (fromRank === 1) return reader.page(key, limit, isExact, minAsOf);
  const start = await reader.keyAtRank(fromRank, isExact, minAsOf);
  const page = await reader.page(start.key, limit, isExact, minAsOf);
  return { ...page, asOf: Math.min(start.asOf, page.asOf) };
}

export function addStandings(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const userParams = z.object({ ...mount.params, user_id: userIdSchema });
  const list = createRoute({
    ...READ,
    path: `${mount.prefix}/scores`,
    operationId: mount.idOf('listScores'),
    summary: 'The best players. A stream with `Accept: text/event-stream` or a WebSocket upgrade',
    request: { ...mount.inPath, query: listQuerySchemaOf(mount.season) },
    responses: {
      200: {
        description:
          'A page of the list. The data of each event of a stream, and each message of a WebSocket, is a first page',
        content: { 'application/json': { schema: listSchema }, 'text/event-stream': { schema: listSchema } },
      },
      ...problemResponses(400, 404, 429, 503),
    },
  });
  api.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const { limit = TOP_LIMIT_DEFAULT, cursor, season: name, user_ids: userIds, exact, min_as_of: minAsOf } = query;
    if (userIds !== undefined && (cursor ?? query.limit) !== undefined) {
      return sendProblem(c, NO_PAGE_OF_IDS);
    }
    const { from_rank: fromRank, among } = query;
    if (fromRank !== undefined && (cursor ?? userIds) !== undefined) return sendProblem(c, ONE_START);
    if (among !== undefined && userIds === undefined) return sendProblem(c, AMONG_WHOM);
    const after = cursor === undefined ? null : readCursor(cursor);
    if (cursor !== undefined && (after === null || (name !== undefined && name !== after.season))) {
      return sendProblem(c, INVALID_CURSOR);
    }
    if (isLive(c) && (after ?? userIds ?? fromRank)) return sendProblem(c, ONLY_THE_TOP_IS_LIVE);
    if (!(await reachTime(c.env, minAsOf))) return sendProblem(c, FUTURE_TIME);
    const opened = await openStandings(c.env, name ?? after?.season, readRegion(c), boardOf(c));
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    if (isLive(c)) return unchecked(await watch(c, season, limit));
    if (userIds !== undefined) {
      const { entries, players, asOf } = await reader.standings(userIds, exact === '1', minAsOf);
      checkAge(season, asOf, minAsOf);
      const found = entries.filter((entry) => entry !== null).sort(compareStandings);
      const entriesShown = among === '1' ? rankRun(found, 0, 1) : found;
      return c.json(await toList(c, season, { entries: entriesShown, players, asOf, next: null }), 200);
    }
    const page = await readPage(reader, { key: after?.key ?? null, fromRank, limit, isExact: exact === '1', minAsOf });
    checkAge(season, page.asOf, minAsOf);
    return c.json(await toList(c, season, page), 200);
  });

  const player = createRoute({
    ...READ,
    path: `${mount.prefix}/scores/{user_id}`,
    operationId: mount.idOf('getScore'),
    summary: 'Score, rank and percentile of one player',
    request: { params: userParams, query: playerQuerySchemaOf(mount.season) },
    responses: { 200: jsonContent(playerSchema, 'The player'), ...problemResponses(400, 404, 429, 503) },
  });
  api.openapi(player, async (c) => {
    const { season: name, exact, min_as_of: minAsOf } = c.req.valid('query');
    if (!(await reachTime(c.env, minAsOf))) return sendProblem(c, FUTURE_TIME);
    const opened = await openStandings(c.env, name, undefined, boardOf(c));
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const { entries, players, asOf } = await reader.standings([c.req.valid('param').user_id], exact === '1', minAsOf);
    checkAge(season, asOf, minAsOf);
    const entry = entries[0];
    if (!entry) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { label, rules } = readSeason(season.season);
    const user_info = {
      ...toEntryJson(rules, entry),
      season: label,
      players,
      percentile: percentileOf(entry.rank, players),
    };
    const [shown = user_info] = await addData(c, season, [user_info]);
    return c.json({ user_info: shown, as_of: new Date(asOf).toISOString() }, 200);
  });
}

export function addNeighbors(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const userParams = z.object({ ...mount.params, user_id: userIdSchema });
  const neighbors = createRoute({
    ...READ,
    path: `${mount.prefix}/scores/{user_id}/neighbors`,
    operationId: mount.idOf('listNeighbors'),
    summary: 'The players above and below one',
    request: { params: userParams, query: neighborsQuerySchemaOf(mount.season) },
    responses: { 200: jsonContent(neighborsSchema, 'In list order'), ...problemResponses(400, 404, 429, 503) },
  });
  api.openapi(neighbors, async (c) => {
    const { radius, season: name, exact, full } = c.req.valid('query');
    const opened = await openStandings(c.env, name, undefined, boardOf(c));
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const found = await reader.neighbors(c.req.valid('param').user_id, radius, exact === '1', full === '1');
    if (found === null) return sendProblem(c, toProblem({ kind: 'unknown_player' }));
    const { label, rules } = readSeason(season.season);
    const data = await addData(
      c,
      season,
      found.entries.map((entry) => toEntryJson(rules, entry)),
    );
    const as_of = new Date(found.asOf).toISOString();
    return c.json({ data, total: data.length, season: label, as_of }, 200);
  });
}

/** Percent of the players whose score is not higher than that of a rank, with two decimals. */
const percentileOf = (rank: number, players: number): number =>
  Math.round((10_000 * (players - rank + 1)) / players) / 100;

const addData = <E extends { readonly user_id: string }>(
  c: Context<JsonApiEnv>,
  season: Season,
  entries: readonly E[],
) => withData(c.env, boardOf(c), season, entries);

/** The JSON of a page, with the data of its entries. */
async function toList(c: Context<JsonApiEnv>, season: Season, page: StandingsPage) {
  const list = toListJson(season.season, page);
  return { ...list, data: await addData(c, season, list.data) };
}

const isLive = (c: Context<JsonApiEnv>): boolean =>
  c.req.header('upgrade')?.toLowerCase() === 'websocket' ||
  (c.req.header('accept') ?? '').includes('text/event-stream');

/**
 * Waits until our clock reaches a time that came from the clock of another machine.
 * @returns false if the time is too far ahead.
 */
async function reachTime(env: Env, at = 0): Promise<boolean> {
  const aheadMs = at - createClock(env)();
  if (aheadMs > CLOCKS_APART_MS) return false;
  if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  return true;
}

/** Checks that live standings are as of `minAsOf` or later. @throws UnavailableError if they are older. */
function checkAge({ season, archive }: Season, asOf: number, minAsOf = 0): void {
  if (archive === null && asOf < minAsOf) throw new UnavailableError(season, `it is as of ${asOf}, not ${minAsOf}`);
}

/** Forwards a viewer to a view of its region. If that view is full, the next view of the region is tried. */
async function watch(c: Context<JsonApiEnv>, { season, shards, state }: Season, limit: number): Promise<Response> {
  if (state === 'historical')
    return sendProblem(c, toProblem({ kind: 'not_current', season: readSeason(season).label }));
  const upgrade = c.req.header('upgrade');
  const client = readClient(c.req.raw.headers);
  const perClient = settingsOf(c.env).LIVE_VIEWERS_PER_CLIENT;
  for (let number = 0; number < VIEWS_PER_REGION_MAX; number++) {
    const view = `${readRegion(c)}:${number}`;
    const viewer: ViewAddress & Viewer = { season, shards, view, limit, client, perClient };
    const url = `https://view/live?${encodeURIComponent(JSON.stringify(viewer))}`;
    const opened = viewStub(c.env, season, view).fetch(url, upgrade ? { headers: { upgrade } } : {});
    const response = await within(view, OPEN_MS, opened);
    if (response.status === 429) return sendProblem(c, TOO_MANY_VIEWERS);
    if (response.status === 503) continue;
    // The response headers of an object are immutable, so the response is copied. The copy's headers can be changed.
    return response.status === 101 ? response : new Response(response.body, response);
  }
  throw new UnavailableError(season, 'all views of the region are full');
}
