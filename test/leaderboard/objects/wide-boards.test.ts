/** Boards with more different scores than the shards count one by one, with scores in different parts of the range. */
import { createExecutionContext, env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { requestApi } from '../../support/json-api.ts';

const SHARDS = 4;
const PLAYERS = 40_000;
const BATCH = 1_000;
let token = 'root-of-tests';

interface Scored {
  user_info: { user_id: string; rank: number; score: number; rank_exact?: false };
  duplicate: boolean;
}

async function send(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, createExecutionContext());
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

async function createBoard(board: string, sort: 'asc' | 'desc'): Promise<void> {
  token = 'root-of-tests';
  const rules = { title: 'Wide', sort, operator: 'last', period: 'none', public: true, shards: SHARDS };
  await send('PUT', `/v1/boards/${board}`, { ...rules, max_points_per_post: 4_294_967_295 });
  const minted = await send('POST', '/v1/iam/tokens', { name: board, scopes: ['scores:write'] });
  token = (await minted.json<{ token: string }>()).token;
}

interface Board {
  readonly path: string;
  readonly scores: readonly number[];
  readonly rankOf: (score: number) => number;
}

/** A board whose players have the given scores. */
async function fill(sort: 'asc' | 'desc', scoreOf: (player: number) => number): Promise<Board> {
  const board = `wide-${crypto.randomUUID().slice(0, 8)}`;
  await createBoard(board, sort);
  const scores = Array.from({ length: PLAYERS }, (_, player) => scoreOf(player));
  for (let from = 0; from < PLAYERS; from += BATCH) {
    const updates = scores.slice(from, from + BATCH).map((points, i) => {
      return { userId: `p${from + i}`, points, userName: null, eventId: null, season: undefined };
    });
    const results = await writeScores(env, updates, board);
    expect(new Set(results.map(({ ok }) => ok))).toEqual(new Set([true]));
  }
  const rankOf = (score: number) =>
    1 + scores.filter((other) => (sort === 'asc' ? other < score : other > score)).length;
  return { path: `/v1/boards/${board}/scores`, scores, rankOf };
}

/** Largest error of an estimate here: the players of other shards in the score's bucket. */
const ERROR_MAX = 12;

/** Lets the shards exchange their counts. An exchange that took too long on a busy machine is repeated at a later time. */
async function settle({ path, scores, rankOf }: Board): Promise<void> {
  for (let round = 0; round < 20; round++) {
    vi.setSystemTime(Date.now() + 10_000);
    let worst = 0;
    for (let player = 0; player < 40; player++) {
      const points = scores[player] as number;
      const { user_info } = await (await send('POST', path, { user_id: `p${player}`, points })).json<Scored>();
      worst = Math.max(worst, Math.abs(user_info.rank - rankOf(points)));
    }
    if (worst <= ERROR_MAX) return;
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2046-05-10T12:00:00Z') });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Puts numbers in an order that looks random, without repetition. */
const shuffle = (n: number) => (n * 16_183) % PLAYERS;

describe.each([
  ['scores all over the range', 'desc', (player: number) => 1 + shuffle(player) * 100_003],
  ['scores close together, far from zero', 'desc', (player: number) => 1_000_000_000 + shuffle(player)],
  ['lap times', 'asc', (player: number) => 60_000 + shuffle(player)],
] as const)('a board with %s', (_, sort, scoreOf) => {
  it('asks no other shard for a post, estimates its rank well, and reads exact ranks', async () => {
    const board = await fill(sort, scoreOf);
    await settle(board);
    const asked = vi.spyOn(LeaderboardShard.prototype, 'countAbove');
    let estimates = 0;
    for (let player = 0; player < PLAYERS; player += 997) {
      const points = board.scores[player] as number;
      const event = { user_id: `p${player}`, points, event_id: `e${player}` };
      const first = await (await send('POST', board.path, event)).json<Scored>();
      const rank = board.rankOf(points);
      expect(Math.abs(first.user_info.rank - rank)).toBeLessThanOrEqual(ERROR_MAX);
      if (first.user_info.rank_exact === undefined) expect(first.user_info.rank).toBe(rank);
      else estimates++;
      expect(await (await send('POST', board.path, event)).json<Scored>()).toMatchObject({
        user_info: first.user_info,
        duplicate: true,
      });
    }
    expect([asked.mock.calls.length, estimates > 0]).toEqual([0, true]);
    for (let player = 0; player < PLAYERS; player += 997) {
      const points = board.scores[player] as number;
      const { user_info } = await (await send('GET', `${board.path}/p${player}`)).json<Scored>();
      expect(user_info).toMatchObject({ score: points, rank: board.rankOf(points), players: PLAYERS });
    }
    expect(asked.mock.calls.length).toBeGreaterThan(0);
  });
});

it('the rank of a post is exact if few scores are different', async () => {
  const board = await fill('desc', (player) => player % 40);
  await settle(board);
  const { user_info } = await (await send('POST', board.path, { user_id: 'p7', points: 7 })).json<Scored>();
  expect(user_info).toEqual({ ...user_info, rank: board.rankOf(7) });
  expect(user_info).not.toHaveProperty('rank_exact');
});

it('a lower score takes the place of a higher one, and the rank does not count it', async () => {
  const board = `last-${crypto.randomUUID().slice(0, 8)}`;
  await createBoard(board, 'desc');
  for (const points of [10, 5]) {
    const { user_info } = await (
      await send('POST', `/v1/boards/${board}/scores`, { user_id: 'only', points })
    ).json<Scored>();
    expect(user_info).toMatchObject({ score: points, rank: 1 });
  }
});
