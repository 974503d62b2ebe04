/** Events count exactly once, wherever they are stored: with the player or on a page, in memory or reloaded from SQL. */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventPages } from '../../../durable-objects/leaderboard-shard/event-pages.ts';
import { shardStub } from '../../../workers/leaderboard/live-standings.ts';
import { type WriteResult, writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { announceSeed, createRandom } from '../../unit/leaderboard/random.ts';

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

/** Calls each shard first, because an object that is not running cannot be evicted. */
async function restartAll(season: string): Promise<void> {
  for (const address of addresses(season)) {
    await shardStub(env, address).report(address, '');
    await evictDurableObject(shardStub(env, address));
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
  for (let call = 0; call < 70; call++) {
    const updates = Array.from({ length: 1 + (random() < 0.5 ? below(4) : below(40)) }, () => {
      const old = random() < 0.3 ? known[below(known.length)] : undefined;
      if (old !== undefined) return win(old.userId, old.points + (random() < 0.2 ? 1 : 0), old.eventId);
      // Half of the ids belong to a match that several players have an event of.
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
        expect(result.value).toEqual({ ...before.first, isDuplicate: true });
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
  }
  expect(Math.min(repeats, conflicts)).toBeGreaterThan(20);
  const inline = await readAll(season, 'SELECT slot FROM player WHERE events IS NOT NULL');
  expect([inline.length > 3, (await countPages(season)) > 20]).toEqual([true, true]);
});

it('stores events of small calls with the players, and those of large calls or beyond 32 per player on pages', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-04-10T12:00:00Z') });
  const season = '2043-04';
  const busy = Array.from({ length: 40 }, (_, i) => win('busy', 1, `b${i}`));
  for (const each of busy.slice(0, 32)) await writeScores(env, [each]);
  expect(await countPages(season)).toBe(0);
  for (const each of busy.slice(32)) await writeScores(env, [each]);
  expect(await countPages(season)).toBe(1);
  const many = Array.from({ length: 50 }, (_, i) => win(`m${i}`, 1, `m${i}`));
  await writeScores(env, many);
  expect(await countPages(season)).toBe(1 + SHARDS);
  const renamed = [win('renamed', 1, 'one', 'One'), win('renamed', 1, 'two', 'Two')];
  await writeScores(env, renamed);
  await restartAll(season);
  const names = (await writeScores(env, renamed)).map((result) => result.ok && result.value.userName);
  expect(names).toEqual(['One', 'Two']);
  const again = await writeScores(env, [...busy, ...many]);
  expect(again.every((result) => result.ok && result.value.isDuplicate)).toBe(true);
  expect(again.slice(0, 40).map((result) => result.ok && result.value.score)).toEqual(busy.map((_, i) => i + 1));
});

it('accepts as many events at once as stalled calls may bring', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-07-10T12:00:00Z') });
  const calls = Array.from({ length: 12 }, (_, call) =>
    Array.from({ length: 1_000 }, (_, i) => win(`${i}`, 1, `${call} ${i}`, call === 7 ? `Name ${i}` : null)),
  );
  const first = await Promise.all(calls.map((call) => writeScores(env, call)));
  const sizes = await readAll<{ bytes: number }>('2043-07', 'SELECT length(slots) bytes FROM event_page');
  expect(Math.max(...sizes.map(({ bytes }) => bytes / 4))).toBe(4_096);
  const again = await Promise.all(calls.map((call) => writeScores(env, call)));
  for (const [i, result] of again.flat().entries()) {
    const answer = first.flat()[i];
    expect(result).toEqual(answer?.ok && { ok: true, value: { ...answer.value, isDuplicate: true } });
  }
});

it('stores events with their players when pages are full, and finds them there', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-08-10T12:00:00Z') });
  const hasRoom = vi.spyOn(EventPages.prototype, 'hasRoom', 'get').mockReturnValue(false);
  const many = Array.from({ length: 60 }, (_, i) => win(`${i}`, 1, `e${i}`));
  await writeScores(env, many);
  expect(hasRoom).toHaveBeenCalled();
  expect(await countPages('2043-08')).toBe(0);
  await restartAll('2043-08');
  const again = await writeScores(env, many);
  expect(again.every((result) => result.ok && result.value.isDuplicate)).toBe(true);
});

it('deletes pages after 49 hours and not before, and still recognises the events on the remaining ones', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2043-05-10T12:00:00Z') });
  const season = '2043-05';
  const batch = (name: string) => Array.from({ length: 40 }, (_, i) => win(`${i}`, 1, `${name}${i}`));
  const runAlarms = async () => {
    for (const address of addresses(season)) {
      await shardStub(env, address).report(address, '');
      await runDurableObjectAlarm(shardStub(env, address) as DurableObjectStub);
    }
  };
  const send = async (name: string) => {
    const results = await writeScores(env, batch(name));
    return results.map((result) => result.ok && result.value.isDuplicate);
  };
  const all = (isRepeat: boolean) => new Array(40).fill(isRepeat);
  expect(await send('old')).toEqual(all(false));
  vi.setSystemTime(Date.now() + 40 * HOUR_MS);
  expect(await send('new')).toEqual(all(false));
  await runAlarms();
  expect(await countPages(season)).toBe(2 * SHARDS);
  expect(await send('old')).toEqual(all(true));
  vi.setSystemTime(Date.now() + 10 * HOUR_MS);
  // A change schedules the alarm.
  await writeScores(env, batch('later'));
  await runAlarms();
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
  const names = (await readAll<{ user_names: string }>(season, 'SELECT user_names FROM event_page')).map(
    (row) => row.user_names,
  );
  expect(names.join()).not.toContain('Name of 3');
  expect(names.join()).toContain('Name of 4');
  for (let restart = 0; restart < 2; restart++) {
    const others = batch.filter(({ userId }) => userId !== 'u3');
    const again = await writeScores(env, others);
    expect(again.every((result) => result.ok && result.value.isDuplicate)).toBe(true);
    await restartAll(season);
  }
  const afterErasure = await writeScores(env, [win('u3', 1, 'e3'), win('u3', 1, 'alone')]);
  expect(afterErasure.map((result) => result.ok && [result.value.score, result.value.isDuplicate])).toEqual([
    [1, false],
    [2, false],
  ]);
});
