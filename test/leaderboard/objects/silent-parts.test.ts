/** Tests that if a shard or the season object does not answer, only its own players cannot post or get their ranks. */
import { createExecutionContext, env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { findSilentObjects } from '../../../workers/leaderboard/seasons/shard-status.ts';
import { requestApi } from '../../support/json-api.ts';

const SHARDS = 4;
/** Players of which three have each score. So the 33 best scores fill 99 of the top 100 places. */
const PLAYERS = Array.from({ length: 480 }, (_, i) => ({ userId: `p${i}`, points: 1 + (i % 160) }));
const rankOf = (points: number) => 1 + PLAYERS.filter((player) => player.points > points).length;

const win = (userId: string, points: number) => ({ userId, points, userName: null, eventId: null, season: undefined });
const addresses = (season: string) => Array.from({ length: SHARDS }, (_, shard) => ({ season, shard, shards: SHARDS }));

interface Entry {
  user_id: string;
  rank: number;
  score: number;
}

async function get(path: string, isOperator = false) {
  const headers: Record<string, string> = isOperator ? { authorization: 'Bearer root-of-tests' } : {};
  const response = await requestApi(env, path, { headers });
  const body = await response.json<{
    data: Entry[];
    user_info: Entry;
    as_of: string;
    players: number;
    available: boolean;
    next_cursor: string | null;
  }>();
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body };
}

/** Fills a board and waits until the season has all counts. */
async function fill(season: string): Promise<void> {
  vi.setSystemTime(Date.parse(`${season}-10T12:00:00Z`));
  for (const result of await writeScores(
    env,
    PLAYERS.map(({ userId, points }) => win(userId, points)),
  )) {
    expect(result.ok).toBe(true);
  }
  // Move the clock past ten seconds, after which the season's snapshot has the changes.
  for (let read = 0; read < 2; read++) {
    vi.setSystemTime(Date.now() + 11_000);
    expect((await get('/v1/scores?limit=1')).body.players).toBe(PLAYERS.length);
  }
  // Read ranks of players of all shards, so that each shard pulls the counts of the others.
  for (const { userId, points } of PLAYERS.slice(0, 40)) {
    expect((await get(`/v1/scores/${userId}`)).body.user_info.rank).toBe(rankOf(points));
  }
}

/** Makes every method of a shard fail, even after a restart. */
function silence(shard: number): void {
  const names = [
    'score',
    'standings',
    'run',
    'countAbove',
    'report',
    'findEvents',
    'knows',
    'correct',
    'erase',
  ] as const;
  for (const name of names) {
    const method = LeaderboardShard.prototype[name] as (...values: unknown[]) => Promise<unknown>;
    const spy = vi.spyOn(LeaderboardShard.prototype, name) as unknown as {
      mockImplementation(
        work: (this: unknown, address: { shard: number }, ...values: unknown[]) => Promise<unknown>,
      ): void;
    };
    spy.mockImplementation(function (address, ...values) {
      if (address.shard === shard) return Promise.reject(new Error('the storage is gone'));
      return method.call(this, address, ...values);
    });
  }
}

const crash = (stub: unknown) =>
  runInDurableObject(stub as DurableObjectStub, (_, state) => state.abort('a crash')).catch(() => {});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('one of four shards that does not answer', () => {
  const SILENT = 2;
  const isSilent = (userId: string) => shardOf(userId, SHARDS) === SILENT;

  it.each([
    ['2046-01', 'while the season object runs', async () => {}],
    ['2046-02', 'after the season object was restarted', (season: string) => crash(seasonStub(env, season))],
    [
      '2046-03',
      'after all objects were restarted',
      async (season: string) => {
        for (const address of addresses(season))
          if (address.shard !== 2) await evictDurableObject(shardStub(env, address));
        await crash(seasonStub(env, season));
      },
    ],
  ])('affects only its own players (%s), %s', async (season, _, restart) => {
    await fill(season);
    const { body: before } = await get('/v1/scores?limit=100');
    await evictDurableObject(shardStub(env, { season, shard: SILENT, shards: SHARDS }));
    silence(SILENT);
    await restart(season);
    const lastSeenAt = Date.now();
    vi.setSystemTime(Date.now() + 60_000);
    for (const { userId, points } of PLAYERS.filter((_, i) => i % 7 === 0)) {
      const read = await get(`/v1/scores/${userId}`);
      const around = await get(`/v1/scores/${userId}/neighbors`);
      const [posted] = await writeScores(env, [win(userId, 0)]);
      if (isSilent(userId)) {
        expect([read.status, around.status, Number(read.retryAfter) > 0]).toEqual([503, 503, true]);
        expect(posted).toEqual({ ok: false, error: { kind: 'unavailable' } });
        continue;
      }
      expect([read.status, around.status]).toEqual([200, 200]);
      expect(read.body.user_info).toMatchObject({ rank: rankOf(points), score: points, players: PLAYERS.length });
      expect(Date.parse(read.body.as_of)).toBeLessThanOrEqual(lastSeenAt);
      expect(new Set(around.body.data.map((entry) => entry.rank === rankOf(entry.score)))).toEqual(new Set([true]));
      expect(around.body.data.map((entry) => entry.user_id)).toContain(userId);
      expect(posted).toMatchObject({ ok: true, value: { rank: rankOf(points) } });
    }
    const top = await get('/v1/scores?limit=100');
    // The top list must include the players of the silent shard.
    expect([top.status, top.body.data, top.body.players]).toEqual([200, before.data, PLAYERS.length]);
    expect(Date.parse(top.body.as_of)).toBeLessThanOrEqual(lastSeenAt);
    const page = await get(`/v1/scores?limit=100&cursor=${top.body.next_cursor}`);
    expect([page.status, page.body.players]).toEqual([200, PLAYERS.length]);
    expect(
      new Set(page.body.data.map((entry) => entry.rank === rankOf(entry.score) && !isSilent(entry.user_id))),
    ).toEqual(new Set([true]));
    expect((await get(`/v1/seasons/${season}/distribution`)).status).toBe(200);
    const healthy = PLAYERS.find(({ userId }) => !isSilent(userId))?.userId;
    for (const path of [
      `/v1/scores/${healthy}?exact=1`,
      '/v1/scores?exact=1',
      `/v1/scores/${healthy}/neighbors?exact=1`,
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 503]);
    }
    expect(await findSilentObjects(env)).toEqual([`LEADERBOARD_SHARD ${season}:${SILENT}`]);
    const { body: shards } = await get(`/v1/seasons/${season}/shards`, true);
    expect(shards).toMatchObject({ season, available: true });
    expect(shards.data.map((each) => (each as unknown as { available: boolean }).available)).toEqual(
      [0, 1, 2, 3].map((shard) => shard !== SILENT),
    );
    // When the shard answers again, nothing may be lost and ranks must be current.
    vi.restoreAllMocks();
    vi.setSystemTime(Date.now() + 5_000);
    expect(Date.parse((await get('/v1/scores')).body.as_of)).toBe(Date.now());
    expect(await findSilentObjects(env)).toEqual([]);
    const silent = PLAYERS.find(({ userId }) => isSilent(userId)) ?? { userId: '', points: 0 };
    expect((await get(`/v1/scores/${silent.userId}`)).body.user_info.rank).toBe(rankOf(silent.points));
  });
});

describe('a board with a shard that does not answer', () => {
  /** Moves the clock while it polls, because a slow shard is skipped for a second. */
  const expectHealthy = () =>
    expect
      .poll(() => {
        vi.setSystemTime(Date.now() + 2_000);
        return findSilentObjects(env);
      })
      .toEqual([]);

  it('is named by health until the shard answers again', async () => {
    vi.setSystemTime(Date.parse('2046-06-10T12:00:00Z'));
    const board = `sick-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: 'A board', sort: 'asc', operator: 'best', period: 'day', public: true, shards: SHARDS };
    const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
    const init = { method: 'PUT', headers, body: JSON.stringify(rules) };
    expect((await requestApi(env, `/v1/boards/${board}`, init)).status).toBe(200);
    await writeScores(
      env,
      PLAYERS.slice(0, 20).map(({ userId, points }) => win(userId, points)),
      board,
    );
    const found = await findSeason(env, undefined, Date.now(), board);
    if (!found.ok) throw new Error(found.error.kind);
    const { season } = found.value;
    await expectHealthy();
    vi.spyOn(LeaderboardShard.prototype, 'report').mockRejectedValue(new Error('the storage is gone'));
    vi.setSystemTime(Date.now() + 60_000);
    const sick = [0, 1, 2, 3].map((shard) => `LEADERBOARD_SHARD ${season}:${shard}`);
    // A push that was planned before shows that its shard answers, so the season asks again.
    const askAgain = async () => {
      vi.setSystemTime(Date.now() + 2_000);
      expect((await get(`/v1/boards/${board}/scores`)).status).toBe(200);
      return (await findSilentObjects(env)).filter((name) => name.includes(season));
    };
    await expect.poll(askAgain).toEqual(sick);
    vi.restoreAllMocks();
    vi.spyOn(console, 'error').mockImplementation(() => {});
    await expectHealthy();
    expect(await createSeasonStore(env.DIRECTORY).listSilent(10)).toEqual([]);
    // A season object that fails must be listed as silent too. Cron detects the failure within the hour.
    vi.spyOn(LeaderboardSeason.prototype, 'status').mockRejectedValue(new Error('the storage is gone') as never);
    vi.setSystemTime(Date.parse('2046-06-10T12:41:00Z'));
    const controller = { scheduledTime: Date.now() } as ScheduledController;
    await runLeaderboardSchedule(controller, env, createExecutionContext());
    expect(await findSilentObjects(env)).toEqual([`LEADERBOARD_SEASON ${season}`]);
    vi.restoreAllMocks();
    await expectHealthy();
  });
});

describe('a season object that does not answer', () => {
  it('affects no post, rank or top list, even after the shards were restarted', async () => {
    const season = '2046-04';
    await fill(season);
    const { body: before } = await get('/v1/scores?limit=100');
    for (const name of ['openLine', 'watch', 'distribution', 'status', 'countAbove'] as const) {
      vi.spyOn(LeaderboardSeason.prototype, name).mockRejectedValue(new Error('the storage is gone') as never);
    }
    for (const restart of [false, true]) {
      for (const address of restart ? addresses(season) : []) await evictDurableObject(shardStub(env, address));
      vi.setSystemTime(Date.now() + 60_000);
      const list = await get('/v1/scores?limit=100');
      expect([list.status, list.body.data]).toEqual([200, before.data]);
      for (const { userId, points } of PLAYERS.filter((_, i) => i % 29 === 0)) {
        const read = await get(`/v1/scores/${userId}`);
        expect([read.status, read.body.user_info.rank]).toEqual([200, rankOf(points)]);
        expect((await get(`/v1/scores/${userId}/neighbors`)).status).toBe(200);
        const [posted] = await writeScores(env, [win(userId, 0)]);
        // A shard that was restarted has no counts of the others, and a post asks nobody. A hash spreads the players over the shards.
        if (!posted?.ok) throw new Error(posted?.error.kind);
        expect(posted.value.isEstimated).toBe(restart);
        expect(Math.abs(posted.value.rank - rankOf(points))).toBeLessThanOrEqual(restart ? PLAYERS.length / 5 : 0);
      }
    }
    expect((await get(`/v1/seasons/${season}/distribution`)).status).toBe(503);
    expect(await findSilentObjects(env)).toEqual([`LEADERBOARD_SEASON ${season}`]);
    expect((await get(`/v1/seasons/${season}/shards`, true)).body).toMatchObject({ available: false });
  });
});

describe('a shard that lost its players', () => {
  const LOST = 1;
  const isLost = (userId: string) => shardOf(userId, SHARDS) === LOST;
  const lose = (season: string) =>
    runInDurableObject(
      shardStub(env, { season, shard: LOST, shards: SHARDS }) as DurableObjectStub,
      async (_, state) => {
        await state.storage.deleteAlarm();
        await state.storage.deleteAll();
        state.abort('a restore');
      },
    ).catch(() => {});

  it.each([
    ['2046-12', 'while the season object runs', async () => {}],
    ['2047-01', 'after the season object was restarted', (season: string) => crash(seasonStub(env, season))],
  ])('refuses to serve until an operator accepts the loss (%s), %s', async (season, _, restart) => {
    await fill(season);
    await lose(season);
    await restart(season);
    vi.setSystemTime(Date.now() + 60_000);
    const sample = PLAYERS.filter((_, i) => i % 29 === 0);
    const kinds = new Set<string>();
    for (const { userId, points } of sample) {
      const [posted] = await writeScores(env, [win(userId, 0)]);
      const read = await get(`/v1/scores/${userId}`);
      if (isLost(userId)) {
        expect([posted?.ok, read.status]).toEqual([false, 503]);
        kinds.add('lost');
        continue;
      }
      expect([posted?.ok, read.status, read.body.user_info.rank]).toEqual([true, 200, rankOf(points)]);
      kinds.add('here');
    }
    expect(kinds.size).toBe(2);
    expect(await findSilentObjects(env)).toEqual([`LEADERBOARD_SHARD ${season}:${LOST}`]);
    expect((await get('/v1/scores')).body.players).toBe(PLAYERS.length);

    const accept = (shard: number) =>
      requestApi(
        env,
        `/v1/seasons/${season}/shards/${shard}/accept-loss`,
        { method: 'POST', headers: { authorization: 'Bearer root-of-tests' } },
        createExecutionContext(),
      );
    expect((await accept(SHARDS)).status).toBe(404);
    const accepted = await accept(LOST);
    expect([accepted.status, await accepted.json()]).toEqual([200, { shard: LOST, players: 0 }]);
    const remaining = PLAYERS.filter(({ userId }) => !isLost(userId));
    const lost = sample.find(({ userId }) => isLost(userId)) ?? { userId: '', points: 0 };
    // The shard learns at its next exchange that it may serve.
    await expect
      .poll(async () => {
        vi.setSystemTime(Date.now() + 2_000);
        return (await writeScores(env, [win(lost.userId, lost.points)]))[0]?.ok;
      })
      .toBe(true);
    vi.setSystemTime(Date.now() + 2_000);
    expect((await get('/v1/scores')).body.players).toBe(remaining.length + 1);
    expect(await findSilentObjects(env)).toEqual([]);
  });
});

describe('a season object that hangs', () => {
  it('leaves the last list and distribution with their times, and the shards find a rank', async () => {
    const season = '2046-11';
    await fill(season);
    const list = await get('/v1/scores?limit=100');
    const distribution = await get(`/v1/seasons/${season}/distribution`);
    for (const name of ['openLine', 'watch', 'distribution', 'status', 'countAbove', 'findRank'] as const) {
      vi.spyOn(LeaderboardSeason.prototype, name).mockImplementation(() => new Promise(() => {}) as never);
    }
    vi.setSystemTime(Date.now() + 60_000);
    for (let read = 0; read < 2; read++) {
      const { status, body } = await get('/v1/scores?limit=100');
      expect([status, body.data, body.as_of]).toEqual([200, list.body.data, list.body.as_of]);
      expect(await get(`/v1/seasons/${season}/distribution`)).toEqual(distribution);
      const from = await get('/v1/scores?from_rank=200&limit=5');
      expect([from.status, from.body.data.map((entry) => entry.rank)]).toEqual([200, [202, 202, 202, 205, 205]]);
    }
  });
});

describe('a shard that hangs', () => {
  it('makes the posts of its own players unavailable, and no others', async () => {
    await fill('2046-07');
    const score = LeaderboardShard.prototype.score;
    const spy = vi.spyOn(LeaderboardShard.prototype, 'score') as unknown as {
      mockImplementation(work: (this: LeaderboardShard, ...values: Parameters<typeof score>) => unknown): void;
    };
    spy.mockImplementation(function (address, updates) {
      return address.shard === 2 ? new Promise(() => {}) : score.call(this, address, updates);
    });
    const batch = PLAYERS.slice(0, 20);
    const posted = await writeScores(
      env,
      batch.map(({ userId }) => win(userId, 1)),
    );
    expect(posted.map((result) => result.ok || result.error.kind)).toEqual(
      batch.map(({ userId }) => (shardOf(userId, SHARDS) === 2 ? 'unavailable' : true)),
    );
  });
});

describe('a page that begins at a rank', () => {
  it('is right for scores that were posted a moment ago if it has to be exact, and says how old it is otherwise', async () => {
    vi.setSystemTime(Date.parse('2046-08-10T12:00:00Z'));
    const board = `ranks-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: 'A board', sort: 'desc', operator: 'sum', period: 'day', public: true, shards: SHARDS };
    const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
    await requestApi(env, `/v1/boards/${board}`, { method: 'PUT', headers, body: JSON.stringify(rules) });
    const points = (i: number) => 1 + i * 1_000;
    const post = (from: number, to: number) =>
      writeScores(
        env,
        Array.from({ length: to - from }, (_, i) => win(`p${from + i}`, points(from + i))),
        board,
      );
    await post(0, 10);
    const countPlayers = async () => {
      vi.setSystemTime(Date.now() + 2_000);
      return (await get(`/v1/boards/${board}/scores?limit=1`)).body.players;
    };
    await expect.poll(countPlayers).toBe(10);
    const countedAt = Date.now();
    vi.setSystemTime(countedAt + 200);
    await post(10, 25);
    // The season object counts again after a second, which does not pass here.
    vi.setSystemTime(countedAt + 500);
    for (const parameter of ['exact=1', `min_as_of=${encodeURIComponent(new Date().toISOString())}`])
      for (const rank of [2, 5, 24, 25]) {
        const { status, body } = await get(`/v1/boards/${board}/scores?from_rank=${rank}&limit=3&${parameter}`);
        const expected = [rank, rank + 1, rank + 2].filter((each) => each <= 25);
        expect([status, body.data.map((entry) => entry.rank)]).toEqual([200, expected]);
        expect(body.data.map((entry) => entry.user_id)).toEqual(expected.map((each) => `p${25 - each}`));
      }
    expect((await get(`/v1/boards/${board}/scores?from_rank=26&exact=1`)).body.data).toEqual([]);
    const { status, body } = await get(`/v1/boards/${board}/scores?from_rank=5&limit=3`);
    const isRight = body.data[0]?.user_id === 'p20';
    expect([status, isRight || Date.parse(body.as_of) < Date.now()]).toEqual([200, true]);
  });
});

describe('reads of many players', () => {
  it('list each player once, and take no limit or cursor', async () => {
    await fill('2046-05');
    const { body } = await get('/v1/scores?user_ids=p3,p4,p3,p3');
    expect(body.data.map((entry) => entry.user_id)).toEqual(['p4', 'p3']);
    expect((await get('/v1/scores?user_ids=p3&limit=1')).status).toBe(400);
    expect((await get('/v1/scores?user_ids=p3&cursor=x')).status).toBe(400);
  });
});
