/**
 * Tests that events count exactly once, regardless of where they are stored: in the log or on a page, in memory or reloaded from
 * SQL.
 */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import type { WriteResult } from '../../../workers/leaderboard/write-results.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const TIMES = { asOf: expect.any(Number), writtenAt: expect.any(Number) };
const SHARDS = 2;
const HOUR_MS = 3_600_000;

const win = (userId: string, points: number, eventId: string | null, userName: string | null = null) => {
  return { userId, points, userName, eventId, season: undefined };
};
const addresses = (season: string) => Array.from({ length: SHARDS }, (_, shard) => ({ season, shard, shards: SHARDS }));
const read = <T>(season: string, shard: number, query: string) =>
  runInDurableObject(shardStub(env, { season, shard, shards: SHARDS }) as DurableObjectStub, (_, { storage }) => {
    return storage.sql.exec(query).toArray() as T[];
  });
const readAll = async <T>(season: string, query: string): Promise<T[]> =>
  (await Promise.all(addresses(season).map(({ shard }) => read<T>(season, shard, query)))).flat();
const countPages = async (season: string) => (await readAll(season, 'SELECT id FROM event_page')).length;

/** Restarts all shards of a season. Calls each one first, because an object that is not running cannot be evicted. */
async function restartAll(season: string): Promise<void> {
  for (const address of addresses(season)) {
    await shardStub(env, address).report(address, '');
    await evictDurableObject(shardStub(env, address));
  }
}

/** Runs the alarms of the season's shards, which make checkpoints and remove old events. */
async function runAlarms(season: string): Promise<void> {
  for (const address of addresses(season)) {
    await shardStub(env, address).report(address, '');
    await runDurableObjectAlarm(shardStub(env, address) as DurableObjectStub);
  }
}

beforeEach(() => {
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('repeats first answers through renames, small and large calls, conflicts and restarts', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-03-10T12:00:00Z') });
  const season = '2043-03';
  const random = createRandom(announceSeed());
  const below = (limit: number) => Math.floor(random() * limit);
  const known: {
    userId: string;
    points: number;
    eventId: string;
    first: Extract<WriteResult, { ok: true }>['value'];
  }[] = [];
  const scores = new Map<string, number>();
  let [next, repeats, conflicts] = [0, 0, 0];
  for (let call = 0; call < 30; call++) {
    const updates = Array.from({ length: 1 + (random() < 0.5 ? below(4) : below(40)) }, () => {
      const old = random() < 0.3 ? known[below(known.length)] : undefined;
      if (old !== undefined) return win(old.userId, old.points + (random() < 0.2 ? 1 : 0), old.eventId);
      // Half of the event ids belong to a match, in which several players have an event.
      const [userId, id] = [
        `p${Math.floor(random() ** 3 * 40)}`,
        random() < 0.5 ? `match ${next >> 3}` : `event ${next}`,
      ];
      next++;
      const isTaken = known.some((each) => each.userId === userId && each.eventId === id);
      return win(userId, below(4), isTaken ? `event ${next}` : id, random() < 0.1 ? `Name ${below(9)}` : null);
    });
    const seen = new Map(known.map((each) => [`${each.userId} ${each.eventId}`, each]));
    for (const [i, result] of (await writeScores(env, updates)).entries()) {
      const { userId, points, eventId } = updates[i] as (typeof updates)[0];
      const before = seen.get(`${userId} ${eventId}`);
      if (before !== undefined && before.points !== points) {
        expect(result).toEqual({ ok: false, error: { kind: 'event_conflict', points: before.points } });
        conflicts++;
        continue;
      }
      if (!result.ok || eventId === null) throw new Error(JSON.stringify(result));
      if (before !== undefined) {
        expect(result.value).toEqual({ ...before.first, isDuplicate: true, ...TIMES });
        repeats++;
        continue;
      }
      const score = (scores.get(userId) ?? 0) + points;
      scores.set(userId, score);
      expect(result.value).toMatchObject({ userId, score, isDuplicate: false });
      const event = { userId, points, eventId, first: result.value };
      known.push(event);
      seen.set(`${userId} ${eventId}`, event);
    }
    vi.setSystemTime(Date.now() + below(3_000));
    if (random() < 0.1) await restartAll(season);
    if (random() < 0.1 || call === 15) await runAlarms(season);
  }
  expect(Math.min(repeats, conflicts)).toBeGreaterThan(3);
  const logged = await readAll(season, 'SELECT place FROM log');
  expect([logged.length > 0, (await countPages(season)) > 0]).toEqual([true, true]);
});

it('moves events from the log to pages at a checkpoint, and uses the rows of the log again', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-04-10T12:00:00Z') });
  const season = '2043-04';
  const batch = (name: string) => Array.from({ length: 50 }, (_, i) => win(`m${i}`, 1, `${name}${i}`));
  const places = () => readAll<{ place: number }>(season, 'SELECT place FROM log');
  for (const name of ['a', 'b', 'c']) await writeScores(env, batch(name));
  expect([(await places()).length, await countPages(season)]).toEqual([3 * SHARDS, 0]);
  await runAlarms(season);
  expect([(await places()).length, await countPages(season)]).toEqual([3 * SHARDS, SHARDS]);
  await writeScores(env, batch('d'));
  expect((await places()).length).toBe(3 * SHARDS);
  const renamed = [win('renamed', 1, 'one', 'One'), win('renamed', 1, 'two', 'Two')];
  await writeScores(env, renamed);
  for (let restart = 0; restart < 2; restart++) {
    const names = (await writeScores(env, renamed)).map((result) => result.ok && result.value.userName);
    expect(names).toEqual(['One', 'Two']);
    for (const [i, name] of ['a', 'b', 'c', 'd'].entries()) {
      for (const result of await writeScores(env, batch(name))) {
        expect(result).toMatchObject({ ok: true, value: { score: i + 1, isDuplicate: true } });
      }
    }
    await restartAll(season);
  }
});

it('accepts 12,000 events together, as many as stalled calls may bring', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-07-10T12:00:00Z') });
  const calls = Array.from({ length: 12 }, (_, call) =>
    Array.from({ length: 1_000 }, (_, i) => win(`${i}`, 1, `${call} ${i}`, call === 7 ? `Name ${i}` : null)),
  );
  const first = await Promise.all(calls.map((call) => writeScores(env, call)));
  const sizes = await readAll<{ bytes: number }>('2043-07', 'SELECT length(slots) bytes FROM log');
  expect(Math.max(...sizes.map(({ bytes }) => bytes / 4))).toBeLessThanOrEqual(4_096);
  expect(sizes.reduce((sum, { bytes }) => sum + bytes / 4, 0)).toBe(12_000);
  await restartAll('2043-07');
  const again = await Promise.all(calls.map((call) => writeScores(env, call)));
  for (const [i, result] of again.flat().entries()) {
    const answer = first.flat()[i];
    expect(result).toEqual(answer?.ok && { ok: true, value: { ...answer.value, isDuplicate: true, ...TIMES } });
  }
});

it('deletes pages after 49 hours and not before, and still recognises the events on the remaining ones', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-05-10T12:00:00Z') });
  const season = '2043-05';
  const batch = (name: string) => Array.from({ length: 40 }, (_, i) => win(`${i}`, 1, `${name}${i}`));
  const send = async (name: string) => {
    const results = await writeScores(env, batch(name));
    return results.map((result) => result.ok && result.value.isDuplicate);
  };
  const all = (isRepeat: boolean) => new Array(40).fill(isRepeat);
  expect(await send('old')).toEqual(all(false));
  await runAlarms(season);
  vi.setSystemTime(Date.now() + 40 * HOUR_MS);
  expect(await send('new')).toEqual(all(false));
  await runAlarms(season);
  expect(await countPages(season)).toBe(2 * SHARDS);
  expect(await send('old')).toEqual(all(true));
  vi.setSystemTime(Date.now() + 10 * HOUR_MS);
  // Post once more: the alarm, which removes old events, is scheduled by a change.
  await writeScores(env, batch('later'));
  await runAlarms(season);
  expect(await countPages(season)).toBe(2 * SHARDS);
  expect(await send('new')).toEqual(all(true));
  expect(await send('old')).toEqual(all(false));
});

it('removes an erased player from every page, and keeps all the other players', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-06-10T12:00:00Z') });
  const season = '2043-06';
  const batch = Array.from({ length: 40 }, (_, i) => win(`u${i % 10}`, 1, `e${i}`, `Name of ${i % 10}`));
  await writeScores(env, batch);
  await writeScores(env, [win('u3', 1, 'alone')]);
  for (const address of addresses(season)) await shardStub(env, address).erase(address, 'u3');
  const stored = 'SELECT user_names FROM event_page UNION ALL SELECT user_names FROM log';
  const names = (await readAll<{ user_names: string }>(season, stored)).map((row) => row.user_names);
  expect(names.join()).not.toContain('Name of 3');
  expect(names.join()).toContain('Name of 4');
  for (let restart = 0; restart < 2; restart++) {
    const others = batch.filter(({ userId }) => userId !== 'u3');
    const again = await writeScores(env, others);
    expect(new Set(again.map((result) => result.ok && result.value.isDuplicate))).toEqual(new Set([true]));
    await restartAll(season);
  }
  const afterErasure = await writeScores(env, [win('u3', 1, 'e3'), win('u3', 1, 'alone')]);
  expect(afterErasure.map((result) => result.ok && [result.value.score, result.value.isDuplicate])).toEqual([
    [1, false],
    [2, false],
  ]);
});
