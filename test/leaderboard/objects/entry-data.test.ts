/** Tests data of entries and the minimum time between posts: rows of a shard beside the scores, which other boards do not have. */
import {
  createExecutionContext,
  env,
  evictDurableObject,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addressesOf } from '../../../durable-objects/leaderboard/protocol.ts';
import type { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { requestApi } from '../../support/json-api.ts';

const RULES = { title: 'Tracks', sort: 'desc', operator: 'best', period: 'none', public: true, shards: 2 };
let board: string;

async function call(method: string, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer root-of-tests' };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as any };
}

let token: string;
async function post(body: object, path = 'scores') {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await requestApi(env, `/v1/boards/${board}/${path}`, init, createExecutionContext());
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  return { status: response.status, body: (await response.json()) as any };
}

async function makeBoard(rules: object): Promise<void> {
  board = `d-${crypto.randomUUID().slice(0, 8)}`;
  expect((await call('PUT', `/v1/boards/${board}`, { ...RULES, ...rules })).status).toBe(200);
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2047-03-11T12:00:00Z') });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = '2';
  token = (await call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});
afterEach(() => {
  vi.useRealTimers();
});

const stubs = async () => {
  const found = await findSeason(env, undefined, Date.now(), board);
  if (!found.ok) throw new Error(found.error.kind);
  return addressesOf(found.value).map((address) => shardStub(env, address) as DurableObjectStub<LeaderboardShard>);
};
/** Number of rows of a table in all shards of the board. */
async function countRows(table: string): Promise<number> {
  let rows = 0;
  for (const stub of await stubs())
    rows += await runInDurableObject(stub, (_, { storage }) =>
      Number(storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n),
    );
  return rows;
}
const dataOf = async (userId: string) =>
  (await call('GET', `/v1/boards/${board}/scores/${userId}?exact=1`)).body.user_info.data;

describe('data of an entry', () => {
  it.each([
    ['best', [10, 5, 20], ['a', 'a', 'c']],
    ['last', [10, 5, 20], ['a', 'b', 'c']],
    ['sum', [10, 5, 20], ['a', 'b', 'c']],
  ])('is that of the score that counts, with %s', async (operator, points, expected) => {
    await makeBoard({ operator, max_data_bytes: 64 });
    for (const [i, car] of ['a', 'b', 'c'].entries()) {
      const posted = await post({ user_id: 'grace', points: points[i], data: { car } });
      expect([posted.status, await dataOf('grace')]).toEqual([200, { car: expected[i] }]);
    }
    // A post without data: of the same score for `best`, and of a new one for the others.
    await post({ user_id: 'grace', points: 20 });
    expect(await dataOf('grace')).toEqual(operator === 'last' ? undefined : { car: 'c' });
  });

  it('is in lists, pages, chosen players and neighbours, after a restart too', async () => {
    await makeBoard({ max_data_bytes: 64 });
    const updates = Array.from({ length: 8 }, (_, i) => ({
      user_id: `p${i}`,
      points: 100 - i,
      ...(i % 2 === 0 ? { data: i === 0 ? 'text' : [i] } : {}),
    }));
    await post({ updates }, 'scores/batch');
    for (const stub of await stubs()) await evictDurableObject(stub);
    const expected = ['text', undefined, [2], undefined, [4], undefined, [6], undefined];
    const read = async (query: string) =>
      (await call('GET', `/v1/boards/${board}/scores${query}`)).body.data.map(({ data }: { data?: unknown }) => data);
    expect(await read('?exact=1')).toEqual(expected);
    expect(await read('?exact=1&from_rank=3&limit=3')).toEqual(expected.slice(2, 5));
    expect(await read('?user_ids=p4,p0,p1')).toEqual(['text', undefined, [4]]);
    expect(await read('/p2/neighbors?radius=1')).toEqual([undefined, [2], undefined]);
    // A window at an end of the list is full, if asked.
    expect(await read('/p0/neighbors?radius=2&full=1')).toEqual(expected.slice(0, 5));
    expect(await read('/p6/neighbors?radius=2&full=1')).toEqual(expected.slice(3, 8));
    expect(await read('/p6/neighbors?radius=9&full=1')).toEqual(expected);
  });

  it('has the limit of its board, in bytes, and a refused post counts nothing', async () => {
    await makeBoard({ max_data_bytes: 10 });
    expect((await post({ user_id: 'a', points: 1, data: 'ääää' })).status).toBe(200);
    const refused = await post({ user_id: 'b', points: 1, data: 'äääää' });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
    const batch = await post(
      {
        updates: [
          { user_id: 'b', points: 1, data: 'x'.repeat(9) },
          { user_id: 'c', points: 1 },
        ],
      },
      'scores/batch',
    );
    expect(batch.body.results.map(({ status }: { status?: number }) => status)).toEqual([400, undefined]);
    expect((await call('GET', `/v1/boards/${board}/scores?exact=1`)).body.players).toBe(2);
    await makeBoard({});
    expect((await post({ user_id: 'a', points: 1, data: {} })).status).toBe(400);
  });

  it('is erased with the player, and is in copies', async () => {
    await makeBoard({ max_data_bytes: 64 });
    await post(
      { updates: ['a', 'b'].map((user_id) => ({ user_id, points: 1, data: { of: user_id } })) },
      'scores/batch',
    );
    expect((await call('DELETE', `/v1/boards/${board}/scores/a`)).status).toBe(204);
    expect(await countRows('entry_data')).toBe(1);
    const found = await findSeason(env, undefined, Date.now(), board);
    if (!found.ok) throw new Error(found.error.kind);
    for (const stub of await stubs()) {
      await runInDurableObject(stub, async (shard) => await (shard as LeaderboardShard).alarm());
      await runInDurableObject(stub, (_, { storage }) => storage.deleteAll());
      await runInDurableObject(stub, (_, state) => state.abort('the disk is lost')).catch(() => {});
    }
    for (const [i, address] of addressesOf(found.value).entries())
      expect(await (await stubs())[i]?.restore(address)).toMatchObject({ ok: true });
    expect(await dataOf('b')).toEqual({ of: 'b' });
    expect(await countRows('entry_data')).toBe(1);
  });

  it('costs no row on boards without it', async () => {
    await makeBoard({});
    await post({ user_id: 'a', points: 1, event_id: 'e' });
    for (const table of ['entry_data', 'last_post', 'day_points']) expect(await countRows(table)).toBe(0);
  });
});

describe('seconds_between_posts', () => {
  it('refuses a post of the same player that comes too soon, and no repeat', async () => {
    await makeBoard({ operator: 'sum', seconds_between_posts: 30 });
    expect((await post({ user_id: 'a', points: 1, event_id: '1' })).status).toBe(200);
    const soon = await post({ user_id: 'a', points: 1, event_id: '2' });
    expect([soon.status, soon.body.code, soon.body.detail]).toEqual([
      409,
      'posted_too_soon',
      expect.stringContaining('30 s'),
    ]);
    expect((await post({ user_id: 'a', points: 1, event_id: '1' })).body.duplicate).toBe(true);
    expect((await post({ user_id: 'b', points: 1 })).status).toBe(200);
    vi.setSystemTime(Date.now() + 30_000);
    expect((await post({ user_id: 'a', points: 1, event_id: '2' })).body.user_info.score).toBe(2);
    const batch = await post({ updates: [1, 2].map(() => ({ user_id: 'c', points: 1 })) }, 'scores/batch');
    expect(batch.body.results.map(({ code }: { code?: string }) => code)).toEqual([undefined, 'posted_too_soon']);
    // A clock that was set back does not lock players out.
    vi.setSystemTime(Date.now() - 3_600_000);
    expect((await post({ user_id: 'a', points: 1 })).status).toBe(200);
  });
});
