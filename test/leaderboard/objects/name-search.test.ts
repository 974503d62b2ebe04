/** Tests the search of players by the beginning of a name: what is found, who may, what it costs, and that it follows renames and erasures. */
import { createExecutionContext, env, runInDurableObject, waitOnExecutionContext } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { requestApi } from '../../support/json-api.ts';

const RULES = { title: 'Names', sort: 'desc', operator: 'sum', period: 'none', public: true, shards: 2 };
const NAMES = ['Grace', 'grant', 'GRÄFIN', 'Linus', 'gr', 'Ｇｒａ', 'Zoë', '%gra', 'g_ra'];

async function call(method: string, path: string, body?: unknown, isOperator = true) {
  const headers = {
    'content-type': 'application/json',
    ...(isOperator ? { authorization: 'Bearer root-of-tests' } : {}),
  };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const json: any = text === '' ? null : JSON.parse(text);
  return { status: response.status, body: json };
}

let board = '';
const put = (rules = {}) => call('PUT', `/v1/boards/${board}`, { ...RULES, ...rules });
const post = async (players: readonly (readonly [userId: string, userName: string | null])[]) => {
  const updates = players.map(([userId, userName], i) => ({
    userId,
    userName,
    points: i,
    eventId: null,
    season: undefined,
  }));
  for (const result of await writeScores(env, updates, board)) expect(result.ok).toBe(true);
};
const find = async (name: string, isOperator = false) => {
  const { status, body } = await call(
    'GET',
    `/v1/boards/${board}/players?name=${encodeURIComponent(name)}`,
    undefined,
    isOperator,
  );
  return status === 200 ? body.data.map((entry: { user_name: string }) => entry.user_name) : body.code;
};

beforeEach(async () => {
  board = `n-${crypto.randomUUID().slice(0, 8)}`;
  await put({ find_by_name: true });
  await post(NAMES.map((name, i) => [`p${i}`, name]));
});

it('finds names by their beginning, whatever the case, with ranks, and no other', async () => {
  expect(await find('GRA')).toEqual(['Ｇｒａ', 'Grace', 'grant']);
  expect(await find('grä')).toEqual(['GRÄFIN']);
  expect(await find('zo')).toEqual(['Zoë']);
  expect(await find('%')).toEqual(['%gra']);
  expect(await find('g_')).toEqual(['g_ra']);
  expect(await find('nobody')).toEqual([]);
  const { body } = await call('GET', `/v1/boards/${board}/players?name=lin&limit=1`, undefined, false);
  expect(body.data).toEqual([{ user_id: 'p3', user_name: 'Linus', score: 3, rank: 6 }]);
  expect((await call('GET', `/v1/boards/${board}/players?name=`)).status).toBe(400);
});

it('follows new players, renames, hiding and erasures', async () => {
  expect(await find('gra')).toHaveLength(3);
  await post([
    ['p0', 'Hopper'],
    ['new', 'Gracie'],
    ['grav-1', null],
  ]);
  expect(await find('gra')).toEqual(['Ｇｒａ', 'Gracie', 'grant', 'grav-1']);
  expect(await find('hop')).toEqual(['Hopper']);
  await call('PATCH', `/v1/boards/${board}/scores/new`, { hidden: true, reason: 'a test' });
  expect((await call('DELETE', `/v1/boards/${board}/scores/p1`)).status).toBe(204);
  expect(await find('gra')).toEqual(['Ｇｒａ', 'grav-1']);
});

it('is for operators only on boards that do not ask for it, and such boards write no names', async () => {
  await put();
  const found = await findSeason(env, undefined, Date.now(), board);
  if (!found.ok) throw new Error(found.error.kind);
  const rows = async () => {
    const counts = [0, 1].map((shard) =>
      runInDurableObject(
        shardStub(env, { season: found.value.season, shard, shards: 2 }) as DurableObjectStub,
        (_, { storage }) => [...storage.sql.exec('SELECT count(*) AS names FROM player_name')][0]?.names,
      ),
    );
    return (await Promise.all(counts)).reduce<number>((sum, count) => sum + Number(count), 0);
  };
  expect(await find('gra')).toBe('names_not_searched');
  await post([['late', 'Late']]);
  expect(await rows()).toBe(0);
  expect(await find('gra', true)).toHaveLength(3);
  expect(await rows()).toBe(NAMES.length + 1);
});
