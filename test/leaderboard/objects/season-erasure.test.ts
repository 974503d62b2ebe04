/** Tests that operators correct, hide, show or erase a player in one season, past or current, and that no other season changes. */
import { createExecutionContext, env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RankedEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { locationsOf } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { requestApi } from '../../support/json-api.ts';
import { Power } from './closing-power.ts';
import { archiveAsFormerly } from './former-season.ts';

const SHARDS = 2;
const PLAYERS = Array.from({ length: 90 }, (_, i) => `p${i}`);
/** One season of each kind: archived by 0.2.0 with its objects erased, archived with its objects kept, and current. */
const [OLD, PAST, CURRENT] = ['2042-01', '2042-02', '2042-03'] as const;
const SEASONS = [OLD, PAST, CURRENT];

const runSchedule = () => runLeaderboardSchedule({} as ScheduledController, env, createExecutionContext());

async function request(method: 'DELETE' | 'PATCH', path: string, bindings: Env = env, body?: object) {
  const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(bindings, `/v1/scores/${path}`, init);
  const { code } = response.status < 300 ? {} : await response.json<{ code?: string }>();
  return [response.status, code];
}
const erase = (userId: string, season: string, bindings?: Env) =>
  request('DELETE', `${userId}?season=${season}`, bindings);

async function readList(season: string): Promise<readonly RankedEntry[]> {
  const opened = await openStandings(env, season);
  if (!opened.ok) throw new Error(opened.error.kind);
  return (await opened.value.reader.page(null, 100, true)).entries;
}
const readLists = async (): Promise<Record<string, readonly RankedEntry[]>> =>
  Object.fromEntries(await Promise.all(SEASONS.map(async (s) => [s, await readList(s)])));
const without = (list: readonly RankedEntry[] = [], userId: string) => list.filter((entry) => entry.userId !== userId);

async function play(season: string): Promise<void> {
  const wins = PLAYERS.map((userId, i) => {
    return { userId, points: 1 + (i % 5), userName: null, eventId: `${season}-${i}`, season: undefined };
  });
  for (const result of await writeScores(env, wins)) expect(result.ok).toBe(true);
}

async function isInArchive(season: string, userId: string): Promise<boolean> {
  for (const bucket of locationsOf(env)) {
    for (const { key } of (await bucket.list({ prefix: `leaderboard/${season}/` })).objects) {
      if ((await (await bucket.get(key))?.text())?.includes(`"${userId}"`)) return true;
    }
  }
  return false;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('one season of three', () => {
  it('is played, and two of the three are over', async () => {
    for (const [season, after] of [
      [OLD, '2042-02-01'],
      [PAST, '2042-03-01'],
    ] as const) {
      vi.setSystemTime(Date.parse(`${season}-20T12:00:00Z`));
      await play(season);
      vi.setSystemTime(Date.parse(`${after}T00:01:00Z`));
      await archiveAsFormerly(season, SHARDS);
      if (season === OLD) vi.setSystemTime(Date.parse('2042-02-04T00:00:00Z'));
      await runSchedule();
    }
    vi.setSystemTime(Date.parse('2042-03-01T12:00:00Z'));
    await play(CURRENT);
    const store = createSeasonStore(env.DIRECTORY);
    expect((await store.find(OLD))?.erasedAt).not.toBeNull();
    expect(await store.find(PAST)).toMatchObject({ archive: expect.any(String), erasedAt: null });
  });

  it.each(SEASONS)('is %s: erases a player there and in no other season', async (season) => {
    vi.setSystemTime(Date.parse('2042-03-02T12:00:00Z'));
    const userId = `p${SEASONS.indexOf(season)}`;
    const before = await readLists();
    expect(await erase(userId, season)).toEqual([204, undefined]);
    expect(await erase(userId, season)).toEqual([404, 'unknown_player']);
    const after = await readLists();
    for (const other of SEASONS.filter((each) => each !== season)) expect(after[other]).toEqual(before[other]);
    // Ranks of players below move up only in the current season. In an archive they keep their ranks.
    const list = without(before[season], userId);
    if (season !== CURRENT) expect(after[season]).toEqual(list);
    else expect(after[season]?.map((entry) => entry.userId)).toEqual(list.map((entry) => entry.userId));
    expect(await isInArchive(season, userId)).toBe(false);
  });

  it('lacks the player after a power cut at any step of the erasure', async () => {
    vi.setSystemTime(Date.parse('2042-03-02T12:00:00Z'));
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const users = PLAYERS.slice(3).values();
    let steps: readonly string[] = [];
    for (let at = 1, isCut = true; isCut; at++) {
      for (const side of ['before', 'after'] as const) {
        const userId = users.next().value;
        if (userId === undefined) throw new Error('more steps than players');
        const before = await readLists();
        const power = new Power({ at, side });
        const [status] = await erase(userId, PAST, power.env);
        isCut = power.steps.length >= at;
        expect(isCut ? [500, 503] : [204]).toContain(status);
        if (isCut) expect([204, 404]).toContain((await erase(userId, PAST))[0]);
        const where = `${side} step ${at}, ${power.steps[at - 1]}`;
        expect(await readLists(), where).toEqual({ ...before, [PAST]: without(before[PAST], userId) });
        expect(await isInArchive(PAST, userId), where).toBe(false);
        steps = power.steps;
      }
    }
    expect(steps).toEqual(expect.arrayContaining(['BLOBS.put', 'BLOBS_2.put', 'LEADERBOARD_SHARD.erase']));
  });

  it('is unknown: erases nothing', async () => {
    vi.setSystemTime(Date.parse('2042-03-02T12:00:00Z'));
    const before = await readLists();
    expect(await erase('p89', '2041-12')).toEqual([404, 'unknown_season']);
    expect(await erase('p89', '2042-04')).toEqual([404, 'unknown_season']);
    expect(await erase('p89', 'March')).toEqual([400, 'invalid_request']);
    vi.setSystemTime(Date.parse('2042-04-01T00:00:01Z'));
    expect(await erase('p89', '2042-04')).toEqual([404, 'unknown_player']);
    expect(await readLists()).toEqual(before);
    expect(await erase('p89', PAST)).toEqual([204, undefined]);
    expect(await readLists()).toEqual({ ...before, [PAST]: without(before[PAST], 'p89') });
  });

  it.each(SEASONS)('is %s: takes corrections, hides a player and shows it again', async (season) => {
    vi.setSystemTime(Date.parse('2042-03-02T12:00:00Z'));
    const before = await readLists();
    const list = before[season] ?? [];
    const own = list.at(-3);
    if (own === undefined) throw new Error('the list is too short');
    const { userId } = own;
    const patch = (change: object) =>
      request('PATCH', `${userId}?season=${season}`, env, { ...change, reason: 'a test' });
    /** Expects that all reads of the player agree. @param score of the player; null while the player is hidden or erased. */
    const expectList = async (userIds: readonly string[], score: number | null) => {
      const after = await readLists();
      const found = after[season] ?? [];
      expect(found.map((entry) => entry.userId)).toEqual(userIds);
      for (const other of without(list, userId)) {
        const rank = other.rank - (own.score > other.score ? 1 : 0) + (score !== null && score > other.score ? 1 : 0);
        expect(found).toContainEqual({ ...other, rank });
      }
      for (const other of SEASONS.filter((each) => each !== season)) expect(after[other]).toEqual(before[other]);
      return found.find((entry) => entry.userId === userId);
    };
    const others = list.map((entry) => entry.userId).filter((id) => id !== userId);
    expect(await patch({ score: 1_000 })).toEqual([200, undefined]);
    expect(await expectList([userId, ...others], 1_000)).toMatchObject({ score: 1_000, rank: 1 });
    expect(await patch({ hidden: true })).toEqual([200, undefined]);
    expect(await expectList(others, null)).toBeUndefined();
    expect(await patch({ score: 0 })).toEqual([200, undefined]);
    expect(await expectList(others, null)).toBeUndefined();
    expect(await patch({ hidden: false })).toEqual([200, undefined]);
    expect(await expectList([...others, userId], 0)).toMatchObject({ score: 0 });
    expect(await patch({ score: 1_000 })).toEqual([200, undefined]);
    expect(await patch({ hidden: true })).toEqual([200, undefined]);
    expect(await erase(userId, season)).toEqual([204, undefined]);
    expect(await erase(userId, season)).toEqual([404, 'unknown_player']);
    expect(await patch({ hidden: false })).toEqual([404, 'unknown_player']);
    expect(await isInArchive(season, userId)).toBe(false);
    await expectList(others, null);
  });

  it('has the player in one place after a power cut at any step of a correction', async () => {
    vi.setSystemTime(Date.parse('2042-03-02T12:00:00Z'));
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const userId = 'p87';
    const correct = (change: object, bindings: Env) =>
      request('PATCH', `${userId}?season=${PAST}`, bindings, { ...change, reason: 'a test' });
    const others = without((await readLists())[PAST], userId).map((entry) => entry.userId);
    let [isCut, round] = [true, 0];
    for (let at = 1; isCut; at++) {
      for (const side of ['before', 'after'] as const) {
        const change = [{ score: 2_000 + at }, { hidden: true }, { hidden: false }][round++ % 3] ?? {};
        const power = new Power({ at, side });
        const [status] = await correct(change, power.env);
        isCut = power.steps.length >= at;
        const where = `${side} step ${at}, ${power.steps[at - 1]}`;
        expect(isCut ? [500, 503] : [200], where).toContain(status);
        if (isCut) expect(await correct(change, env), where).toEqual([200, undefined]);
        const after = (await readLists())[PAST] ?? [];
        expect(
          without(after, userId).map((entry) => entry.userId),
          where,
        ).toEqual(others);
        expect(after.filter((entry) => entry.userId === userId).length, where).toBe(
          'hidden' in change && change.hidden ? 0 : 1,
        );
      }
    }
    expect(await request('PATCH', `p87?season=2042-04`, env, { score: 1, reason: 'x' })).toEqual([
      404,
      'unknown_season',
    ]);
    expect(await request('PATCH', `nobody?season=${PAST}`, env, { score: 1, reason: 'x' })).toEqual([
      404,
      'unknown_player',
    ]);
  });
});
