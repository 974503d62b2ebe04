/** Tests writes that D1 executes although the answer is lost, while other requests write the same name. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Bucket, Engine, StoredVersion } from '../../../workers/storage/engine/index.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
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

/** Every lost answer here is an error. On a busy machine, a short timeout would end a call before what happens meanwhile has ended. */
const LIMITS = { databaseTimeoutMs: 10_000 };

interface Scene {
  readonly healthy: Engine;
  /** Engine whose first batch is executed but loses its answer, after `meanwhile` has run. */
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

  /** Makes an engine whose first batch is sent, but arrives only when the test calls `arrive`. */
  function makeLate(): { engine: Engine; arrive: () => Promise<unknown> } {
    let late: () => Promise<unknown> = async () => {};
    let isFirst = true;
    const database = new Proxy(env.OBJECTS_0, {
      get(target, key) {
        if (key !== 'batch' || !isFirst) return Reflect.get(target, key).bind(target);
        return async (statements: D1PreparedStatement[]) => {
          if (!isFirst) return await target.batch(statements);
          isFirst = false;
          late = () => target.batch(statements);
          throw new Error('Network connection lost');
        };
      },
    });
    const { engine } = makeEngine({ limits: LIMITS, bindings: { OBJECTS_0: database } });
    return { engine, arrive: () => late() };
  }

  describe('a write whose repeat is refused', () => {
    const LARGE = 'large '.repeat(10_000);
    const putIfAbsent = (engine: Engine, bucket: Bucket) =>
      engine.putObject({
        ...{ bucket, name: 'x', body: bytesOf(LARGE), size: LARGE.length, metadata: METADATA },
        condition: { absent: true },
      });

    test('keeps its bytes, because a copy may have them', async () => {
      const { healthy, lossy } = makeScene(async () => {
        const source = value(await healthy.getVersion(bucket, 'x'));
        value(await healthy.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: null, acl: null }));
        value(await healthy.deleteObject(bucket, { name: 'x' }));
        await put(healthy, bucket, 'x', 'another');
      });
      const bucket = await makeBucket(healthy);
      expect(failure(await putIfAbsent(lossy, bucket)).kind).toBe('unavailable');
      await expectContent(healthy, bucket, 'copy', LARGE);
    });

    test('keeps its bytes, because the first try may arrive and not be refused', async () => {
      const healthy = makeEngine().engine;
      const { engine, arrive } = makeLate();
      const bucket = await makeBucket(healthy);
      await put(healthy, bucket, 'x', 'there');
      expect(failure(await putIfAbsent(engine, bucket)).kind).toBe('unavailable');
      value(await healthy.deleteObject(bucket, { name: 'x' }));
      await arrive();
      await expectContent(healthy, bucket, 'x', LARGE);
    });

    test('is not reported as refused, if it is a delete that may still arrive', async () => {
      const healthy = makeEngine().engine;
      const { engine, arrive } = makeLate();
      const bucket = await makeBucket(healthy);
      const { etag } = await put(healthy, bucket, 'x', 'old');
      await put(healthy, bucket, 'x', 'new');
      const outcome = await engine.deleteObject(bucket, { name: 'x', condition: { etags: [etag] } });
      expect(failure(outcome).kind).toBe('unavailable');
      await expectContent(healthy, bucket, 'x', 'new');
      await put(healthy, bucket, 'x', 'old');
      await arrive();
      expect(failure(await healthy.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
    });

    test('keeps the bytes of a part, because the completed object may have them', async () => {
      const { healthy, lossy } = makeScene(async () => {
        const parts = value(await healthy.listParts(bucket, 'x', uploadId, { after: 0, limit: 10 })).parts;
        value(
          await healthy.completeUpload({
            ...{ bucket, name: 'x', uploadId, partBytesMin: 1 },
            parts: parts.map(({ partNumber, etag }) => ({ partNumber, etag })),
          }),
        );
        await maintainShard(makeEngine().context, 0);
      });
      const bucket = await makeBucket(healthy);
      const { uploadId } = value(await healthy.createUpload({ bucket, name: 'x', metadata: METADATA }));
      const part = { bucket, name: 'x', uploadId, partNumber: 1, body: bytesOf(LARGE), size: LARGE.length };
      expect(failure(await lossy.putPart(part)).kind).toBe('unavailable');
      await expectContent(healthy, bucket, 'x', LARGE);
    });
  });

  test.each([
    [
      'tags',
      (engine: Engine, version: StoredVersion, isOn: boolean) => engine.setTags(version, isOn ? { a: '1' } : null),
    ],
    [
      'a legal hold',
      (engine: Engine, version: StoredVersion, isOn: boolean) => engine.setLock(version, { isHeld: isOn }),
    ],
  ] as const)('a late change of %s does not undo one that was acknowledged after it', async (_, change) => {
    const healthy = makeEngine().engine;
    const { engine, arrive } = makeLate();
    const bucket = await makeBucket(healthy, 'enabled');
    await put(healthy, bucket, 'x', 'x');
    const version = value(await healthy.getVersion(bucket, 'x'));
    const first = await change(engine, version, false);
    value(await change(healthy, version, true));
    const before = value(await healthy.getVersion(bucket, 'x'));
    // A change that was not acknowledged may still take effect. An acknowledged change must take effect once.
    if (first.ok) await arrive();
    expect(value(await healthy.getVersion(bucket, 'x'))).toEqual(before);
    expect(first.ok).toBe(false);
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
    await maintainShard(context, 0);
    expect(await countRows(context, 'receipt')).toBe(1);
    await maintainShard(makeEngine({ now: () => Date.now() + 3_700_000 }).context, 0);
    expect(await countRows(context, 'receipt')).toBe(0);
  });
}
