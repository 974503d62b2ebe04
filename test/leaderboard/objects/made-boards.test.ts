/** Tests boards that a first post makes: who may, their rules, one object, their rate and growth, and deletion beside a new board. */
import {
  createExecutionContext,
  env,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { findBoard } from '../../../workers/leaderboard/boards/boards.ts';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { createBoardStore } from '../../../workers/leaderboard/records/board-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { requestApi } from '../../support/json-api.ts';

const RULES = { title: 'Level', sort: 'asc', operator: 'best', period: 'day', public: true };
const ROOT = 'root-of-tests';
const SHARDS = 3;

/** The environment that answers calls. */
let deployment: Env = env;

async function call(method: string, path: string, body?: unknown, token = ROOT) {
  const headers = { 'content-type': 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(deployment, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const json: any = text === '' ? null : JSON.parse(text);
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: json };
}

const tokenWith = async (...scopes: string[]): Promise<string> =>
  (await call('POST', '/v1/iam/tokens', { name: 'game', scopes })).body.token;

const cron = () =>
  runLeaderboardSchedule({ scheduledTime: Date.now(), cron: '* * * * *', noRetry() {} }, env, createExecutionContext());

async function seasonOf(board: string) {
  const [row] = await createSeasonStore(env.DIRECTORY).listAll((await findBoard(env, board))?.ref ?? '');
  if (row === undefined) throw new Error(`${board} has no season`);
  return row;
}

let maker = 0;
/** Creates a board that makes others. @returns the beginning of their names, and a token that may make them. */
async function furnish(rules = {}): Promise<{ prefix: string; token: string }> {
  const prefix = `m${++maker}-${crypto.randomUUID().slice(0, 6)}-`;
  expect((await call('PUT', `/v1/boards/${prefix}x`, { ...RULES, makes_boards: prefix, ...rules })).status).toBe(200);
  return { prefix, token: await tokenWith('scores:write', 'boards:create') };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.parse('2051-03-10T12:00:00Z'));
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  deployment = env;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('a first post makes a board with the rules of its maker, if the token may', async () => {
  const { prefix, token } = await furnish({ decimals: 3, max_points_per_post: 100_000 });
  const board = `${prefix}17`;
  const post = (name: string, secret: string, points = 83_211) =>
    call('POST', `/v1/boards/${name}/scores`, { user_id: 'ada', points, event_id: 'e1' }, secret);
  expect((await post(board, await tokenWith('scores:write'))).body.code).toBe('unknown_board');
  expect((await post(`other-${board}`, token)).body.code).toBe('unknown_board');
  const answers = await Promise.all([post(board, token), post(board, token), post(board, token)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers.filter(({ body }) => !body.duplicate)).toHaveLength(1);
  const made = (await call('GET', `/v1/boards/${board}`)).body;
  expect(made).toMatchObject({ title: 'Level 17', sort: 'asc', operator: 'best', decimals: 3, shards: 1 });
  expect(made.makes_boards).toBe(null);
  expect((await post(`${prefix}18`, token, 100_001)).body.code).toBe('invalid_request');
  const batch = {
    updates: [
      { user_id: 'ada', points: 5 },
      { user_id: 'bo', points: 4 },
    ],
  };
  const { results } = (await call('POST', `/v1/boards/${prefix}19/scores/batch`, batch, token)).body;
  expect(results.map((result: { user_info: { rank: number } }) => result.user_info.rank)).toEqual([1, 1]);
  const listed = async (query: string) =>
    (await call('GET', `/v1/boards?${query}`, undefined, '')).body.data.map((each: { board: string }) => each.board);
  expect(await listed(`prefix=${prefix}1`)).toEqual([board, `${prefix}18`, `${prefix}19`]);
  expect(await listed(`prefix=${prefix}1&limit=1`)).toEqual([board]);
});

it('one object takes the posts; the season object hears of them only while somebody reads', async () => {
  const { prefix, token } = await furnish({ period: 'none' });
  const board = `${prefix}1`;
  const opened = vi.spyOn(LeaderboardSeason.prototype, 'openLine');
  const post = (points: number) => call('POST', `/v1/boards/${board}/scores`, { user_id: `p${points}`, points }, token);
  expect((await post(50)).body.user_info).toMatchObject({ rank: 1, season: 'all' });
  await vi.waitFor(() => expect(opened).toHaveBeenCalled());
  const row = await seasonOf(board);
  // The first exchange of a shard's life tells the season that it lives. It is over when nothing is left to push.
  await new Promise((resolve) => setTimeout(resolve, 400));
  const before = opened.mock.calls.length;
  for (let points = 1; points < 10; points++) {
    vi.setSystemTime(Date.now() + 30_000);
    expect((await post(points)).body.user_info.rank).toBe(1 + points - 1);
  }
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(opened.mock.calls.length).toBe(before);
  const list = await call('GET', `/v1/boards/${board}/scores?limit=3`, undefined, '');
  expect(list.body.data.map((entry: { score: number }) => entry.score)).toEqual([1, 2, 3]);
  await vi.waitFor(() => expect(opened.mock.calls.length).toBeGreaterThan(before));
  // Cron neither asks nor prepares anything for it. The shard itself records its players.
  const shard = shardStub(env, { season: row.season, shard: 0, shards: 1 });
  expect(row).toMatchObject({ shards: 1, dueAt: null });
  await runDurableObjectAlarm(shard as DurableObjectStub);
  expect((await seasonOf(board)).playersSeen).toBe(10);
});

it('answers 429 beyond its rate, counts nothing then, and has more shards in its next season', async () => {
  const { prefix, token } = await furnish();
  const board = `${prefix}1`;
  const one = (userId: string) => ({ user_id: userId, points: 5, event_id: userId });
  expect((await call('POST', `/v1/boards/${board}/scores`, one('first'), token)).status).toBe(200);
  const row = await seasonOf(board);
  const address = { season: row.season, shard: 0, shards: 1 };
  const stub = shardStub(env, address) as DurableObjectStub<LeaderboardShard>;
  const update = { userId: 'late', points: 5, userName: null, eventId: 'late' };
  await runInDurableObject(stub, async (shard) => {
    for (let second = 0; second < 31; second++) {
      vi.setSystemTime(Date.now() + 1_000);
      for (let i = 0; i < 3; i++) await shard.score(address, [], undefined, 1);
    }
    const { results } = await shard.score(address, [update], undefined, 1);
    expect(results[0]).toMatchObject({ ok: false, error: { kind: 'board_busy' } });
    // As many as one call may bring, so that the next post is refused.
    await shard.score(
      address,
      Array.from({ length: 20_000 }, (_, i) => ({ ...update, userId: `p${i}` })),
      undefined,
      500,
    );
  });
  const refused = await call('POST', `/v1/boards/${board}/scores`, one('late'), token);
  expect([refused.status, refused.body.code, refused.retryAfter]).toEqual([429, 'board_busy', '1']);
  expect((await call('GET', `/v1/boards/${board}/scores/late`)).status).toBe(404);
  vi.setSystemTime(Date.now() + 2_000);
  const counted = await call('POST', `/v1/boards/${board}/scores`, one('late'), token);
  expect([counted.status, counted.body.duplicate]).toEqual([200, false]);
  await runDurableObjectAlarm(stub);
  vi.setSystemTime(Date.parse('2051-03-11T12:00:00Z'));
  await call('POST', `/v1/boards/${board}/scores`, one('next'), token);
  expect((await call('GET', `/v1/boards/${board}`)).body.shards).toBe(SHARDS);
  expect(await seasonOf(board)).toMatchObject({ season: expect.stringContaining('2051-03-11'), shards: SHARDS });
});

it('a board without an end has more shards after a reset', async () => {
  const { prefix, token } = await furnish({ period: 'none' });
  const board = `${prefix}1`;
  const post = (points: number) => call('POST', `/v1/boards/${board}/scores`, { user_id: 'ada', points }, token);
  expect((await post(7)).body.user_info).toMatchObject({ season: 'all', score: 7 });
  const rules = { ...RULES, title: 'Level 1', period: 'none', shards: SHARDS };
  expect((await call('PUT', `/v1/boards/${board}`, rules)).status).toBe(200);
  const { season } = (await call('POST', `/v1/boards/${board}/reset`)).body;
  vi.setSystemTime(Date.now() + 31_000);
  expect((await post(9)).body.user_info).toMatchObject({ season, score: 9 });
  const rows = await createSeasonStore(env.DIRECTORY).listAll((await findBoard(env, board))?.ref ?? '');
  expect(rows.map(({ shards }) => shards).sort()).toEqual([1, SHARDS]);
});

it('an operator changes the shards of the next season; only boards with several are limited', async () => {
  const { prefix } = await furnish();
  const put = (name: string, rules = {}) => call('PUT', `/v1/boards/${prefix}${name}`, { ...RULES, ...rules });
  expect((await put('a')).body.shards).toBe(1);
  expect((await put('a', { shards: 4 })).body.shards).toBe(4);
  expect((await put('a')).body.shards).toBe(4);
  expect((await put('b', { shards: 257 })).status).toBe(400);
  const store = createBoardStore(env.DIRECTORY);
  const row = await store.find(`${prefix}a`);
  if (row === null) throw new Error('the board has no row');
  for (let i = await store.countSharded(); i < 100; i++) await store.add({ ...row, board: `${prefix}s${i}` });
  expect((await put('b', { shards: 2 })).body.code).toBe('too_many_boards');
  expect((await put('b')).body.shards).toBe(1);
  expect((await put('a', { title: 'As before' })).body.shards).toBe(4);
});

it('a deployment has so many boards, and one that is deleted makes room', async () => {
  const { prefix, token } = await furnish();
  const store = createBoardStore(env.DIRECTORY);
  const post = (name: string) =>
    call('POST', `/v1/boards/${prefix}${name}/scores`, { user_id: 'ada', points: 7 }, token);
  const put = (name: string) => call('PUT', `/v1/boards/${prefix}${name}`, RULES);
  // A count that another test had would hold for ten seconds.
  vi.setSystemTime(Date.now() + 11_000);
  deployment = { ...env, LEADERBOARD_BOARDS: String((await store.count()) + 2) };
  expect([(await put('1')).status, (await post('2')).status]).toEqual([200, 200]);
  const refused = await post('3');
  expect([refused.status, refused.body.code]).toEqual([409, 'board_limit_reached']);
  expect((await put('4')).body.code).toBe('board_limit_reached');
  expect(await store.find(`${prefix}3`)).toBe(null);
  // Boards that exist change and take posts as before.
  expect([(await put('1')).status, (await post('2')).status]).toEqual([200, 200]);
  expect((await call('DELETE', `/v1/boards/${prefix}1`)).status).toBe(204);
  expect((await put('4')).status).toBe(200);
  // A refused post does not count the boards again: a million of them would read as many rows as there are boards, each.
  const counts = vi.spyOn(env.DIRECTORY, 'prepare');
  for (let i = 0; i < 3; i++) expect((await post(`5-${i}`)).body.code).toBe('board_limit_reached');
  expect(counts.mock.calls.filter(([query]) => /count\(/i.test(query))).toEqual([]);
});

it('a deleted name is free at once, and a post by an isolate that still has the old board counts in the new one', async () => {
  const { prefix, token } = await furnish();
  const board = `${prefix}1`;
  const post = (userId: string) =>
    call('POST', `/v1/boards/${board}/scores`, { user_id: userId, points: 7, event_id: `e-${userId}` }, token);
  await post('ada');
  const old = await findBoard(env, board);
  const row = await seasonOf(board);
  expect((await call('DELETE', `/v1/boards/${board}`)).status).toBe(204);
  expect((await call('GET', `/v1/boards/${board}/scores`)).status).toBe(404);
  // Another isolate, which has the old board for ten seconds more, posts to its shard.
  const address = { season: row.season, shard: 0, shards: 1 };
  const update = { userId: 'bo', points: 7, userName: null, eventId: 'e-bo' };
  const { results } = await shardStub(env, address).score(address, [update]);
  expect(results[0]).toMatchObject({ ok: false, error: { kind: 'season_sealed' } });
  expect((await post('bo')).status).toBe(200);
  const next = await findBoard(env, board);
  expect(next?.ref).not.toBe(old?.ref);
  const { data } = (await call('GET', `/v1/boards/${board}/scores?exact=1`)).body;
  expect(data.map((entry: { user_id: string }) => entry.user_id)).toEqual(['bo']);
  vi.setSystemTime(Date.now() + 61_000);
  await cron();
  expect(await createSeasonStore(env.DIRECTORY).listAll(old?.ref ?? '')).toEqual([]);
  expect((await call('GET', `/v1/boards/${board}/scores?exact=1`)).body.players).toBe(1);
});

it('a name whose old shard does not answer is free once no isolate has the old board', async () => {
  const { prefix, token } = await furnish();
  const board = `${prefix}1`;
  const post = () => call('POST', `/v1/boards/${board}/scores`, { user_id: 'ada', points: 7 }, token);
  await post();
  vi.spyOn(LeaderboardShard.prototype, 'seal').mockRejectedValue(new Error('a silent shard'));
  expect((await call('DELETE', `/v1/boards/${board}`)).status).toBe(204);
  expect((await call('PUT', `/v1/boards/${board}`, RULES)).body.code).toBe('board_being_deleted');
  expect((await post()).status).toBe(503);
  vi.setSystemTime(Date.now() + 10_001);
  expect((await post()).status).toBe(200);
});
