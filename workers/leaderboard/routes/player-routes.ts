/** `GET …/players`: finds players of a season by the beginning of their names. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { addressesOf, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { requireOperator } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { DEFAULT_BOARD } from '../boards/boards.ts';
import { listSchema, textOf } from '../contract.ts';
import { foldName, mergeNames } from '../domain/name-search.ts';
import { toListJson } from '../domain/standings-json.ts';
import { shardStub, within } from '../objects.ts';
import { createBoardStore } from '../records/board-store.ts';
import { openStandings } from '../standings/standings-opening.ts';
import { PUBLIC } from './callers.ts';
import { toProblem } from './errors.ts';
import { boardOf, type Mount } from './mounts.ts';

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 50;
/** Time limit of a shard, which writes the names of its players at its first search. */
const SEARCH_MS = 15_000;

export function addPlayers(api: OpenAPIHono<JsonApiEnv>, mount: Mount): void {
  const query = z.strictObject({
    name: textOf(64).openapi({ description: 'Beginning of the name. Case does not matter', example: 'Gra' }),
    season: mount.season.optional(),
    limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT_DEFAULT),
  });
  const find = createRoute({
    ...PUBLIC,
    method: 'get',
    path: `${mount.prefix}/players`,
    operationId: mount.idOf('findPlayers'),
    summary: 'Find players by the beginning of their names. Without `find_by_name` of the board, only for operators',
    request: { ...mount.inPath, query },
    responses: {
      200: jsonContent(listSchema, 'By name, with their ranks. `next_cursor` is null'),
      ...problemResponses(400, 401, 403, 404, 409, 429, 503),
    },
  });
  api.openapi(find, async (c) => {
    const { name, season: label, limit } = c.req.valid('query');
    const board = boardOf(c);
    if (c.req.header('authorization') === undefined) {
      const row = await createBoardStore(c.env.DIRECTORY).find(board ?? DEFAULT_BOARD.board);
      if (!row?.findsNames) return sendProblem(c, toProblem({ kind: 'names_not_searched' }));
    } else {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
    }
    const opened = await openStandings(c.env, label, undefined, board);
    if (!opened.ok) return sendProblem(c, toProblem(opened.error));
    const { season, reader } = opened.value;
    const asked = addressesOf(season).filter(({ shard }) => !season.without.includes(shard));
    const found = await Promise.all(
      asked.map((address) =>
        within(toShardName(address), SEARCH_MS, shardStub(c.env, address).findNames(address, foldName(name), limit)),
      ),
    );
    const userIds = mergeNames(found, limit).map(({ userId }) => userId);
    const { entries, players, asOf } =
      userIds.length === 0
        ? { ...(await reader.page(null, 1, false)), entries: [] }
        : await reader.standings(userIds, false);
    const shown = entries.filter((entry) => entry !== null);
    return c.json(toListJson(season.season, { entries: shown, players, asOf, next: null }), 200);
  });
}
