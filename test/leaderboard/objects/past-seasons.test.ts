/** Tests of seasons that are over: they stay in their sealed shards, read as before, and end without a shard that is lost. */
import { createExecutionContext, env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OrderedIndex } from '../../../durable-objects/leaderboard/domain/ordered-index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findMissingShards, findSilentObjects } from '../../../workers/leaderboard/seasons/shard-status.ts';
import { requestApi } from '../../support/json-api.ts';

const SHARDS = 4;
const PLAYERS = Array.from({ length: 400 }, (_, i) => ({ userId: `p${i}`, points: 1 + ((i * 7) % 90) }));
const LOST = 2;
const isLost = ({ userId }: { userId: string }) => shardOf(userId, SHARDS) === LOST;

const win = (userId: string, points: number, eventId: string | null = null) => {
  return { userId, points, userName: `Player ${userId}`, eventId, season: undefined };
};
const addresses = (season: string) => Array.from({ length: SHARDS }, (_, shard) => ({ season, shard, shards: SHARDS }));
const runSchedule = (minute = 7) => {
  const controller = { scheduledTime: Date.UTC(2040, 0, 1, 0, minute) } as ScheduledController;
  return runLeaderboardSchedule(controller, env, createExecutionContext());
};

async function call(method: string, path: string, body?: object) {
  const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
  const response = await requestApi(env, path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: the answers of several routes
  return { status: response.status, text, body: (text.startsWith('{') ? JSON.parse(text) : {}) as any };
}

async function play(season: string): Promise<void> {
  vi.setSystemTime(Date.parse(`${season}-10T12:00:00Z`));
  const wins = PLAYERS.map(({ userId, points }) => win(userId, points, `${season}-${userId}`));
  for (const result of await writeScores(env, wins)) expect(result.ok).toBe(true);
  vi.setSystemTime(Date.now() + 11_000);
  for (const { userId } of PLAYERS.slice(0, 24)) await call('GET', `/v1/scores/${userId}`);
  await call('GET', `/v1/scores?min_as_of=${new Date(Date.now()).toISOString()}`);
}

/** Makes every kind of read of a season. @returns the answers without their times. */
async function readAll(season: string) {
  const get = async (path: string) => {
    const { status, body, text } = await call('GET', path);
    const { as_of: _, ...rest } = body;
    return { status, ...(text.startsWith('{') ? rest : { text }) };
  };
  const pages = [];
  for (let cursor = ''; ; ) {
    const page = await get(`/v1/scores?season=${season}&limit=70${cursor}`);
    pages.push(page);
    if (!page.next_cursor) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  const few = PLAYERS.filter((_, i) => i % 41 === 0);
  return {
    pages,
    players: await Promise.all(few.map(({ userId }) => get(`/v1/scores/${userId}?season=${season}`))),
    around: await Promise.all(few.map(({ userId }) => get(`/v1/scores/${userId}/neighbors?season=${season}`))),
    chosen: await get(`/v1/scores?season=${season}&user_ids=p3,p77,nobody,p200`),
    from: await Promise.all([2, 57, 311, 999].map((rank) => get(`/v1/scores?season=${season}&from_rank=${rank}`))),
    distribution: await Promise.all([1, 9, 50].map((n) => get(`/v1/seasons/${season}/distribution?limit=${n}`))),
    csv: await get(`/v1/seasons/${season}/export`),
  };
}

async function evictAll(season: string): Promise<void> {
  for (const address of addresses(season))
    await evictDurableObject(shardStub(env, address) as DurableObjectStub).catch(() => {});
  await evictDurableObject(seasonStub(env, season) as DurableObjectStub).catch(() => {});
}

/** Lets a shard fail each call, also after a restart. @returns a function that ends it. */
function damage(season: string, shard: number): () => void {
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
    'seal',
  ] as const;
  const spies = names.map((name) => {
    const method = LeaderboardShard.prototype[name] as (...values: unknown[]) => Promise<unknown>;
    const spy = vi.spyOn(LeaderboardShard.prototype, name) as unknown as {
      mockImplementation(work: (this: unknown, ...values: unknown[]) => Promise<unknown>): void;
      mockRestore(): void;
    };
    spy.mockImplementation(function (...values) {
      const [address] = values as [{ season: string; shard: number }];
      if (address.season === season && address.shard === shard) return Promise.reject(new Error('the storage is gone'));
      return method.apply(this, values);
    });
    return spy;
  });
  return () => {
    for (const spy of spies) spy.mockRestore();
  };
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

describe('a season that is final', () => {
  it('reads from evicted objects as it did live, and loads no index', async () => {
    const season = '2050-01';
    await play(season);
    const live = await readAll(season);
    expect(live.pages.flatMap(({ data }) => data)).toHaveLength(PLAYERS.length);
    vi.setSystemTime(Date.parse('2050-02-01T00:01:00Z'));
    await runSchedule();
    const { body } = await call('GET', '/v1/seasons?limit=2');
    expect(body.data[1]).toMatchObject({ season, state: 'historical', players: PLAYERS.length, without: [] });
    await evictAll(season);
    const build = vi.spyOn(OrderedIndex.prototype, 'build');
    expect(await readAll(season)).toEqual(live);
    vi.setSystemTime(Date.parse('2050-06-01T00:01:00Z'));
    await evictAll(season);
    expect(await readAll(season)).toEqual(live);
    expect(build).not.toHaveBeenCalled();
    expect(await writeScores(env, [{ ...win('p1', 1), season }])).toEqual([
      { ok: false, error: { kind: 'season_sealed' } },
    ]);
  });

  it('takes corrections, hides, shows and erases, and keeps the ranks of others after an erasure', async () => {
    const season = '2050-01';
    vi.setSystemTime(Date.parse('2050-06-02T00:00:00Z'));
    const before = await readAll(season);
    const listOf = (all: typeof before) => all.pages.flatMap(({ data }) => data);
    const [first, second] = listOf(before);
    const patch = (userId: string, change: object) =>
      call('PATCH', `/v1/scores/${userId}?season=${season}`, { ...change, reason: 'a test' });
    const corrected = await patch('p99', { score: 5_000 });
    expect(corrected.body.user_info).toMatchObject({ score: 5_000, rank: 1 });
    await evictAll(season);
    expect(listOf(await readAll(season))[0]).toMatchObject({ user_id: 'p99', rank: 1, score: 5_000 });
    expect((await call('GET', `/v1/scores/${first.user_id}?season=${season}`)).body.user_info.rank).toBe(2);
    expect((await patch('p99', { hidden: true })).body.user_info.rank).toBeNull();
    await evictAll(season);
    const hidden = listOf(await readAll(season));
    expect(hidden[0]).toMatchObject({ user_id: first.user_id, rank: 1 });
    expect(hidden).toHaveLength(PLAYERS.length - 1);
    expect((await call('GET', `/v1/scores/p99?season=${season}`)).status).toBe(404);
    expect((await patch('p99', { hidden: false, score: 0 })).body.user_info).toMatchObject({ rank: PLAYERS.length });
    expect((await call('DELETE', `/v1/scores/${first.user_id}?season=${season}`)).status).toBe(204);
    expect((await call('DELETE', `/v1/scores/${first.user_id}?season=${season}`)).status).toBe(404);
    const ranks = new Map(hidden.map(({ user_id, rank }) => [user_id, rank]));
    for (const isEvicted of [false, true]) {
      if (isEvicted) await evictAll(season);
      const after = await readAll(season);
      expect(listOf(after)[0]).toEqual({ ...second, rank: ranks.get(second.user_id) });
      expect(listOf(after).slice(0, -1)).toEqual(hidden.slice(1));
      expect(JSON.stringify(after)).not.toContain(`"${first.user_id}"`);
      expect(after.distribution[0]?.players).toBe(PLAYERS.length);
    }
  });
});

describe('a shard that is damaged at the end of its month', () => {
  const season = '2051-01';

  it('stops neither the other shards nor erasures, and is named by health', async () => {
    await play(season);
    damage(season, LOST);
    vi.setSystemTime(Date.parse('2051-02-01T00:01:00Z'));
    await runSchedule();
    const closed = await call('POST', `/v1/seasons/${season}/close`);
    expect([closed.status, closed.body.state]).toEqual([200, 'closing']);
    expect(await findSilentObjects(env)).toContain(`LEADERBOARD_SHARD ${season}:${LOST}`);
    const healthy = PLAYERS.filter((player) => !isLost(player)).at(-1);
    expect((await call('DELETE', `/v1/scores/${healthy?.userId}`)).status).toBe(204);
    expect((await call('GET', `/v1/scores/${healthy?.userId}?season=${season}`)).status).toBe(404);
    const counted = PLAYERS.find((player) => !isLost(player));
    const again = await writeScores(env, [
      win(counted?.userId ?? '', counted?.points ?? 0, `${season}-${counted?.userId}`),
    ]);
    expect(again[0]).toMatchObject({ ok: true, value: { isDuplicate: true, season } });
  });

  it('erases its players once it answers again, and hides them at once', async () => {
    const end = damage(season, LOST);
    vi.setSystemTime(Date.parse('2051-02-01T01:00:00Z'));
    const player = PLAYERS.filter(isLost).sort((a, b) => b.points - a.points)[0];
    const path = `/v1/scores/${player?.userId}`;
    const shown = async () =>
      (await call('GET', `/v1/scores?season=${season}&limit=100`)).text.includes(`"${player?.userId}"`);
    expect(await shown()).toBe(true);
    const asked = await call('DELETE', path);
    expect([asked.status, asked.body.state, asked.body.waiting]).toEqual([202, 'waiting', [season]]);
    expect(await shown()).toBe(false);
    const poll = () => call('GET', `/v1/boards/default/erasures/${asked.body.id}`);
    expect((await poll()).body).toEqual(asked.body);
    vi.setSystemTime(Date.parse('2051-02-01T01:05:00Z'));
    await runSchedule();
    expect((await poll()).body.state).toBe('waiting');
    end();
    vi.setSystemTime(Date.parse('2051-02-01T04:00:00Z'));
    await runSchedule();
    expect((await poll()).body).toMatchObject({ state: 'done', waiting: [] });
    expect(await shown()).toBe(false);
    expect((await call('GET', `${path}?season=${season}`)).status).toBe(404);
    expect((await call('GET', '/v1/boards/default/erasures/00000000-0000-4000-8000-000000000000')).body.code).toBe(
      'unknown_erasure',
    );
  });

  it('may be left out by an operator, and taken in later', async () => {
    const lost = '2052-01';
    await play(lost);
    const live = await readAll(lost);
    const end = damage(lost, LOST);
    vi.setSystemTime(Date.parse('2052-02-01T00:01:00Z'));
    await call('PUT', '/v1/boards/default/webhook', { url: 'https://game.example.com/hooks' });
    await runSchedule();
    const notices = () => env.DIRECTORY.prepare('SELECT season FROM season_notice WHERE season = ?').bind(lost).all();
    expect((await notices()).results).toEqual([]);
    const own = PLAYERS.find(isLost)?.userId ?? '';
    expect((await writeScores(env, [win(own, 1, 'new-1')]))[0]).toMatchObject({
      ok: false,
      error: { kind: 'unavailable' },
    });
    const close = (without: number[]) => call('POST', `/v1/seasons/${lost}/close`, { without });
    expect((await close([1])).body).toMatchObject({ state: 'closing', without: [] });
    expect((await close([9])).body.code).toBe('unknown_shard');
    expect((await close([LOST])).body).toMatchObject({ state: 'historical', without: [LOST], players: PLAYERS.length });
    expect((await notices()).results).toEqual([{ season: lost }]);
    expect(await findSilentObjects(env)).toEqual([]);
    expect(await findMissingShards(env)).toEqual([
      { name: `LEADERBOARD_SHARD ${lost}:${LOST}`, message: expect.any(String) },
    ]);
    const { body: log } = await call('GET', '/v1/audit?target=2052-01');
    expect(log.data[0]).toMatchObject({ action: 'season.close', details: { without: String(LOST) } });
    await evictAll(lost);
    vi.setSystemTime(Date.now() + 20_000);
    expect((await writeScores(env, [win(own, 1, 'new-1')]))[0]).toMatchObject({ ok: true });
    const ranked = await readAll(lost);
    const all = live.pages.flatMap(({ data }) => data);
    const ranks = new Map(all.map(({ user_id, rank }) => [user_id, rank]));
    const listed = ranked.pages.flatMap(({ data }) => data);
    for (const { user_id, rank } of listed) expect([user_id, rank]).toEqual([user_id, ranks.get(user_id)]);
    expect(ranked.csv.text.split('\r\n')).toHaveLength(PLAYERS.filter((player) => !isLost(player)).length + 2);
    end();
    expect((await close([])).body).toMatchObject({ state: 'historical', without: [], players: PLAYERS.length });
    expect(await findMissingShards(env)).toEqual([]);
    expect(await readAll(lost)).toEqual(live);
    await call('DELETE', '/v1/boards/default/webhook');
  });
});

describe('a board that keeps two past seasons', () => {
  it('erases older ones for good, and no others', async () => {
    const rules = {
      title: 'Days',
      sort: 'desc',
      operator: 'sum',
      period: 'day',
      public: true,
      seasons_kept: 2,
      shards: SHARDS,
    };
    expect((await call('PUT', '/v1/boards/days', rules)).body).toMatchObject({ seasons_kept: 2 });
    const days = ['2053-03-01', '2053-03-02', '2053-03-03'];
    for (const day of days) {
      vi.setSystemTime(Date.parse(`${day}T12:00:00Z`));
      expect((await writeScores(env, [win('ada', 3)], 'days'))[0]).toMatchObject({ ok: true });
      vi.setSystemTime(Date.parse(`${day}T12:00:00Z`) + 86_400_000);
      await runSchedule();
    }
    const list = async () => {
      const { body } = await call('GET', '/v1/boards/days/seasons');
      return body.data.map(({ season }: { season: string }) => season);
    };
    await runSchedule(41);
    // The list creates the season of the day, which is the newest past one later.
    expect(await list()).toEqual(expect.arrayContaining(days));
    vi.setSystemTime(Date.parse('2053-03-10T12:00:00Z'));
    await runSchedule(41);
    expect(await list()).toEqual(expect.not.arrayContaining(days.slice(0, 2)));
    expect((await call('GET', '/v1/boards/days/scores/ada?season=2053-03-03')).status).toBe(200);
    expect((await call('GET', '/v1/boards/days/scores/ada?season=2053-03-01')).status).toBe(404);
    const rows = await createSeasonStore(env.DIRECTORY).find('2052-01');
    expect(rows).not.toBeNull();
  });
});

describe('a rank of the past', () => {
  it('reads five rows, in a shard and in the season', async () => {
    const season = '2050-01';
    vi.setSystemTime(Date.parse('2050-07-01T00:00:00Z'));
    const address = { season, shard: shardOf('p3', SHARDS), shards: SHARDS };
    await evictAll(season);
    const shard = shardStub(env, address) as unknown as DurableObjectStub<LeaderboardShard>;
    const rows = await runInDurableObject(shard, async (object, { storage }) => {
      let read = 0;
      const { exec } = storage.sql;
      const spy = vi.spyOn(storage.sql, 'exec').mockImplementation((...values) => {
        const cursor = exec.apply(storage.sql, values);
        const all = [...cursor.raw()];
        read += cursor.rowsRead;
        return { raw: () => all[Symbol.iterator](), [Symbol.iterator]: () => all[Symbol.iterator]() } as never;
      });
      const found = await object.standings(address, ['p3']);
      spy.mockRestore();
      expect(found.entries[0]).toMatchObject({ userId: 'p3', isEstimated: false });
      return read;
    });
    expect(rows).toBeLessThanOrEqual(5);
    console.log(`${rows} rows`);
  });
});
