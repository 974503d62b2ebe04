/** Compares boards of every sort and operator with a model, through crashes of objects, period ends and deletion. */
import { createExecutionContext, env, runInDurableObject, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { requestApi } from '../../support/json-api.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const SHARDS = 3;
type Sort = 'desc' | 'asc';
type Operator = 'sum' | 'best' | 'last';

interface Entry {
  readonly user_id: string;
  readonly rank: number;
  readonly score: number;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly players: number;
}

async function call(method: string, path: string, body?: unknown, isOperator = true) {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (isOperator) headers.authorization = 'Bearer root-of-tests';
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const ctx = createExecutionContext();
  const response = await requestApi(env, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  const isJson = response.headers.get('content-type')?.includes('json');
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : null) as any };
}

let boards = 0;
async function makeBoard(rules: Record<string, unknown>): Promise<string> {
  const board = `b${++boards}-${crypto.randomUUID().slice(0, 8)}`;
  const all = {
    title: 'A board',
    sort: 'desc',
    operator: 'sum',
    period: 'day',
    public: true,
    shards: SHARDS,
    ...rules,
  };
  expect((await call('PUT', `/v1/boards/${board}`, all)).status).toBe(200);
  return board;
}

async function post(board: string, userId: string, points: number, eventId: string | null = null) {
  for (let attempt = 0; ; attempt++) {
    const [result] = await writeScores(env, [{ userId, points, userName: null, eventId, season: undefined }], board);
    // Repeat a failed call: the first call to an object that crashed may fail, and an event id makes the retry safe.
    const isLost = result?.ok === false && result.error.kind === 'unavailable' && eventId !== null;
    if (!isLost || attempt === 5) return result;
  }
}

/** Model of a board: has the scores that the board must show. */
class Oracle {
  readonly #sort: Sort;
  readonly #operator: Operator;
  readonly players = new Map<string, { score: number; since: number }>();
  #time = 0;

  constructor(sort: Sort, operator: Operator) {
    this.#sort = sort;
    this.#operator = operator;
  }

  post(userId: string, points: number): void {
    const before = this.players.get(userId)?.score;
    const best = this.#sort === 'asc' ? Math.min : Math.max;
    if (before === undefined || this.#operator === 'last') this.set(userId, points);
    else this.set(userId, this.#operator === 'sum' ? before + points : best(before, points));
  }

  set(userId: string, score: number): void {
    if (this.players.get(userId)?.score !== score) this.players.set(userId, { score, since: ++this.#time });
  }

  rankOf(score: number): number {
    const isBetter = (other: number) => (this.#sort === 'asc' ? other < score : other > score);
    return 1 + [...this.players.values()].filter((player) => isBetter(player.score)).length;
  }

  get list(): Entry[] {
    const sign = this.#sort === 'asc' ? 1 : -1;
    return [...this.players]
      .sort(([, a], [, b]) => sign * (a.score - b.score) || a.since - b.since)
      .map(([user_id, { score }]) => ({ user_id, rank: this.rankOf(score), score }));
  }
}

async function expectBoard(board: string, season: string, oracle: Oracle): Promise<void> {
  const base = `/v1/boards/${board}`;
  await expect.poll(async () => (await call('GET', `${base}/scores?exact=1&season=${season}`)).status).toBe(200);
  const { list } = oracle;
  const toEntry = ({ user_id, rank, score }: Entry) => ({ user_id, rank, score });
  const shown: Entry[] = [];
  for (let cursor = ''; ; ) {
    const page = (await call('GET', `${base}/scores?exact=1&limit=7&season=${season}${cursor}`)).body;
    expect([page.season, page.players]).toEqual([season, list.length]);
    shown.push(...page.data.map(toEntry));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(shown).toEqual(list);
  const place = Math.floor(list.length / 2);
  const middle = list[place] as Entry;
  const player = (await call('GET', `${base}/scores/${middle.user_id}?exact=1&season=${season}`)).body.user_info;
  expect(player).toMatchObject({ ...middle, season, players: list.length });
  const around = await call('GET', `${base}/scores/${middle.user_id}/neighbors?exact=1&radius=2&season=${season}`);
  expect(around.body.data.map(toEntry)).toEqual(list.slice(place - 2, place + 3));
  const ids = [list.at(-1), list[0]].map((entry) => entry?.user_id).join();
  const some = await call('GET', `${base}/scores?exact=1&user_ids=${ids}&season=${season}`);
  expect(some.body.data.map(toEntry)).toEqual([list[0], list.at(-1)]);
  const among = await call('GET', `${base}/scores?exact=1&user_ids=${ids}&among=1&season=${season}`);
  const [best, last] = [list[0], list.at(-1)] as [Entry, Entry];
  expect(among.body.data.map(toEntry)).toEqual([best, { ...last, rank: last.score === best.score ? 1 : 2 }]);
  const countIn = (from: number, to: number) => list.filter(({ score }) => from <= score && score <= to).length;
  // Update the season's counts, which the reads below use. They are at most a second old if every shard answers in time.
  await expect
    .poll(async () => {
      vi.setSystemTime(Date.now() + 2_000);
      const { data } = (await call('GET', `${base}/seasons/${season}/distribution?limit=5`)).body;
      return (data as Range[]).map(({ from, to, players }) => ({ from, to, players, expected: countIn(from, to) }));
    })
    .toSatisfy((ranges: (Range & { expected: number })[]) => {
      const sum = ranges.reduce((total, { players }) => total + players, 0);
      return sum === list.length && ranges.every(({ players, expected }) => players === expected);
    });
  for (let rank = 1; rank <= list.length + 1; rank++) {
    const { body } = await call('GET', `${base}/scores?exact=1&limit=3&from_rank=${rank}&season=${season}`);
    expect([rank, body.data.map(toEntry)]).toEqual([rank, list.filter((entry) => entry.rank >= rank).slice(0, 3)]);
  }
  const csv = (await call('GET', `${base}/seasons/${season}/export`)).text.trim().split('\r\n').slice(1);
  expect(csv).toEqual(list.map(({ user_id, rank, score }) => `${rank},"${user_id}","${user_id}",${score}`));
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a board', () => {
  const kinds = (['desc', 'asc'] as const).flatMap((sort) =>
    (['sum', 'best', 'last'] as const).map((operator) => [sort, operator] as const),
  );

  it.each(kinds)('that counts %s %s has exact ranks through crashes, retries and its end', async (sort, operator) => {
    const random = createRandom(announceSeed());
    vi.setSystemTime(Date.parse('2047-03-10T12:00:00Z'));
    const board = await makeBoard({ sort, operator });
    const oracle = new Oracle(sort, operator);
    const season = '2047-03-10';
    const found = await findSeason(env, undefined, Date.now(), board);
    if (!found.ok) throw new Error(found.error.kind);
    const name = found.value.season;
    const answers: { userId: string; points: number; eventId: string; score: number; rank: number }[] = [];
    for (let step = 0; step < 120; step++) {
      vi.setSystemTime(Date.now() + 5 + Math.floor(random() * 1_500));
      if (random() < 0.08) {
        const shard = Math.floor(random() * (SHARDS + 1));
        const stub = shard === SHARDS ? seasonStub(env, name) : shardStub(env, { season: name, shard, shards: SHARDS });
        await runInDurableObject(stub as DurableObjectStub, (_, state) => state.abort('a crash')).catch(() => {});
      }
      const [userId, points, eventId] = [`p${Math.floor(random() * 15)}`, Math.floor(random() * 12), `e${step}`];
      const result = await post(board, userId, points, eventId);
      if (!result?.ok) throw new Error(`step ${step}: ${result?.error.kind}`);
      oracle.post(userId, points);
      expect(result.value).toMatchObject({ score: oracle.players.get(userId)?.score, season });
      answers.push({ userId, points, eventId, score: result.value.score, rank: result.value.rank });
      const first = answers[Math.floor(random() * answers.length)] as (typeof answers)[number];
      const again = await post(board, first.userId, first.points, first.eventId);
      const { score, rank } = first;
      expect(again).toMatchObject({ ok: true, value: { score, rank, season, isDuplicate: true } });
      if (step % 40 === 39) await expectBoard(board, season, oracle);
    }
    const corrected = { score: 3, reason: 'counted wrongly' };
    const chosen = (oracle.list[3] as Entry).user_id;
    const path = `/v1/boards/${board}/scores/${chosen}?season=${season}`;
    vi.setSystemTime(Date.now() + 2_000);
    oracle.set(chosen, 3);
    expect((await call('PATCH', path, corrected)).body.user_info).toMatchObject({ score: 3, season });
    await expectBoard(board, season, oracle);
    vi.setSystemTime(Date.parse('2047-03-11T00:00:05Z'));
    const closed = await call('POST', `/v1/boards/${board}/seasons/${season}/close`);
    expect([closed.status, closed.body.state]).toEqual([200, 'historical']);
    await expectBoard(board, season, oracle);
    const { score } = oracle.list[5] as Entry;
    oracle.set(chosen, score);
    expect((await call('PATCH', path, { ...corrected, score })).body.user_info.rank).toBe(oracle.rankOf(score));
    await expectBoard(board, season, oracle);
    // A repeated event of the previous day must get its first answer again. A new event counts today.
    const first = answers[7] as (typeof answers)[number];
    const late = await post(board, first.userId, first.points, first.eventId);
    expect(late).toMatchObject({
      ok: true,
      value: { score: first.score, rank: first.rank, season, isDuplicate: true },
    });
    expect(await post(board, first.userId, 4, 'today')).toMatchObject({
      ok: true,
      value: { score: 4, rank: 1, season: '2047-03-11', isDuplicate: false },
    });
  });

  it.each([
    ['week', '2047-03-10T23:59:59.999Z', ['2047-W10', '2047-W11']],
    ['day', '2047-03-10T23:59:59.999Z', ['2047-03-10', '2047-03-11']],
    ['month', '2047-03-31T23:59:59.999Z', ['2047-03', '2047-04']],
    ['none', '2047-12-31T23:59:59.999Z', ['all', 'all']],
  ] as const)('changes its season at the end of a %s', async (period, lastMoment, [before, after]) => {
    vi.setSystemTime(Date.parse(lastMoment));
    const board = await makeBoard({ period });
    expect(await post(board, 'ada', 5, 'first')).toMatchObject({ ok: true, value: { season: before, score: 5 } });
    vi.setSystemTime(Date.now() + 1);
    const score = before === after ? 7 : 2;
    expect(await post(board, 'ada', 2, 'second')).toMatchObject({ ok: true, value: { season: after, score } });
    expect(await post(board, 'ada', 5, 'first')).toMatchObject({
      ok: true,
      value: { season: before, score: 5, isDuplicate: true },
    });
    const { data } = (await call('GET', `/v1/boards/${board}/seasons`)).body;
    expect(data.map(({ season }: { season: string }) => season)).toEqual([...new Set([after, before])]);
  });

  it('is separate from other boards: its scores, events and seasons', async () => {
    vi.setSystemTime(Date.parse('2048-05-05T12:00:00Z'));
    const [one, two] = [await makeBoard({ period: 'month' }), await makeBoard({ period: 'month' })];
    for (const [i, board] of [one, two, 'default'].entries()) {
      expect(await post(board, 'ada', 5 + i, 'same')).toMatchObject({ ok: true, value: { score: 5 + i, rank: 1 } });
    }
    expect((await call('GET', '/v1/scores/ada')).body.user_info.score).toBe(7);
    expect((await call('GET', '/v1/boards/default/scores/ada')).body.user_info.score).toBe(7);
    expect((await call('GET', `/v1/boards/${one}/scores/ada`)).body.user_info.score).toBe(5);
    expect((await call('DELETE', `/v1/boards/${one}/scores/ada`)).status).toBe(204);
    expect((await call('GET', `/v1/boards/${one}/scores/ada`)).status).toBe(404);
    expect((await call('GET', `/v1/boards/${two}/scores/ada`)).body.user_info.score).toBe(6);
    expect((await call('GET', `/v1/boards/${one}/scores?season=2048-W19`)).body.code).toBe('unknown_season');
    expect((await call('GET', '/v1/scores?season=2048-W19')).status).toBe(400);
  });

  it('refuses more points than its limit, and takes up to 2^32 − 1', async () => {
    const [small, large] = [
      await makeBoard({ max_points_per_post: 10 }),
      await makeBoard({ sort: 'asc', operator: 'best', max_points_per_post: 2 ** 32 - 1 }),
    ];
    expect(await post(small, 'ada', 11)).toEqual({ ok: false, error: { kind: 'too_many_points', pointsMax: 10 } });
    expect(await post(large, 'ada', 2 ** 32 - 1, 'slow')).toMatchObject({ ok: true, value: { score: 2 ** 32 - 1 } });
    expect(await post(large, 'ada', 2 ** 32 - 1, 'slow')).toMatchObject({ ok: true, value: { isDuplicate: true } });
  });

  it('keeps its rules, and changes title, visibility and limit', async () => {
    const board = await makeBoard({ sort: 'asc', operator: 'best' });
    const rules = {
      title: 'Laps',
      sort: 'asc',
      operator: 'best',
      period: 'day',
      public: false,
      max_points_per_post: 9,
    };
    const changed = await call('PUT', `/v1/boards/${board}`, rules);
    expect(changed.body).toMatchObject({ board, ...rules });
    for (const other of [{ sort: 'desc' }, { operator: 'sum' }, { period: 'week' }]) {
      const refused = await call('PUT', `/v1/boards/${board}`, { ...rules, ...other, title: 'Other' });
      expect([refused.status, refused.body.code]).toEqual([409, 'board_rules_fixed']);
    }
    expect((await call('GET', `/v1/boards/${board}`)).body).toEqual(changed.body);
    expect((await call('PUT', '/v1/boards/default', rules)).body.code).toBe('board_rules_fixed');
    expect((await call('DELETE', '/v1/boards/default')).status).toBe(409);
    expect((await call('PUT', '/v1/boards/Laps', rules)).status).toBe(400);
    expect((await call('PUT', `/v1/boards/${board}`, rules, false)).status).toBe(401);
  });

  it('`default` takes a title and no other rules, is read by everyone, listed by nobody and never deleted', async () => {
    const fixed = { sort: 'desc', operator: 'sum', period: 'month', public: true, max_points_per_post: 1_000_000 };
    const read = async () => (await call('GET', '/v1/boards/default', undefined, false)).body;
    const before = await read();
    expect(before).toMatchObject({ ...fixed, board: 'default', created_at: null });
    const title = `Grand prix ${crypto.randomUUID()}`;
    const named = await call('PUT', '/v1/boards/default', { title });
    expect([named.status, named.body]).toEqual([200, { ...before, title }]);
    expect(await read()).toEqual(named.body);
    expect((await call('PUT', '/v1/boards/default', { ...fixed, title: before.title })).body).toEqual(before);
    for (const other of [
      { sort: 'asc' },
      { operator: 'best' },
      { period: 'week' },
      { public: false },
      { max_points_per_post: 9 },
    ]) {
      const refused = await call('PUT', '/v1/boards/default', { title: 'Other', ...other });
      expect([refused.status, refused.body.code]).toEqual([409, 'board_rules_fixed']);
    }
    expect((await call('PUT', '/v1/boards/default', {})).status).toBe(400);
    expect((await call('PUT', '/v1/boards/default', { title: 'Other', shards: 4 })).status).toBe(400);
    expect((await call('PUT', '/v1/boards/default', { title: 'Other' }, false)).status).toBe(401);
    expect((await call('DELETE', '/v1/boards/default')).body.detail).toBe('The board default cannot be deleted.');
    expect(await read()).toEqual(before);
    const listed = (await call('GET', '/v1/boards?limit=200')).body.data;
    expect(listed.map((one: { board: string }) => one.board)).not.toContain('default');
    expect((await call('GET', '/v1/boards/default/seasons')).body).toEqual((await call('GET', '/v1/seasons')).body);
  });

  it('that is not public is listed for operators, and read by them and with its scope', async () => {
    const [open, hidden] = [await makeBoard({}), await makeBoard({ public: false })];
    await post(hidden, 'ada', 5);
    const names = async (isOperator: boolean) =>
      (await call('GET', '/v1/boards?limit=200', undefined, isOperator)).body.data.map(
        ({ board }: { board: string }) => board,
      );
    expect(await names(false)).toContain(open);
    expect(await names(false)).not.toContain(hidden);
    expect(await names(true)).toEqual(expect.arrayContaining([open, hidden]));
    for (const path of ['', '/scores', '/scores/ada', '/scores/ada/neighbors', '/seasons']) {
      expect([path, (await call('GET', `/v1/boards/${hidden}${path}`, undefined, false)).status]).toEqual([path, 401]);
      expect([path, (await call('GET', `/v1/boards/${hidden}${path}`)).status]).toEqual([path, 200]);
    }
    expect((await call('GET', `/v1/boards/${open}`, undefined, false)).body.board).toBe(open);
    const mint = (scope: string) =>
      requestApi(
        env,
        '/v1/iam/tokens',
        {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer root-of-tests' },
          body: JSON.stringify({ name: 'reader', scopes: [scope] }),
        },
        createExecutionContext(),
      );
    expect((await mint('board:UPPER:read')).status).toBe(400);
    const read = async (scope: string, path: string) => {
      const { token } = await (await mint(scope)).json<{ token: string }>();
      const headers = { authorization: `Bearer ${token}` };
      return (await requestApi(env, path, { headers }, createExecutionContext())).status;
    };
    const path = `/v1/boards/${hidden}/scores`;
    expect(await read(`board:${hidden}:read`, path)).toBe(200);
    expect(await read(`board:${open}:read`, path)).toBe(403);
    expect(await read('scores:write', path)).toBe(403);
    expect(await read(`board:${hidden}:read`, `/v1/boards/${hidden}/seasons/2047-03-10/export`)).toBe(403);
  });

  it('costs cron calls to its objects only when its periods change', async () => {
    vi.setSystemTime(Date.parse('2048-07-07T12:00:00Z'));
    // Remove the seasons of other tests, because their due work would run here too.
    await env.DIRECTORY.prepare('DELETE FROM season').run();
    const boards: string[] = [];
    for (let i = 0; i < 12; i++) boards.push(await makeBoard({}));
    for (const board of boards) await post(board, 'ada', 5);
    const spies = ['prepare', 'close', 'status'] as const;
    const ofSeason = spies.map((method) => vi.spyOn(LeaderboardSeason.prototype, method));
    const ofShard = ['prepare', 'seal', 'destroy'] as const;
    const shardSpies = ofShard.map((method) => vi.spyOn(LeaderboardShard.prototype, method));
    const callsOfRun = async (time: string) => {
      vi.setSystemTime(Date.parse(time));
      for (const spy of [...ofSeason, ...shardSpies]) spy.mockClear();
      await runLeaderboardSchedule(
        { scheduledTime: Date.now(), cron: '* * * * *', noRetry() {} },
        env,
        createExecutionContext(),
      );
      const count = (spy: { mock: { calls: unknown[] } }) => spy.mock.calls.length;
      return [...ofSeason.map(count), shardSpies.reduce((sum, spy) => sum + count(spy), 0)];
    };
    const all = boards.length;
    expect(await callsOfRun('2048-07-07T13:00:00Z')).toEqual([0, 0, 0, 0]);
    // The schedule creates the objects of the next day two hours before it begins.
    expect(await callsOfRun('2048-07-07T22:00:00Z')).toEqual([all, 0, 0, all * SHARDS]);
    expect(await callsOfRun('2048-07-07T22:01:00Z')).toEqual([0, 0, 0, 0]);
    expect(await callsOfRun('2048-07-08T00:00:10Z')).toEqual([0, all, 0, all * SHARDS]);
    for (const minute of ['00:01', '12:00', '22:00'])
      expect([minute, await callsOfRun(`2048-07-08T${minute}:10Z`)]).toEqual([minute, [0, 0, 0, 0]]);
    // The objects of the day stay, and sleep.
    expect(await callsOfRun('2048-07-10T01:01:00Z')).toEqual([0, 0, 0, 0]);
  });

  it('that was deleted is unknown, is erased by cron, and can be created again without its scores', async () => {
    vi.setSystemTime(Date.parse('2049-06-05T12:00:00Z'));
    const board = await makeBoard({});
    const [season, today] = ['2049-06-05', '2049-06-06'];
    await post(board, 'ada', 5, 'first');
    const found = await findSeason(env, undefined, Date.now(), board);
    if (!found.ok) throw new Error(found.error.kind);
    const name = found.value.season;
    vi.setSystemTime(Date.parse(`${today}T12:00:00Z`));
    await post(board, 'ada', 6);
    expect((await call('POST', `/v1/boards/${board}/seasons/${season}/close`)).body.state).toBe('historical');
    expect((await call('DELETE', `/v1/boards/${board}`)).status).toBe(204);
    expect((await call('DELETE', `/v1/boards/${board}`)).body.code).toBe('unknown_board');
    expect((await call('GET', `/v1/boards/${board}/scores`)).body.code).toBe('unknown_board');
    expect(await post(board, 'ada', 1)).toEqual({ ok: false, error: { kind: 'unknown_board', board } });
    const rules = { title: 'Again', sort: 'desc', operator: 'sum', period: 'day', public: true };
    vi.setSystemTime(Date.now() + 61_000);
    await runLeaderboardSchedule(
      { scheduledTime: Date.now(), cron: '* * * * *', noRetry() {} },
      env,
      createExecutionContext(),
    );
    const { ref } = { ref: name.slice(0, name.indexOf(':')) };
    expect(await createSeasonStore(env.DIRECTORY).listAll(ref)).toEqual([]);
    const address = { season: name, shard: shardOf('ada', SHARDS), shards: SHARDS };
    const tables = await runInDurableObject(shardStub(env, address) as DurableObjectStub, (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'player'").toArray(),
    );
    expect(tables).toEqual([]);
    expect((await call('PUT', `/v1/boards/${board}`, rules)).status).toBe(200);
    expect((await call('GET', `/v1/boards/${board}/scores`)).body.players).toBe(0);
    expect(await post(board, 'ada', 5, 'first')).toMatchObject({ ok: true, value: { score: 5, isDuplicate: false } });
  });
});
