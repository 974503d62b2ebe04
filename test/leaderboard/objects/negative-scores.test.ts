/** Tests boards with negative scores: every answer has them, and events, ranks, distributions and corrections count them. */
import { createExecutionContext, env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { requestApi } from '../../support/json-api.ts';

let board: string;
let token: string;

async function call(method: string, path: string, body?: unknown, bearer = 'root-of-tests') {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, createExecutionContext());
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  return { status: response.status, text, body: (text.startsWith('{') ? JSON.parse(text) : null) as any };
}
const at = (path: string) => `/v1/boards/${board}${path}`;
const post = (user_id: string, points: number, more = {}) =>
  call('POST', at('/scores'), { user_id, points, ...more }, token);
const list = async () =>
  (await call('GET', at('/scores?exact=1'))).body.data.map(
    ({ rank, user_id, score }: { rank: number; user_id: string; score: number }) => `${rank} ${user_id} ${score}`,
  );

async function makeBoard(rules: object): Promise<void> {
  board = `n-${crypto.randomUUID().slice(0, 8)}`;
  const all = { title: 'Golf', sort: 'desc', operator: 'sum', period: 'none', public: true, negative: true, ...rules };
  const made = await call('PUT', at(''), all);
  expect([made.status, made.body.negative]).toEqual([200, true]);
}

beforeEach(async () => {
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = '2';
  token = (await call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});

it('adds points below and above zero, and answers repeats', async () => {
  await makeBoard({});
  for (const [user, points] of [
    ['a', -5],
    ['b', 3],
    ['c', 0],
    ['a', 4],
    ['b', -7],
  ] as const)
    expect((await post(user, points)).status).toBe(200);
  expect(await list()).toEqual(['1 c 0', '2 a -1', '3 b -4']);
  const first = await post('a', -2_147_483_648, { event_id: 'e' });
  expect(first.body.user_info.score).toBe(-2_147_483_649);
  expect((await post('a', -2_147_483_648, { event_id: 'e' })).body).toMatchObject({
    duplicate: true,
    user_info: { score: -2_147_483_649 },
  });
  const conflict = await post('a', 5, { event_id: 'e' });
  expect([conflict.status, conflict.body.detail]).toEqual([409, expect.stringContaining('-2147483648 points')]);
  expect((await post('a', 2 ** 31)).status).toBe(400);
});

it.each([
  ['asc', 'best', ['1 p-30 -30', '2 p-7 -7', '3 p0 0', '4 p12 12']],
  ['desc', 'best', ['1 p12 12', '2 p0 0', '3 p-7 -7', '4 p-30 -30']],
  ['desc', 'last', ['1 p12 12', '2 p0 0', '3 p-7 -7', '4 p-30 -30']],
])('ranks %s %s, with distribution, export, pages and corrections', async (sort, operator, expected) => {
  await makeBoard({ sort, operator });
  const updates = [0, -7, 12, -30].map((points) => ({ user_id: `p${points}`, points }));
  await call('POST', at('/scores/batch'), { updates }, token);
  expect(await list()).toEqual(expected);
  const middle = await call('GET', at('/scores?exact=1&from_rank=2&limit=2'));
  expect(middle.body.data.map(({ score }: { score: number }) => score)).toEqual(sort === 'asc' ? [-7, 0] : [0, -7]);
  const around = await call('GET', at('/scores/p0/neighbors?radius=1'));
  expect(around.body.data).toHaveLength(3);
  const read = async () => (await call('GET', at('/seasons/all/distribution?limit=5'))).body;
  // A distribution is up to a second old.
  await expect.poll(async () => (await read()).players).toBe(4);
  const { data } = await read();
  expect(data[0].from).toBeLessThanOrEqual(-30);
  expect(data.reduce((sum: number, { players }: { players: number }) => sum + players, 0)).toBe(4);
  const of = (score: number) => data.find(({ from, to }: { from: number; to: number }) => from <= score && score <= to);
  for (const score of [0, -7, 12, -30]) expect(of(score)?.players).toBeGreaterThan(0);
  expect((await call('GET', at('/seasons/all/export'))).text).toContain('-30');
  const corrected = await call('PATCH', at('/scores/p0'), { score: -50, reason: 'counted wrongly' });
  expect(corrected.body.user_info).toMatchObject({ score: -50, rank: sort === 'asc' ? 1 : 4 });
});

it('takes nothing below zero on other boards, and never changes', async () => {
  await makeBoard({ negative: true });
  const rules = { title: 'Golf', sort: 'desc', operator: 'sum', period: 'none', public: true };
  expect((await call('PUT', at(''), rules)).body.code).toBe('board_rules_fixed');
  expect((await call('PUT', at(''), { ...rules, negative: true, decimals: 2 })).body.decimals).toBe(2);
  expect((await call('PUT', at(''), { ...rules, negative: true, max_points_per_day: 5 })).status).toBe(400);
  board = `n-${crypto.randomUUID().slice(0, 8)}`;
  await call('PUT', at(''), rules);
  const refused = await post('a', -1);
  expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
  await post('a', 1);
  expect((await call('PATCH', at('/scores/a'), { score: -1, reason: 'no' })).status).toBe(400);
  expect((await call('POST', '/v1/scores', { user_id: 'a', points: -1 }, token)).status).toBe(400);
});
