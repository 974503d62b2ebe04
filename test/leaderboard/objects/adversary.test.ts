import {
  createExecutionContext,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { ShardBoard } from '../../../durable-objects/leaderboard/shard/shard-board.ts';
import { ShardStore } from '../../../durable-objects/leaderboard/shard/store.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import type { StandingKey } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub, shardStub, viewStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { requestApi } from '../../support/json-api.ts';
import { announceSeed, createRandom } from '../unit/random.ts';
import { archiveAsFormerly } from './former-season.ts';

const SHARDS = 3;

const win = (userId: string, points: number, eventId: string | null = null) => ({
  userId,
  points,
  userName: null,
  eventId,
  season: undefined,
});

/** Reads the standings of a season from every shard, unless `isExact` is false. */
async function open(season: string, isExact = true) {
  const opened = await openStandings(env, season);
  if (!opened.ok) throw new Error(opened.error.kind);
  const { reader } = opened.value;
  return {
    page: (after: StandingKey | null, limit: number) => reader.page(after, limit, isExact),
    standings: (userIds: readonly string[]) => reader.standings(userIds, isExact),
    neighbors: (userId: string, radius: number) => reader.neighbors(userId, radius, isExact),
    keyAtRank: async (rank: number) => (await reader.keyAtRank(rank, false)).key,
    distribution: (rangesMax: number) => reader.distribution(rangesMax),
  };
}

/** Moves the clock so that counts are stale. The next rank or list then pulls new ones. */
const letCountsAge = () => vi.setSystemTime(Date.now() + 2_000);

async function readAll(season: string) {
  const reader = await open(season);
  const entries = [];
  for (let after: StandingKey | null = null; ; ) {
    const page = await reader.page(after, 500);
    entries.push(...page.entries);
    after = page.next;
    if (after === null) return entries;
  }
}

const addresses = (season: string) => Array.from({ length: SHARDS }, (_, shard) => ({ season, shard, shards: SHARDS }));

const runSchedule = () => runLeaderboardSchedule({} as ScheduledController, env, createExecutionContext());

beforeEach(() => {
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a month that is over', () => {
  it('erases a player while the month ends', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2040-05-31T23:59:59Z') });
    const season = '2040-05';
    await writeScores(env, [win('left', 1), win('stays', 2)]);
    const address = { season, shard: shardOf('left', SHARDS), shards: SHARDS };
    vi.spyOn(LeaderboardShard.prototype, 'erase').mockImplementationOnce(async () => {
      // Delay this call until the whole month is sealed.
      vi.setSystemTime(Date.parse('2040-06-01T00:01:00Z'));
      await runSchedule();
      return shardStub(env, address).erase(address, 'left');
    });
    const remove = () =>
      requestApi(env, '/v1/scores/left', { method: 'DELETE', headers: { authorization: 'Bearer root-of-tests' } });
    expect((await remove()).status).toBe(204);
    expect((await readAll(season)).map(({ userId }) => userId)).toEqual(['stays']);
  });

  it('erases every object of a month that 0.2.0 archived after one of them fails, even if cron does not run again', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2040-08-10T12:00:00Z') });
    const [season, ids] = ['2040-08', Array.from({ length: 30 }, (_, i) => `gone${i}`)];
    const wins = ids.map((id) => win(id, 1));
    await writeScores(env, wins);
    vi.setSystemTime(Date.parse('2040-09-01T00:01:00Z'));
    const close = () => seasonStub(env, season).close({ season, shards: SHARDS });
    await archiveAsFormerly(season, SHARDS);
    await close();
    vi.setSystemTime(Date.parse('2040-09-04T00:00:00Z'));
    const destroy = vi.spyOn(LeaderboardShard.prototype, 'destroy').mockRejectedValueOnce(new Error('not now'));
    const failure = await close().then(String, String);
    expect(failure).toBe('Error: not now');
    const due = await createSeasonStore(env.DIRECTORY).listDue(Date.now(), 100);
    expect(due.map((row) => row.season)).not.toContain(season);
    const countTables = () =>
      Promise.all(
        addresses(season).map((each) =>
          runInDurableObject(shardStub(env, each) as DurableObjectStub, (_, { storage }) => {
            const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name IN ('player', 'event_page')");
            return tables.toArray().length;
          }),
        ),
      );
    expect((await countTables()).sort()).toEqual([0, 0, 2]);
    expect(await runDurableObjectAlarm(seasonStub(env, season) as DurableObjectStub)).toBe(true);
    expect(await countTables()).toEqual([0, 0, 0]);
    expect(destroy).toHaveBeenCalledTimes(2 * SHARDS);
    expect(await readAll(season)).toHaveLength(30);
  });
});

describe('a board with more different scores than buckets', () => {
  it('returns exact ranks, neighbours and a full distribution', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-01-10T12:00:00Z') });
    const random = createRandom(announceSeed());
    const players = 68_000;
    const scores = Array.from({ length: players }, (_, i) => 3 * i + Math.floor(random() * 3));
    const updates = scores.map((score, i) => win(`p${i}`, score));
    for (let at = 0; at < players; at += 1_000) {
      const results = await writeScores(env, updates.slice(at, at + 1_000));
      expect(new Set(results.map(({ ok }) => ok))).toEqual(new Set([true]));
    }
    letCountsAge();
    const reader = await open('2041-01', false);
    const chosen = Array.from({ length: 100 }, () => Math.floor(random() * players));
    // Retry: on a busy machine a shard may answer too late, and the season then uses the shard's last counts.
    await vi.waitFor(
      async () => {
        const { entries, players: counted } = await reader.standings(chosen.map((i) => `p${i}`));
        expect(counted).toBe(players);
        expect(entries.map((entry) => entry?.rank)).toEqual(chosen.map((i) => players - i));
      },
      { timeout: 60_000 },
    );
    const around = await reader.neighbors('p40000', 3);
    expect(around?.entries.map(({ userId, rank }) => [userId, rank])).toEqual(
      [3, 2, 1, 0, -1, -2, -3].map((step) => [`p${40_000 + step}`, players - 40_000 - step]),
    );
    for (const rank of [1, 2, ...chosen.slice(0, 20), players]) {
      const page = await reader.page(await reader.keyAtRank(Math.max(1, rank)), 1);
      expect([rank, page.entries[0]?.rank]).toEqual([rank, Math.max(1, rank)]);
    }
    expect((await reader.page(await reader.keyAtRank(players + 1), 1)).entries).toEqual([]);
    const { ranges } = await reader.distribution(50);
    expect(ranges.length).toBeGreaterThan(20);
    for (const { from, to, players: inRange } of ranges) {
      expect(inRange).toBe(scores.filter((score) => score >= from && score <= to).length);
    }
    letCountsAge();
    // Adds a new score in the middle of the list, and compares its answer with the answer to its retry.
    const [first] = await writeScores(env, [win('p100', 90_000, 'jump')]);
    const expected = 1 + scores.filter((score, i) => i !== 100 && score > (scores[100] ?? 0) + 90_000).length;
    expect(first).toMatchObject({ ok: true, value: { isDuplicate: false } });
    // A post answers the best known rank, and says if it is estimated: on a busy machine a report of another shard may be late.
    const rank = first?.ok === true && first.value.isEstimated ? first.value.rank : expected;
    expect(first).toMatchObject({ value: { rank } });
    await writeScores(env, [win('p101', 900_000), win('p102', 900_000)]);
    const [again] = await writeScores(env, [win('p100', 90_000, 'jump')]);
    expect(again).toMatchObject({ ok: true, value: { rank, isDuplicate: true } });
    letCountsAge();
    const many = Array.from({ length: 60 }, (_, i) => win(`p${200 + i}`, 60_000 + i, `jump ${i}`));
    const answers = await writeScores(env, many);
    await writeScores(env, [win('p103', 900_000), win('p104', 900_000)]);
    for (const [i, repeated] of (await writeScores(env, many)).entries()) {
      const answer = answers[i];
      expect(answer?.ok && answer.value.rank).toBeGreaterThan(1);
      const times = { asOf: expect.any(Number), writtenAt: expect.any(Number) };
      expect(repeated).toEqual(answer?.ok && { ok: true, value: { ...answer.value, isDuplicate: true, ...times } });
    }
  });
});

/** Evicts an object. Ignores that it is not running: on a slow machine, it may have hibernated by itself. */
async function hibernate(stub: Parameters<typeof evictDurableObject>[0]): Promise<void> {
  await evictDurableObject(stub).catch((error: unknown) => {
    if (!String(error).includes('not currently running')) throw error;
  });
}

describe('viewers', () => {
  it('keep their WebSocket while season and view hibernate, and receive changes made after that', async () => {
    await writeScores(env, [win('ada', 5)]);
    const current = await open(new Date().toISOString().slice(0, 7), false);
    await vi.waitFor(async () => expect((await current.page(null, 1)).players).toBe(1));
    const response = await requestApi(env, '/v1/scores?limit=2', { headers: { upgrade: 'websocket' } });
    const socket = response.webSocket;
    if (!socket) throw new Error(`no socket: ${response.status}`);
    const messages: string[][] = [];
    socket.addEventListener('message', ({ data }) => {
      const list = JSON.parse(String(data)).data as { user_id: string; score: number }[];
      const shown = list.map((entry) => `${entry.user_id}:${entry.score}`);
      // Ignore a repeated list: a view that hibernated may send the same list again.
      if (String(shown) !== String(messages.at(-1))) messages.push(shown);
    });
    socket.accept();
    const until = async (count: number) => {
      while (messages.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await until(1);
    const season = new Date().toISOString().slice(0, 7);
    for (let sleep = 1; sleep <= 2; sleep++) {
      // Wait until pushes have finished, because only then the object may hibernate.
      await new Promise((resolve) => setTimeout(resolve, 300));
      await hibernate(seasonStub(env, season));
      await hibernate(viewStub(env, season, 'enam:0'));
      await writeScores(env, [win('bea', 10)]);
      await until(1 + sleep);
    }
    expect(messages).toEqual([['ada:5'], ['bea:10', 'ada:5'], ['bea:20', 'ada:5']]);
    socket.close();
  });
});

describe('a viewer who comes', () => {
  it('receives the next change, even if its view has just reported that it has no readers', async () => {
    const season = new Date().toISOString().slice(0, 7);
    await writeScores(env, [win('first', 1_000)]);
    const current = await open(season, false);
    await expect.poll(async () => (await current.page(null, 1)).entries[0]?.userId).toBe('first');
    // A view without readers, as after a restart of all objects: it still receives the list, returns false, and the season then
    // removes the view.
    const view = viewStub(env, season, 'oc:0');
    const list = { entries: (await current.page(null, 10)).entries, players: 1, asOf: Date.now() };
    expect(await view.news(season, list)).toBe(false);
    const viewer = { season, shards: SHARDS, view: 'oc:0', limit: 1, client: '', perClient: 9 };
    const url = `https://view/live?${encodeURIComponent(JSON.stringify(viewer))}`;
    const socket = (await view.fetch(url, { headers: { upgrade: 'websocket' } })).webSocket;
    const best: string[] = [];
    socket?.addEventListener('message', ({ data }) => best.push(JSON.parse(String(data)).data[0].user_id));
    socket?.accept();
    await expect.poll(() => best).toEqual(['first']);
    await writeScores(env, [win('second', 2_000)]);
    await expect.poll(() => best.at(-1)).toBe('second');
    socket?.close();
  });
});

describe('unusual use by a game', () => {
  it('counts repeats in a batch of a thousand once, and gives each the first answer', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-02-10T12:00:00Z') });
    const updates = Array.from({ length: 1_000 }, (_, i) => win(`r${i % 7}`, 1 + (i % 7), `e${i % 140}`));
    const results = await writeScores(env, updates);
    for (const [i, result] of results.entries()) {
      const first = results[i % 140];
      if (!result.ok || !first?.ok) throw new Error('every update is good');
      expect(result.value.isDuplicate).toBe(i >= 140);
      expect([result.value.score, result.value.rank]).toEqual([first.value.score, first.value.rank]);
    }
    const { entries } = await (await open('2041-02')).standings(['r0', 'r6']);
    expect(entries.map((entry) => entry?.score)).toEqual([20, 140]);
    const [conflict] = await writeScores(env, [win('r0', 2, 'e0')]);
    expect(conflict).toEqual({ ok: false, error: { kind: 'event_conflict', points: 1 } });
  });

  it.each([
    ['asks every shard', true],
    ['comes a second later', false],
  ])('includes every acknowledged write in a read that %s', async (_, isExact) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(`204${isExact ? 1 : 4}-08-10T12:00:00Z`) });
    const season = isExact ? '2041-08' : '2044-08';
    const random = createRandom(announceSeed());
    const scores = new Map<string, number>();
    for (let step = 0; step < 120; step++) {
      const [userId, points] = [`w${Math.floor(random() * 9)}`, 1 + Math.floor(random() * 5)];
      letCountsAge();
      const [result] = await writeScores(env, [win(userId, points)]);
      scores.set(userId, (scores.get(userId) ?? 0) + points);
      const rankOf = (id: string) => 1 + [...scores.values()].filter((score) => score > (scores.get(id) ?? 0)).length;
      expect(result).toMatchObject({ ok: true, value: { rank: rankOf(userId) } });
      const ids = [...scores.keys()];
      if (!isExact) letCountsAge();
      const { entries, asOf } = await (await open(season, isExact)).standings(ids);
      expect(asOf).toBe(Date.now());
      expect(entries.map((entry) => entry?.rank)).toEqual(ids.map(rankOf));
      const { entries: top, players } = await (await open(season, isExact)).page(null, 100);
      expect([players, ...top.map((entry) => entry.score)]).toEqual([
        scores.size,
        ...[...scores.values()].sort((a, b) => b - a),
      ]);
    }
  });

  it('sends all reports over one connection, and opens another after the season object crashes or is evicted', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2042-02-10T12:00:00Z') });
    const season = '2042-02';
    const openLine = vi.spyOn(LeaderboardSeason.prototype, 'openLine');
    const address = { season, shard: shardOf('ada', SHARDS), shards: SHARDS };
    // Count only calls of this season, because shards of other tests may still push.
    const countLines = () => openLine.mock.calls.filter(([opened]) => opened.season === season).length;
    await writeScores(env, [win('ada', 1)]);
    // Each shard of the season exchanges once at first.
    await vi.waitFor(() => expect(countLines()).toBe(SHARDS));
    for (let i = 2; i <= 30; i++) {
      const [result] = await writeScores(env, [win('ada', 1)]);
      expect(result).toMatchObject({ ok: true, value: { score: i, rank: 1 } });
    }
    expect(countLines()).toBe(SHARDS);
    const ends = [
      () => runInDurableObject(seasonStub(env, season) as DurableObjectStub, (_, state) => state.abort('a crash')),
      () => evictDurableObject(seasonStub(env, season)),
      () => evictDurableObject(shardStub(env, address)),
    ];
    for (const [i, end] of ends.entries()) {
      await end().catch(() => {});
      letCountsAge();
      const [result] = await writeScores(env, [win('ada', 1)]);
      expect(result).toMatchObject({ ok: true, value: { score: 31 + i, rank: 1 } });
      expect((await (await open(season)).page(null, 10)).entries.map(({ score }) => score)).toEqual([31 + i]);
    }
    await vi.waitFor(() => expect(countLines()).toBeGreaterThanOrEqual(SHARDS + 2));
  });

  it('counts a win of the last millisecond and its retry in the old month, and the next win in the new month', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-09-30T23:59:59.999Z') });
    const [last] = await writeScores(env, [win('edge', 3, 'last')]);
    expect(last).toMatchObject({ ok: true, value: { season: '2041-09', score: 3, rank: 1, isDuplicate: false } });
    vi.setSystemTime(Date.now() + 1);
    const late = { ...win('edge', 5, 'late'), season: '2041-09' };
    const [again, next, named] = await writeScores(env, [win('edge', 3, 'last'), win('edge', 4, 'next'), late]);
    expect(again).toMatchObject({ ok: true, value: { season: '2041-09', score: 3, rank: 1, isDuplicate: true } });
    expect(next).toMatchObject({ ok: true, value: { season: '2041-10', score: 4, rank: 1, isDuplicate: false } });
    expect(named).toMatchObject({ ok: true, value: { season: '2041-09', score: 8, isDuplicate: false } });
    await seasonStub(env, '2041-09').close({ season: '2041-09', shards: SHARDS });
    const [tooLate] = await writeScores(env, [{ ...late, eventId: 'later' }]);
    expect(tooLate).toEqual({ ok: false, error: { kind: 'season_sealed' } });
    expect((await readAll('2041-09')).map(({ score }) => score)).toEqual([8]);
    expect((await readAll('2041-10')).map(({ score }) => score)).toEqual([4]);
  });

  it('counts a new win in the next month if a clock ahead of the Worker has sealed its month, but keeps retries in the old one', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-11-30T23:59:59.999Z') });
    await writeScores(env, [win('edge', 3, 'last')]);
    for (const each of addresses('2041-11')) await shardStub(env, each).seal(each);
    const named = { ...win('edge', 5, 'named'), season: '2041-11' };
    const updates = [win('edge', 3, 'last'), win('edge', 4, 'next'), named, win('new', 1)];
    const [again, next, refused, other] = await writeScores(env, updates);
    expect(again).toMatchObject({ ok: true, value: { season: '2041-11', score: 3, isDuplicate: true } });
    expect(next).toMatchObject({ ok: true, value: { season: '2041-12', score: 4, isDuplicate: false } });
    expect(refused).toEqual({ ok: false, error: { kind: 'season_sealed' } });
    expect(other).toMatchObject({ ok: true, value: { season: '2041-12', score: 1, isDuplicate: false } });
    vi.setSystemTime(Date.now() + 1);
    const [retried] = await writeScores(env, [win('edge', 4, 'next')]);
    expect(retried).toMatchObject({ ok: true, value: { season: '2041-12', score: 4, isDuplicate: true } });
    expect((await readAll('2041-12')).map(({ score }) => score)).toEqual([4, 1]);
  });

  it('adds up concurrent posts to one player', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-03-10T12:00:00Z') });
    const calls = Array.from({ length: 60 }, (_, call) =>
      writeScores(
        env,
        Array.from({ length: 25 }, (_, i) => win('hot', 1, `${call}-${i}`)),
      ),
    );
    const reached = (await Promise.all(calls)).flat().map((result) => (result.ok ? result.value.score : 0));
    expect(reached.sort((a, b) => a - b)).toEqual(Array.from({ length: 1_500 }, (_, i) => i + 1));
    const again = await writeScores(env, [win('hot', 1, '0-0'), win('hot', 1, '59-24')]);
    expect(again.map((result) => result.ok && result.value.isDuplicate)).toEqual([true, true]);
  });

  it('accepts points up to the largest safe integer and no more', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-04-10T12:00:00Z') });
    const season = '2041-04';
    await writeScores(env, [win('rich', 0), win('poor', 0), win('rich', 0)]);
    for (const each of addresses(season)) {
      await shardStub(env, each).correct(each, 'rich', { score: Number.MAX_SAFE_INTEGER - 5 });
    }
    const [fits, over] = await writeScores(env, [win('rich', 5), win('rich', 1)]);
    expect(fits).toMatchObject({ ok: true, value: { score: Number.MAX_SAFE_INTEGER, rank: 1 } });
    expect(over).toEqual({ ok: false, error: { kind: 'score_overflow' } });
    expect(await (await open(season)).distribution(50)).toMatchObject({ players: 2 });
  });

  it('keeps the order and fresh ranks when the clock is set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-05-10T12:00:00Z') });
    const names = Array.from({ length: 30 }, (_, i) => `c${i}`);
    await writeScores(
      env,
      names.slice(0, 15).map((name) => win(name, 7)),
    );
    await (await open('2041-05')).standings(names);
    vi.setSystemTime(Date.parse('2041-05-10T09:00:00Z'));
    await writeScores(
      env,
      names.slice(15).map((name) => win(name, 9)),
    );
    vi.setSystemTime(Date.parse('2041-05-10T09:00:05Z'));
    const { entries } = await (await open('2041-05', false)).standings(names);
    expect(entries.map((entry) => entry?.rank)).toEqual(names.map((_, i) => (i < 15 ? 16 : 1)));
    expect(await readAll('2041-05')).toHaveLength(30);
  });

  it('keeps memory and rows consistent during concurrent posts, corrections and erasures', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-06-10T12:00:00Z') });
    const season = '2041-06';
    const random = createRandom(announceSeed());
    const name = () => `m${Math.floor(random() * 60)}`;
    for (let round = 0; round < 15; round++) {
      vi.setSystemTime(Date.now() + 300);
      const work: Promise<unknown>[] = [];
      for (let call = 0; call < 6; call++) {
        const batch = Array.from({ length: 20 }, () => ({
          ...win(name(), Math.floor(random() * 4), random() < 0.5 ? `e${Math.floor(random() * 40)}` : null),
          userName: random() < 0.2 ? `Name ${Math.floor(random() * 5)}` : null,
        }));
        work.push(writeScores(env, batch));
        const userId = name();
        for (const address of addresses(season)) {
          if (random() < 0.2) work.push(shardStub(env, address).erase(address, userId));
          if (random() < 0.2) {
            const change = random() < 0.5 ? { score: Math.floor(random() * 30) } : { hidden: random() < 0.5 };
            work.push(shardStub(env, address).correct(address, userId, change));
          }
        }
      }
      await Promise.all(work);
    }
    letCountsAge();
    const before = await readAll(season);
    const top = (await (await open(season, false)).page(null, 100)).entries;
    expect(top).toEqual(before);
    for (const address of addresses(season)) await evictDurableObject(shardStub(env, address));
    await evictDurableObject(seasonStub(env, season));
    expect(await readAll(season)).toEqual(before);
    letCountsAge();
    expect((await (await open(season, false)).page(null, 100)).entries).toEqual(before);
  });
});

it('reads and writes 25,000 players in one call, as many as can wait for a stalled shard', async () => {
  const store = shardStub(env, { season: 'many', shard: 0, shards: 1 });
  await runInDurableObject(store as DurableObjectStub, async (_, { storage }) => {
    const shard = await ShardStore.open(storage);
    const rows = Array.from({ length: 25_000 }, (_, i) => {
      return { slot: i + 1, userId: `${i}`.padStart(64, 'x'), userName: i % 2 === 0 ? '名'.repeat(64) : null };
    });
    shard.writePlayers(rows);
    expect(shard.findPlayers(rows.map(({ userId }) => userId))).toEqual(rows);
  });
});

it('writes one row for a post of a known player, and one for a thousand posts together', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2041-07-10T12:00:00Z') });
  const address = { season: '2041-07', shard: 0, shards: 1 };
  await runInDurableObject(shardStub(env, address) as DurableObjectStub, async (_, state) => {
    let written = 0;
    const sql = {
      exec(query: string, ...values: SqlStorageValue[]) {
        const cursor = state.storage.sql.exec(query, ...values);
        const rows = [...cursor.raw()];
        written += cursor.rowsWritten;
        return { raw: () => rows };
      },
    };
    const store = new (ShardStore as unknown as new (sql: unknown) => ShardStore)(sql);
    const board = new ShardBoard(store, address, 'boot');
    let events = 0;
    const countRows = (players: number) => {
      written = 0;
      const updates = Array.from({ length: players }, (_, i) => win(`p${i}`, 1, `e${events++}`));
      const results = board.score(updates, Date.now());
      expect(
        new Set(
          results.map(({ ok, value }: { ok: boolean; value?: { isDuplicate: boolean } }) => ok && !value?.isDuplicate),
        ),
      ).toEqual(new Set([true]));
      return written;
    };
    // Rows written: a new player takes a row and an index entry, and the first player also creates the board's row.
    expect(countRows(1)).toBe(4);
    expect(countRows(1_000)).toBe(1 + 2 * 999);
    expect(countRows(1_000)).toBe(1);
    let alone = 0;
    for (let i = 0; i < 20_000; i++) alone += countRows(1);
    // The average stays near 1, although every 4,096 commits cause a checkpoint, which writes pages and the row of the board.
    expect(alone / 20_000).toBeLessThan(1.01);
  });
});

describe('a month that has not begun', () => {
  it('has its objects created by cron a day before, once', async () => {
    const prepared = [LeaderboardSeason, LeaderboardShard].map((each) => vi.spyOn(each.prototype, 'prepare'));
    const run = async (time: string) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(time) });
      const controller = { scheduledTime: Date.now() } as ScheduledController;
      await runLeaderboardSchedule(controller, env, createExecutionContext());
      return prepared.map(({ mock }) => mock.calls.length);
    };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2048-02-20T12:00:00Z') });
    await writeScores(env, [win('before', 1)]);
    expect(await run('2048-02-28T23:59:00Z')).toEqual([0, 0]);
    expect(await run('2048-02-29T00:00:00Z')).toEqual([1, SHARDS]);
    expect(await run('2048-02-29T00:01:00Z')).toEqual([1, SHARDS]);
    // A month that has not begun must not be listed, and its players can post once it begins.
    expect(await createSeasonStore(env.DIRECTORY).find('2048-03')).toBeNull();
    vi.setSystemTime(Date.parse('2048-03-01T00:00:00Z'));
    const [first] = await writeScores(env, [win('early', 1)]);
    expect(first).toMatchObject({ ok: true, value: { season: '2048-03', score: 1, rank: 1 } });
  });
});
