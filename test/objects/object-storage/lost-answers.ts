/** What happens when D1 does as it was told and its answer gets lost, while others write the same name. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Bucket, Engine } from '../../../workers/object-storage/engine/index.ts';
import { maintainShard } from '../../../workers/object-storage/maintenance/schedule.ts';
import { type FaultPlan, faultyDatabase } from './faults.ts';
import {
  bytesOf,
  countRows,
  expectContent,
  failure,
  METADATA,
  makeBucket,
  makeEngine,
  put,
  value,
  wipe,
} from './harness.ts';

const LIMITS = { databaseTimeoutMs: 60 };

interface Scene {
  readonly healthy: Engine;
  /** Its first batch happens, then `meanwhile`, and then its answer gets lost. */
  readonly unlucky: Engine;
}

function makeScene(meanwhile: () => Promise<unknown> = async () => {}, lostAnswers = 1): Scene {
  const healthy = makeEngine().engine;
  let left = lostAnswers;
  const database = new Proxy(env.OBJECTS_0, {
    get(target, key) {
      if (key !== 'batch') return Reflect.get(target, key).bind(target);
      return async (statements: D1PreparedStatement[]) => {
        if (left === 0) return await target.batch(statements);
        const isFirst = left === lostAnswers;
        left--;
        await target.batch(statements).catch(() => {});
        if (isFirst) await meanwhile();
        throw new Error('Network connection lost');
      };
    },
  });
  return { healthy, unlucky: makeEngine({ limits: LIMITS, bindings: { OBJECTS_0: database } }).engine };
}

async function versionsOf(engine: Engine, bucket: Bucket) {
  const { entries } = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 }));
  return entries.flatMap((entry) => (entry.kind === 'item' ? [entry.item] : []));
}

export function defineLostAnswerTests(): void {
  beforeEach(wipe);

  describe('a delete whose answer was lost', () => {
    test.each(['never', 'suspended'] as const)(
      'leaves what was put since alone, in a bucket whose versioning is: %s',
      async (versioning) => {
        const { healthy, unlucky } = makeScene(() => put(healthy, bucket, 'x', 'put after the delete'));
        const bucket = await makeBucket(healthy, versioning);
        await put(healthy, bucket, 'x', 'deleted');
        const { existed } = value(await unlucky.deleteObject(bucket, { name: 'x' }));
        expect(existed).toBe(true);
        await expectContent(healthy, bucket, 'x', 'put after the delete');
        expect(await versionsOf(healthy, bucket)).toHaveLength(1);
      },
    );

    test('of nothing leaves alone what was put since', async () => {
      const { healthy, unlucky } = makeScene(() => put(healthy, bucket, 'x', 'the first'));
      const bucket = await makeBucket(healthy);
      expect(value(await unlucky.deleteObject(bucket, { name: 'x' })).existed).toBe(false);
      await expectContent(healthy, bucket, 'x', 'the first');
    });

    test('of the null version leaves the next one alone', async () => {
      const { healthy, unlucky } = makeScene(() => put(healthy, bucket, 'x', 'the next'));
      const bucket = await makeBucket(healthy, 'suspended');
      await put(healthy, bucket, 'x', 'deleted');
      const outcome = value(await unlucky.deleteObject(bucket, { name: 'x', versionId: 'null' }));
      expect(outcome).toMatchObject({ existed: true, isNull: true });
      await expectContent(healthy, bucket, 'x', 'the next');
    });

    test('writes one marker, also when that one is deleted or overwritten before it is sent again', async () => {
      const { healthy, unlucky } = makeScene(async () => {
        const [marker] = await versionsOf(healthy, bucket);
        value(await healthy.deleteObject(bucket, { name: 'x', versionId: marker?.versionId ?? '' }));
      });
      const bucket = await makeBucket(healthy, 'enabled');
      await put(healthy, bucket, 'x', 'kept');
      expect(value(await unlucky.deleteObject(bucket, { name: 'x' })).isMarker).toBe(true);
      await expectContent(healthy, bucket, 'x', 'kept');

      const second = makeScene(() => put(healthy, bucket, 'x', 'newer'));
      const { versionId } = value(await second.unlucky.deleteObject(bucket, { name: 'x' }));
      const versions = await versionsOf(healthy, bucket);
      expect(versions.map(({ isMarker }) => isMarker)).toEqual([false, true, false]);
      expect(versions[1]?.versionId).toBe(versionId);
    });

    test('tells of the marker that it took away', async () => {
      const { healthy, unlucky } = makeScene();
      const bucket = await makeBucket(healthy, 'enabled');
      await put(healthy, bucket, 'x', 'kept');
      const { versionId } = value(await healthy.deleteObject(bucket, { name: 'x' }));
      const outcome = value(await unlucky.deleteObject(bucket, { name: 'x', versionId: versionId ?? '' }));
      expect(outcome).toEqual({ isMarker: true, versionId, isNull: false, existed: true });
    });

    test('with a condition is not measured by what it did itself', async () => {
      const { healthy, unlucky } = makeScene();
      const bucket = await makeBucket(healthy);
      const { etag } = await put(healthy, bucket, 'x', 'deleted');
      value(await unlucky.deleteObject(bucket, { name: 'x', condition: { etags: [etag] } }));
      expect(failure(await healthy.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
    });

    test('is one of many: each name is told of rightly', async () => {
      const { healthy, unlucky } = makeScene(() => put(healthy, bucket, '1', 'put after the delete'));
      const bucket = await makeBucket(healthy);
      const names = Array.from({ length: 1000 }, (_, i) => String(i));
      for (const name of ['1', '7', '999']) await put(healthy, bucket, name, 'deleted');
      const outcomes = await unlucky.deleteObjects(
        bucket,
        names.map((name) => ({ name })),
      );
      const existed = outcomes.flatMap((outcome, i) => (value(outcome).existed ? [names[i]] : []));
      expect(existed).toEqual(['1', '7', '999']);
      expect((await versionsOf(healthy, bucket)).map(({ name }) => name)).toEqual(['1']);
    });

    test('every time is read back, and says so when it cannot be', async () => {
      const { healthy, unlucky } = makeScene(() => put(healthy, bucket, 'x', 'put after the delete'), 4);
      const bucket = await makeBucket(healthy);
      await put(healthy, bucket, 'x', 'deleted');
      expect(value(await unlucky.deleteObject(bucket, { name: 'x' })).existed).toBe(true);
      await expectContent(healthy, bucket, 'x', 'put after the delete');

      const plan: FaultPlan = { at: 0, how: 'cut before', calls: 0, hit: null };
      const dark = makeEngine({ limits: LIMITS, bindings: { OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan) } }).engine;
      expect(failure(await dark.deleteObject(bucket, { name: 'x' })).kind).toBe('unavailable');
      await expectContent(healthy, bucket, 'x', 'put after the delete');
    });

    test('does nothing when it arrives after a later one that was acknowledged', async () => {
      const healthy = makeEngine().engine;
      let late: () => Promise<unknown> = async () => {};
      let isFirst = true;
      const database = new Proxy(env.OBJECTS_0, {
        get(target, key) {
          if (key !== 'batch' || !isFirst) return Reflect.get(target, key).bind(target);
          isFirst = false;
          return async (statements: D1PreparedStatement[]) => {
            late = () => target.batch(statements);
            throw new Error('Network connection lost');
          };
        },
      });
      const bucket = await makeBucket(healthy);
      await put(healthy, bucket, 'x', 'deleted');
      const { engine } = makeEngine({ limits: LIMITS, bindings: { OBJECTS_0: database } });
      value(await engine.deleteObject(bucket, { name: 'x' }));
      await put(healthy, bucket, 'x', 'put after the delete');
      await expect(late()).rejects.toThrow('already_committed');
      await expectContent(healthy, bucket, 'x', 'put after the delete');
    });
  });

  test('an upload whose answer was lost does not bring back a version that was deleted since', async () => {
    const { healthy, unlucky } = makeScene(async () => {
      const [uploaded] = await versionsOf(healthy, bucket);
      value(await healthy.deleteObject(bucket, { name: 'x', versionId: uploaded?.versionId ?? '' }));
    });
    const bucket = await makeBucket(healthy, 'enabled');
    const uploaded = await unlucky.putObject({ bucket, name: 'x', body: bytesOf('x'), size: 1, metadata: METADATA });
    expect(failure(uploaded).kind).toBe('unavailable');
    expect(await versionsOf(healthy, bucket)).toEqual([]);
  });

  test('receipts of deletes go an hour later', async () => {
    const { engine, context } = makeEngine();
    const bucket = await makeBucket(engine);
    value(await engine.deleteObject(bucket, { name: 'x' }));
    await maintainShard(context, 0);
    expect(await countRows(context, 'receipt')).toBe(1);
    await maintainShard(makeEngine({ now: () => Date.now() + 3_700_000 }).context, 0);
    expect(await countRows(context, 'receipt')).toBe(0);
  });
}
