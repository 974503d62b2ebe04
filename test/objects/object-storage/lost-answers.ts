/** D1 executes a write but its response is lost, while other requests write the same name. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Bucket, Engine } from '../../../workers/object-storage/engine/index.ts';
import { tendShard } from '../../../workers/object-storage/maintenance/schedule.ts';
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
  /** Executes its first batch, runs `meanwhile`, and then loses the response. */
  readonly lossy: Engine;
}

function makeScene(meanwhile: () => Promise<unknown> = async () => {}, lostResponses = 1): Scene {
  const healthy = makeEngine().engine;
  let left = lostResponses;
  const database = new Proxy(env.OBJECTS_0, {
    get(target, key) {
      if (key !== 'batch') return Reflect.get(target, key).bind(target);
      return async (statements: D1PreparedStatement[]) => {
        if (left === 0) return await target.batch(statements);
        const isFirst = left === lostResponses;
        left--;
        await target.batch(statements).catch(() => {});
        if (isFirst) await meanwhile();
        throw new Error('Network connection lost');
      };
    },
  });
  return { healthy, lossy: makeEngine({ limits: LIMITS, bindings: { OBJECTS_0: database } }).engine };
}

async function versionsOf(engine: Engine, bucket: Bucket) {
  const { entries } = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 }));
  return entries.flatMap((entry) => (entry.kind === 'item' ? [entry.item] : []));
}

export function defineLostAnswerTests(): void {
  beforeEach(wipe);

  describe('a delete whose response was lost', () => {
    test.each(['never', 'suspended'] as const)(
      'keeps a later put, in a bucket with versioning: %s',
      async (versioning) => {
        const { healthy, lossy } = makeScene(() => put(healthy, bucket, 'x', 'put after the delete'));
        const bucket = await makeBucket(healthy, versioning);
        await put(healthy, bucket, 'x', 'deleted');
        const { existed } = value(await lossy.deleteObject(bucket, { name: 'x' }));
        expect(existed).toBe(true);
        await expectContent(healthy, bucket, 'x', 'put after the delete');
        expect(await versionsOf(healthy, bucket)).toHaveLength(1);
      },
    );

    test('of a missing name keeps a later put', async () => {
      const { healthy, lossy } = makeScene(() => put(healthy, bucket, 'x', 'the first'));
      const bucket = await makeBucket(healthy);
      expect(value(await lossy.deleteObject(bucket, { name: 'x' })).existed).toBe(false);
      await expectContent(healthy, bucket, 'x', 'the first');
    });

    test('of the null version keeps the next one', async () => {
      const { healthy, lossy } = makeScene(() => put(healthy, bucket, 'x', 'the next'));
      const bucket = await makeBucket(healthy, 'suspended');
      await put(healthy, bucket, 'x', 'deleted');
      const outcome = value(await lossy.deleteObject(bucket, { name: 'x', versionId: 'null' }));
      expect(outcome).toMatchObject({ existed: true, isNull: true });
      await expectContent(healthy, bucket, 'x', 'the next');
    });

    test('writes one marker, even if that marker is deleted or overwritten before the retry', async () => {
      const { healthy, lossy } = makeScene(async () => {
        const [marker] = await versionsOf(healthy, bucket);
        value(await healthy.deleteObject(bucket, { name: 'x', versionId: marker?.versionId ?? '' }));
      });
      const bucket = await makeBucket(healthy, 'enabled');
      await put(healthy, bucket, 'x', 'kept');
      expect(value(await lossy.deleteObject(bucket, { name: 'x' })).isMarker).toBe(true);
      await expectContent(healthy, bucket, 'x', 'kept');

      const second = makeScene(() => put(healthy, bucket, 'x', 'newer'));
      const { versionId } = value(await second.lossy.deleteObject(bucket, { name: 'x' }));
      const versions = await versionsOf(healthy, bucket);
      expect(versions.map(({ isMarker }) => isMarker)).toEqual([false, true, false]);
      expect(versions[1]?.versionId).toBe(versionId);
    });

    test('reports the marker that it removed', async () => {
      const { healthy, lossy } = makeScene();
      const bucket = await makeBucket(healthy, 'enabled');
      await put(healthy, bucket, 'x', 'kept');
      const { versionId } = value(await healthy.deleteObject(bucket, { name: 'x' }));
      const outcome = value(await lossy.deleteObject(bucket, { name: 'x', versionId: versionId ?? '' }));
      expect(outcome).toEqual({ isMarker: true, versionId, isNull: false, existed: true });
    });

    test('does not check its condition against its own effect', async () => {
      const { healthy, lossy } = makeScene();
      const bucket = await makeBucket(healthy);
      const { etag } = await put(healthy, bucket, 'x', 'deleted');
      value(await lossy.deleteObject(bucket, { name: 'x', condition: { etags: [etag] } }));
      expect(failure(await healthy.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
    });

    test('in a batch reports each name correctly', async () => {
      const { healthy, lossy } = makeScene(() => put(healthy, bucket, '1', 'put after the delete'));
      const bucket = await makeBucket(healthy);
      const names = Array.from({ length: 1000 }, (_, i) => String(i));
      for (const name of ['1', '7', '999']) await put(healthy, bucket, name, 'deleted');
      const outcomes = await lossy.deleteObjects(
        bucket,
        names.map((name) => ({ name })),
      );
      const existed = outcomes.flatMap((outcome, i) => (value(outcome).existed ? [names[i]] : []));
      expect(existed).toEqual(['1', '7', '999']);
      expect((await versionsOf(healthy, bucket)).map(({ name }) => name)).toEqual(['1']);
    });

    test('reads the outcome back after each attempt, and reports unavailable if that fails', async () => {
      const { healthy, lossy } = makeScene(() => put(healthy, bucket, 'x', 'put after the delete'), 4);
      const bucket = await makeBucket(healthy);
      await put(healthy, bucket, 'x', 'deleted');
      expect(value(await lossy.deleteObject(bucket, { name: 'x' })).existed).toBe(true);
      await expectContent(healthy, bucket, 'x', 'put after the delete');

      const plan: FaultPlan = { at: 0, how: 'cut before', calls: 0, hit: null };
      const unreachable = makeEngine({
        limits: LIMITS,
        bindings: { OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan) },
      }).engine;
      expect(failure(await unreachable.deleteObject(bucket, { name: 'x' })).kind).toBe('unavailable');
      await expectContent(healthy, bucket, 'x', 'put after the delete');
    });

    test('has no effect if it arrives after its acknowledged retry', async () => {
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

  test('an upload whose response was lost does not restore a version that was deleted since', async () => {
    const { healthy, lossy } = makeScene(async () => {
      const [uploaded] = await versionsOf(healthy, bucket);
      value(await healthy.deleteObject(bucket, { name: 'x', versionId: uploaded?.versionId ?? '' }));
    });
    const bucket = await makeBucket(healthy, 'enabled');
    const uploaded = await lossy.putObject({ bucket, name: 'x', body: bytesOf('x'), size: 1, metadata: METADATA });
    expect(failure(uploaded).kind).toBe('unavailable');
    expect(await versionsOf(healthy, bucket)).toEqual([]);
  });

  test('receipts of deletes are removed an hour later', async () => {
    const { engine, context } = makeEngine();
    const bucket = await makeBucket(engine);
    value(await engine.deleteObject(bucket, { name: 'x' }));
    await tendShard(context, 0);
    expect(await countRows(context, 'receipt')).toBe(1);
    await tendShard(makeEngine({ now: () => Date.now() + 3_700_000 }).context, 0);
    expect(await countRows(context, 'receipt')).toBe(0);
  });
}
