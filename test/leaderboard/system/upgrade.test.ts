/**
 * Fills the Worker and the objects of the last release, and upgrades in the middle of a month, first the Worker alone. Every score, event id and
 * rank is found. A month that the last release archived moves into its shards, and reads the same before, meanwhile and afterwards.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Post, UpgradedBoard } from '../../support/leaderboard/upgraded-boards.ts';
import { UpgradedServer } from '../../support/versions/upgraded-server.ts';

const isLong = process.env.TESSERA_LONG === '1';
/** Players of the month that is archived, more than one file of the archive has: 2,048 in list order, 1,024 of a shard. */
const PLAYERS = isLong ? 30_000 : 2_600;
/** Players of each other board and month. */
const FEW = isLong ? 4_000 : 300;
const SHARDS = isLong ? 8 : 2;

const [MARCH, APRIL] = ['2031-03', '2031-04'];
const BOARDS = {
  laps: { title: 'Laps', sort: 'asc', operator: 'best', period: 'month', public: true, max_points_per_post: 3_600_000 },
  level: { title: 'Level', sort: 'desc', operator: 'last', period: 'none', public: true, max_points_per_post: 90 },
} as const;

let server: UpgradedServer;
let token: string;
const boardOf = (name: string) => new UpgradedBoard(server, name, token);
const patch = async (name: string, userId: string, body: object, season: string) => {
  const answer = await boardOf(name).call('PATCH', `/scores/${userId}?season=${season}`, { ...body, reason: 'test' });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.user_info;
};
const erase = async (name: string, userId: string, season: string) =>
  expect((await boardOf(name).call('DELETE', `/scores/${userId}?season=${season}`)).status).toBe(204);

const makePosts = (month: string, count: number, pointsOf: (n: number) => number): Post[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ user_id: `p${n}`, points: pointsOf(n), event_id: `${month}-${n}` },
    ...(n % 3 === 0 ? { user_name: `Player "${n}" é` } : {}),
  }));
const march = {
  default: makePosts(MARCH, PLAYERS, (n) => 1 + ((n * 7_919) % 1_000)),
  laps: makePosts(MARCH, FEW, (n) => 60_000 + ((n * 37) % 101)),
};
const april = {
  default: makePosts(APRIL, FEW, (n) => 1 + ((n * 7_919) % 50)),
  laps: makePosts(APRIL, FEW, (n) => 50_000 + n * 13),
  level: makePosts(APRIL, FEW, (n) => n % 90),
};
const seasonOf = (name: string) => (name === 'level' ? 'all' : APRIL);

/** Reads of the month in progress, by board, and of the archived one. */
let running: Record<string, Awaited<ReturnType<UpgradedBoard['read']>>>;
let past: Record<string, Awaited<ReturnType<UpgradedBoard['read']>>>;

async function readRunning() {
  const reads: typeof running = {};
  for (const name of Object.keys(april)) reads[name] = await boardOf(name).read(seasonOf(name));
  return reads;
}
async function readPast() {
  const reads: typeof past = {};
  for (const name of Object.keys(march)) reads[name] = await boardOf(name).read(MARCH);
  return reads;
}
/** Whether a past season is in its shards: only then operators can list them. */
const isInShards = async (name: string) => (await boardOf(name).call('GET', `/seasons/${MARCH}/shards`)).status === 200;

beforeAll(async () => {
  server = new UpgradedServer({ LEADERBOARD_SHARDS: String(SHARDS) });
  await server.start('last', 'last', '2031-03-31T23:40:00Z');
  const scopes = ['scores:write'];
  token = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes })).body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

it('is filled by the last release, which archives a month', async () => {
  for (const [name, board] of Object.entries(BOARDS))
    expect((await server.call('PUT', `/v1/boards/${name}`, board)).status).toBeLessThan(300);
  for (const [name, posts] of Object.entries(march)) await boardOf(name).post(posts);
  await patch('default', 'p11', { score: 5_000 }, MARCH);
  await erase('default', 'p12', MARCH);
  await server.start('last', 'last', '2031-04-01T00:01:00Z');
  await server.runCron();
  // Two players are corrected and one is hidden in the archive, and two are erased.
  await patch('default', 'p20', { score: 4_000 }, MARCH);
  await patch('default', 'p21', { score: 0 }, MARCH);
  await patch('default', 'p22', { hidden: true }, MARCH);
  await erase('default', 'p23', MARCH);
  await erase('laps', 'p24', MARCH);
  await server.start('last', 'last', '2031-04-03T01:30:00Z');
  await server.runCron();
  for (const [name, posts] of Object.entries(april)) await boardOf(name).post(posts);
  await patch('default', 'p30', { hidden: true }, APRIL);
  await patch('laps', 'p31', { score: 49_000 }, APRIL);
  [running, past] = [await readRunning(), await readPast()];
  expect(running.default?.list).toHaveLength(FEW - 1);
  expect(past.default?.list).toHaveLength(PLAYERS - 3);
});

it('keeps scores, events and ranks under a new Worker with old objects', async () => {
  await server.start('this', 'last', '2031-04-03T02:00:00Z');
  expect(await readRunning()).toEqual(running);
  expect(await readPast()).toEqual(past);
  for (const [name, posts] of Object.entries(april))
    await boardOf(name).post(posts.slice(0, 40), { isDuplicate: true });
  const { status, body } = await boardOf('default').postOne({ ...(april.default[1] as Post), points: 77 });
  expect([status, body.code]).toEqual([409, 'event_conflict']);
  // The old objects cannot take the archive. It stays readable.
  await boardOf('default').call('POST', `/seasons/${MARCH}/close`);
  expect([await isInShards('default'), await isInShards('laps')]).toEqual([false, false]);
  const more = { user_id: 'late', points: 1_000, event_id: 'between' };
  expect(await boardOf('default').post([more])).toEqual([1_000]);
});

it('finds every score, event id and rank after the upgrade of the objects', async () => {
  await server.start('this', 'this', '2031-04-03T02:10:00Z');
  expect(
    await boardOf('default').post([{ user_id: 'late', points: 1_000, event_id: 'between' }], { isDuplicate: true }),
  ).toEqual([1_000]);
  await erase('default', 'late', APRIL);
  expect(await readRunning()).toEqual(running);
  for (const [name, posts] of Object.entries(april)) {
    const scores = await boardOf(name).post(posts, { isDuplicate: true });
    expect(scores).toEqual(posts.map(({ points }) => points));
  }
  expect(await readRunning()).toEqual(running);
  const tooMany = await boardOf('level').postOne({ user_id: 'p1', points: 91 });
  expect([tooMany.status, tooMany.body.code]).toEqual([400, 'invalid_request']);
  expect((await patch('default', 'p30', { hidden: false }, APRIL)).score).toBe(april.default[30]?.points);
  const shown = await boardOf('default').list(APRIL);
  expect(shown).toHaveLength(FEW);
  expect(shown.map(({ score }) => score).sort((a, b) => a - b)).toEqual(
    april.default.map(({ points }) => points).sort((a, b) => a - b),
  );
});

it('moves the archived month into its shards, which read the same', async () => {
  expect(await readPast()).toEqual(past);
  for (const name of Object.keys(march)) {
    expect(await isInShards(name)).toBe(false);
    expect((await boardOf(name).call('POST', `/seasons/${MARCH}/close`)).status).toBe(200);
    await expect.poll(() => isInShards(name)).toBe(true);
  }
  expect(await readPast()).toEqual(past);
  // Objects that start again read the stored lists.
  await server.start('this', 'this', '2031-04-03T02:20:00Z');
  expect(await readPast()).toEqual(past);
  expect(server.errors.filter((line) => line.includes('collector_stopped'))).toEqual([]);
});

if (isLong) {
  it('reads the same under the Worker of the last release, after a roll-back', async () => {
    await server.start('last', 'this', '2031-04-03T02:30:00Z');
    for (const name of Object.keys(march)) {
      // It does not know that the place of an erased player stays, without id and name.
      const list = (await boardOf(name).list(MARCH)).filter(({ user_id }) => user_id !== '');
      expect(list).toEqual(past[name]?.list);
    }
    for (const [name, posts] of Object.entries(april)) await boardOf(name).post(posts, { isDuplicate: true });
    await server.start('this', 'this', '2031-04-03T02:40:00Z');
  });
}

it('changes the moved month as any past month', async () => {
  const entryOf = async (userId: string) =>
    (await boardOf('default').list(MARCH)).find((each) => each.user_id === userId);
  expect((await patch('default', 'p40', { score: 6_000 }, MARCH)).rank).toBe(1);
  expect(await entryOf('p40')).toMatchObject({ rank: 1, score: 6_000 });
  expect((await patch('default', 'p22', { hidden: false }, MARCH)).score).toBe(march.default[22]?.points);
  expect((await patch('default', 'p11', { hidden: true }, MARCH)).rank).toBeNull();
  expect(await entryOf('p11')).toBeUndefined();
  await erase('default', 'p41', MARCH);
  const left = (past.default?.list ?? []).map(({ user_id }) => user_id).filter((id) => !['p11', 'p41'].includes(id));
  const now = (await boardOf('default').list(MARCH)).map(({ user_id }) => user_id);
  expect(now.toSorted()).toEqual([...left, 'p22'].toSorted());
  const { body } = await boardOf('default').call('GET', `/seasons/${MARCH}/export`);
  expect(body.split('\r\n')).toHaveLength(now.length + 2);
  expect(body).not.toContain('"p41"');
});
