/**
 * Tests that a season which 0.2.0 archived moves into its shards: after cuts, after a change meanwhile, and not at all if the archive
 * contradicts itself. Reads are the same before and afterwards. test/leaderboard/system/upgrade.test.ts imports what 0.2.0 itself wrote.
 */
import { createExecutionContext, env, evictDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import {
  type ArchiveManifest,
  locationsOf,
  manifestKey,
  writeFile,
} from '../../../workers/leaderboard/records/archive-files.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';
import { FormerSeason, importWithCut, PLAYERS, SHARDS, watchImports } from './former-seasons.ts';

const DAY_MS = 86_400_000;
/** Every so many steps, one is cut here. The long test cuts each. */
const STEPS_APART = 30;

const runCron = (minute: number) =>
  runLeaderboardSchedule({ scheduledTime: minute * 60_000 } as ScheduledController, env, createExecutionContext());

beforeEach(watchImports);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('has the same players, scores, times and ranks in its shards', async () => {
  const former = await FormerSeason.play();
  await former.change();
  const before = await former.read();
  expect(before.list).toHaveLength(PLAYERS.length - 3);
  await former.importAll();
  expect(await former.find()).toMatchObject({ archive: null, erasedAt: null, players: PLAYERS.length - 1 });
  expect(await former.read()).toEqual(before);
  const { season } = former;
  // On a slow machine, an object may sleep already.
  for (let shard = 0; shard < SHARDS; shard++)
    await evictDurableObject(shardStub(env, { season, shard, shards: SHARDS }) as DurableObjectStub).catch(() => {});
  await evictDurableObject(seasonStub(env, season) as DurableObjectStub).catch(() => {});
  expect(await former.read()).toEqual(before);
  expect(await former.correct('p3', { hidden: false })).toBe(200);
  expect(await former.correct('p6', { score: 100 })).toBe(200);
  const after = await former.read();
  expect(after.list[0]).toMatchObject({ userId: 'p6', rank: 1, score: 100 });
  expect(after.list).toHaveLength(before.list.length + 1);
});

it('is planned by cron each hour, and its files are removed a day later, if each location has the copies of the shards', async () => {
  const former = await FormerSeason.play();
  const before = await former.read();
  await runCron(40);
  expect(await former.find()).toMatchObject({ archive: former.archive });
  await runCron(41);
  await runCron(42);
  expect(await former.find()).toMatchObject({ archive: null, dueAt: Date.now() + DAY_MS });
  expect(await former.listFiles()).not.toEqual([]);
  const [copy = ''] = await former.listFiles('leaderboard-copies', '1/copy.json');
  for (const bucket of locationsOf(env)) {
    const kept = await bucket.get(copy);
    const bytes = (await kept?.arrayBuffer()) ?? '';
    await bucket.delete(copy);
    await runCron(43);
    expect(await former.listFiles()).not.toEqual([]);
    const { sha256 } = kept?.checksums ?? {};
    await bucket.put(copy, bytes, sha256 && { sha256 });
    vi.setSystemTime(Date.now() + DAY_MS);
  }
  await runCron(44);
  expect(await former.listFiles()).toEqual([]);
  expect(await former.find()).toMatchObject({ archive: null, dueAt: null });
  expect(await former.read()).toEqual(before);
});

it('begins again if the archive changes meanwhile', async () => {
  const former = await FormerSeason.play();
  const changes = [() => former.correct('p7', { score: 90 }), () => former.request('DELETE', 'p8')].values();
  const { restore } = LeaderboardShard.prototype;
  const restored = vi.spyOn(LeaderboardShard.prototype, 'restore').mockImplementation(async function (
    this: LeaderboardShard,
    address,
  ) {
    if (address.shard === 1) expect(await changes.next().value?.()).toBeOneOf([200, 204, undefined]);
    return restore.call(this, address);
  });
  await former.importAll();
  expect(restored.mock.calls.map(([{ shard }]) => shard)).toEqual([0, 1, 0, 1, 0, 1]);
  const { list } = await former.read();
  expect(list[0]).toMatchObject({ userId: 'p7', score: 90 });
  expect(list.map(({ userId }) => userId).toSorted()).toEqual(PLAYERS.filter((id) => id !== 'p8').toSorted());
});

type Rows = readonly (readonly unknown[])[];
it.each<[string, (rows: Rows) => Rows, string]>([
  ['a player is missing in the look-ups', (rows) => rows.slice(1), 'lookups/1/00000000.json'],
  ['a score differs', ([first = [], ...rest]) => [first.with(2, 99), ...rest], 'lookups/1/00000000.json'],
  ['a name differs', ([first = [], ...rest]) => [first.with(1, 'x'), ...rest], 'lookups/1/00000000.json'],
  ['a player is missing in the list', (rows) => rows.slice(0, -1), 'standings/00000001.json'],
  ['the list is out of order', (rows) => rows.toReversed(), 'standings/00000001.json'],
])('stays in its archive, with an alarm, if %s', async (_, damage, name) => {
  const former = await FormerSeason.play();
  const key = `${former.archive}/${name}`;
  const whole = (await (await env.BLOBS.get(key))?.json()) as Rows;
  await writeFile(env, key, damage(whole));
  await former.close();
  const collector = createCollectorStore(env.DIRECTORY, 'leaderboard');
  expect((await collector.read()).alarm).toContain(former.season);
  expect(await former.find()).toMatchObject({ archive: former.archive, dueAt: Date.now() + 3_600_000 });
  await writeFile(env, key, whole);
  await former.importAll();
  expect((await collector.read()).alarm).toBeNull();
});

it('loses a player who is erased later from its files, too', async () => {
  const former = await FormerSeason.play();
  await former.importAll();
  expect(await former.listFiles()).not.toEqual([]);
  expect(await former.request('DELETE', 'p9')).toBe(204);
  expect(await former.listFiles()).toEqual([]);
  expect((await former.read()).list.map(({ userId }) => userId)).not.toContain('p9');
});

it('takes no change of its archive from the moment in which the shards have it', async () => {
  const former = await FormerSeason.play();
  const before = await former.read();
  const manifest = (await (await env.BLOBS.get(manifestKey(former.archive)))?.json()) as ArchiveManifest;
  await writeFile(env, manifestKey(former.archive), { ...manifest, revision: 1, movedAt: Date.now() });
  expect(await former.correct('p1', { score: 50 })).toBe(503);
  await former.importAll();
  expect(await former.read()).toEqual(before);
  expect(await former.correct('p1', { score: 50 })).toBe(200);
});

it('reads the same after a cut', async () => {
  const steps = await importWithCut({ at: 0, side: 'before' });
  expect(steps).toEqual(expect.arrayContaining(['LEADERBOARD_SHARD.restore', 'BLOBS_2.put', 'DIRECTORY.run']));
  for (let at = 2; at <= steps.length; at += STEPS_APART) {
    await importWithCut({ at, side: 'before' });
    await importWithCut({ at: at + 4, side: 'after' });
  }
});
