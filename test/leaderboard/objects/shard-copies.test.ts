/** Tests that each shard has a copy in every location, from which it is restored whole or not at all. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CopyManifest } from '../../../durable-objects/leaderboard/domain/copy-file.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { locationsOf } from '../../../workers/leaderboard/records/archive-files.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { requestApi } from '../../support/json-api.ts';

const SHARDS = 2;
const SEASON = '2056-01';
const LOST = 1;
const PLAYERS = Array.from({ length: 60 }, (_, i) => ({ userId: `player-${i}`, points: 1 + ((i * 7) % 23) }));
const own = PLAYERS.filter(({ userId }) => shardOf(userId, SHARDS) === LOST);
const address = { season: SEASON, shard: LOST, shards: SHARDS };
const stub = () => shardStub(env, address) as unknown as DurableObjectStub;
const prefix = `leaderboard-copies/${SEASON}/${LOST}/`;

const win = (userId: string, points: number, eventId: string) => {
  return { userId, points, userName: `Name of ${userId}`, eventId, season: undefined };
};

async function call(method: string, path: string, body?: object) {
  const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
  const response = await requestApi(env, path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: the answers of several routes
  return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : {}) as any };
}
const restore = async () => {
  const { status, body } = await call('POST', `/v1/seasons/${SEASON}/shards/${LOST}/restore`);
  return { status, code: body.code, detail: body.detail, players: body.players };
};
const readList = async () =>
  (await call('GET', `/v1/scores?season=${SEASON}&limit=100&exact=1`)).body.data as { user_id: string }[];

async function listCopy(bucket: R2Bucket): Promise<string[]> {
  return (await bucket.list({ prefix })).objects.map(({ key }) => key.slice(prefix.length)).sort();
}
const readManifest = async (bucket: R2Bucket = env.BLOBS) =>
  (await (await bucket.get(`${prefix}copy.json`))?.json<CopyManifest>()) as CopyManifest;

const crash = (object: DurableObjectStub) =>
  runInDurableObject(object, (_, state) => state.abort('a crash')).catch(() => {});

/** Removes the rows of the shard, as a wrong namespace or a bad restore does. */
async function lose(): Promise<void> {
  await runInDurableObject(stub(), async (_, { storage }) => {
    await storage.deleteAlarm();
    await storage.deleteAll();
  });
  await crash(stub());
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(`${SEASON}-10T12:00:00Z`) });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('the copy of a shard', () => {
  it('is written to every location, and again where it changed', async () => {
    for (const result of await writeScores(
      env,
      PLAYERS.map(({ userId, points }) => win(userId, points, `e-${userId}`)),
    ))
      expect(result.ok).toBe(true);
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    const first = await readManifest();
    expect(first).toMatchObject({ ...address, copy: 1, players: own.length, sealedAt: null });
    for (const bucket of locationsOf(env)) {
      const names = [...first.parts, ...first.events].map(({ name }) => name);
      expect(await listCopy(bucket)).toEqual(['copy.json', ...names].sort());
      expect(await readManifest(bucket)).toEqual(first);
    }
    await writeScores(env, [win(own[0]?.userId ?? '', 5, 'later')]);
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    const second = await readManifest();
    expect([second.copy, second.players, second.events[0]]).toEqual([2, own.length, first.events[0]]);
    expect(second.events).toHaveLength(2);
    expect(second.parts).not.toEqual(first.parts);
    expect(await listCopy(env.BLOBS)).toHaveLength(4);
  });

  it('loses a player who is erased', async () => {
    const erased = own.at(-1)?.userId ?? '';
    expect((await call('DELETE', `/v1/scores/${erased}`)).status).toBe(204);
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    for (const bucket of locationsOf(env)) {
      for (const name of await listCopy(bucket))
        expect(await (await bucket.get(prefix + name))?.text()).not.toContain(`"${erased}"`);
    }
    expect((await readManifest()).players).toBe(own.length - 1);
  });

  it('restores the shard: scores, names, order, and repeats of events', async () => {
    const before = await readList();
    expect(await restore()).toMatchObject({ status: 409, code: 'copy_older' });
    await lose();
    expect(await restore()).toMatchObject({ status: 200, players: own.length - 1 });
    expect(await readList()).toEqual(before);
    const [again] = await writeScores(env, [win(own[0]?.userId ?? '', 5, 'later')]);
    expect(again).toMatchObject({ ok: true, value: { isDuplicate: true } });
    await crash(stub());
    expect(await readList()).toEqual(before);
    await writeScores(env, [win(own[1]?.userId ?? '', 5, 'after the restore')]);
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    expect((await readManifest()).players).toBe(own.length - 1);
  });

  it('is not overwritten by a shard that lost its rows', async () => {
    const before = await readList();
    const manifest = await readManifest();
    await lose();
    // The season object was lost, too, so that nothing refuses the post.
    await runInDurableObject(seasonStub(env, SEASON) as DurableObjectStub, (_, { storage }) => storage.deleteAll());
    await crash(seasonStub(env, SEASON) as DurableObjectStub);
    expect((await writeScores(env, [win(own[2]?.userId ?? '', 1, 'lonely')]))[0]).toMatchObject({ ok: true });
    for (let i = 0; i < 3; i++) expect(await runDurableObjectAlarm(stub())).toBe(true);
    expect(await readManifest()).toEqual(manifest);
    expect((await restore()).status).toBe(200);
    expect(await readList()).toEqual(before);
  });

  it.each([
    ['damaged in one location', 200, undefined],
    ['damaged in one location, of the same length', 200, undefined],
    ['damaged in every location', 409, 'copy_damaged'],
    ['missing in every location', 409, 'copy_part_missing'],
  ] as const)('is read with a part that is %s', async (fault, status, code) => {
    const before = await readList();
    const part = (await readManifest()).parts[0]?.name ?? '';
    const kept = await (await env.BLOBS_2.get(prefix + part))?.arrayBuffer();
    await lose();
    const flipped = new Uint8Array(kept ?? new ArrayBuffer(0)).map((byte) => byte ^ 1);
    if (fault.startsWith('damaged'))
      await env.BLOBS.put(prefix + part, fault.endsWith('same length') ? flipped : new Uint8Array(10));
    else await env.BLOBS.delete(prefix + part);
    if (fault === 'damaged in every location') await env.BLOBS_2.put(prefix + part, new Uint8Array(10));
    if (fault === 'missing in every location') await env.BLOBS_2.delete(prefix + part);
    const restored = await restore();
    expect(restored).toMatchObject({ status, code });
    if (status !== 200) {
      expect(restored.detail).toContain(prefix + part);
      for (const bucket of locationsOf(env)) await bucket.put(prefix + part, kept ?? '');
      expect((await restore()).status).toBe(200);
    } else await env.BLOBS.put(prefix + part, kept ?? '');
    expect(await readList()).toEqual(before);
  });

  it('is written once the shard is sealed, and restores it', async () => {
    const before = await readList();
    vi.setSystemTime(Date.parse('2056-02-01T00:01:00Z'));
    expect((await call('POST', `/v1/seasons/${SEASON}/close`)).body.state).toBe('historical');
    expect(await runDurableObjectAlarm(stub())).toBe(true);
    expect((await readManifest()).sealedAt).toBe(Date.now());
    await lose();
    expect((await call('GET', `/v1/scores/${own[0]?.userId}?season=${SEASON}`)).status).toBe(503);
    expect((await restore()).status).toBe(200);
    expect(await readList()).toEqual(before);
    await crash(stub());
    expect(await readList()).toEqual(before);
  });
});
