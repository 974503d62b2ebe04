/**
 * Tests storage quotas in the engine: which data counts, which writes are refused, and what survives a lost database and a slot
 * move.
 */
import { beforeEach, expect, test } from 'vitest';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { forgetQuota, getQuota, setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { abortDueUpload, selectDueUploads } from '../../../workers/storage/engine/store/upload-cleanup-store.ts';
import { addUsage, measureBucket, NO_USAGE } from '../../../workers/storage/engine/store/usage-store.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { type Intercept, interceptCalls } from '../../support/two-workers.ts';
import {
  countRows,
  expectSound,
  failure,
  loseDatabase,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

const ofBucket = (bucket: Bucket) => ({ kind: 'bucket', subject: bucket.bucketId }) as const;
const OF_USER = { kind: 'user', subject: 'u1' } as const;
const EXCEEDED = { kind: 'quota_exceeded' };

const tryPut = (engine: Engine, bucket: Bucket, name: string, bytes: number) =>
  engine.putObject({ bucket, name, body: patternOf(bytes), size: bytes, metadata: METADATA });

/** Counts all stored data and compares it with the counts of the quotas. */
async function expectCounted(context: EngineContext, bucket: Bucket): Promise<void> {
  await expectSound(context);
  let usage = NO_USAGE;
  for (let shard = 0; shard < context.shards.length; shard++) {
    usage = addUsage(usage, value(await measureBucket(context, shard, bucket.bucketId)));
  }
  const { used } = value(await getQuota(context, ofBucket(bucket))) ?? {};
  expect(used).toEqual({ bytes: usage.bytes, objects: usage.objects });
}

test.each(['bucket', 'user'] as const)(
  '64 uploads at once on three shards fill the quota of a %s exactly',
  async (kind) => {
    const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
    const bucket = await makeBucket(engine);
    const subject = kind === 'bucket' ? ofBucket(bucket) : OF_USER;
    value(await setQuota(context, subject, { bytes: 41_500, objects: null }));
    const outcomes = await Promise.all(Array.from({ length: 64 }, (_, i) => tryPut(engine, bucket, `k${i}`, 1_000)));
    const refused = outcomes.filter((outcome) => !outcome.ok);
    for (const outcome of refused) expect(failure(outcome)).toEqual(EXCEEDED);
    expect(refused.length).toBe(64 - 41);
    expect(value(await getQuota(context, subject))?.used).toEqual({ bytes: 41_000, objects: 41 });
    // An upload that uses all remaining bytes must fit, even if the share is in another shard.
    expect((await tryPut(engine, bucket, 'rest', 500)).ok).toBe(true);
    expect(failure(await tryPut(engine, bucket, 'one more', 1))).toEqual(EXCEEDED);
    value(await engine.deleteObject(bucket, { name: 'rest' }));
    expect((await tryPut(engine, bucket, 'another', 500)).ok).toBe(true);
    await expectSound(context);
  },
);

test('several versions of a name that are deleted in one batch count once each', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  value(await setQuota(context, ofBucket(bucket), { bytes: 1_000_000, objects: 1_000 }));
  const versionsOf = async (name: string, count: number) => {
    const items = [];
    for (let i = 0; i < count; i++) {
      const { versionId } = await put(engine, bucket, name, patternOf(10 + i));
      items.push({ name, versionId });
    }
    return items;
  };
  const [all, some] = [await versionsOf('all', 3), await versionsOf('some', 3)];
  const older = some.slice(0, 2);
  const outcomes = await engine.deleteObjects(bucket, [...all, ...older, ...all.slice(0, 1)]);
  expect(outcomes.map((outcome) => value(outcome).existed)).toEqual([true, true, true, true, true, false]);
  await expectCounted(context, bucket);
});

test('every write and delete counts, in each state of versioning', async () => {
  const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 2 } });
  for (const versioning of ['never', 'enabled', 'suspended'] as const) {
    const bucket = await makeBucket(engine, versioning);
    await put(engine, bucket, 'before', patternOf(100));
    value(await setQuota(context, ofBucket(bucket), { bytes: 1_000_000, objects: 1_000 }));
    value(await setQuota(context, OF_USER, { bytes: 10_000_000, objects: null }));
    for (let i = 0; i < 8; i++) await put(engine, bucket, `k${i}`, patternOf(i === 0 ? 30_000 : 10 + i));
    const old = await put(engine, bucket, 'k1', patternOf(500));
    await put(engine, bucket, 'k1', patternOf(7));
    await expectCounted(context, bucket);
    const source = value(await engine.getVersion(bucket, 'k0'));
    value(await engine.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: null, acl: null }));
    await expectCounted(context, bucket);
    value(await engine.deleteObject(bucket, { name: 'k2' }));
    value(await engine.deleteObject(bucket, { name: 'k2' }));
    value(await engine.deleteObject(bucket, { name: 'never there' }));
    value(await engine.deleteObject(bucket, { name: 'k1', versionId: old.versionId }));
    for (const outcome of await engine.deleteObjects(bucket, [
      { name: 'k3' },
      { name: 'k4', versionId: 'null' },
      { name: 'before' },
      { name: 'before', versionId: 'null' },
    ])) {
      value(outcome);
    }
    await put(engine, bucket, 'k3', patternOf(33));
    await expectCounted(context, bucket);
    // Removing the delete marker makes the object current again, so it counts again.
    const marker = value(await engine.deleteObject(bucket, { name: 'k5' }));
    if (marker.versionId) value(await engine.deleteObject(bucket, { name: 'k5', versionId: marker.versionId }));
    await expectCounted(context, bucket);
  }
});

test('parts of open uploads count until they are completed, replaced or aborted', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine);
  value(await setQuota(context, ofBucket(bucket), { bytes: 100_000, objects: 10 }));
  await put(engine, bucket, 'm', patternOf(5_000));
  const begin = async () => value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA })).uploadId;
  const tryPart = (uploadId: string, partNumber: number, size: number) =>
    engine.putPart({ bucket, name: 'm', uploadId, partNumber, body: patternOf(size), size });
  const [completed, aborted, abandoned] = [await begin(), await begin(), await begin()];
  value(await tryPart(completed, 1, 20_000));
  const first = value(await tryPart(completed, 1, 25_000));
  value(await tryPart(completed, 2, 1_000));
  value(await tryPart(aborted, 1, 30_000));
  value(await tryPart(abandoned, 1, 10_000));
  await expectCounted(context, bucket);
  expect(failure(await tryPart(aborted, 2, 40_000))).toEqual(EXCEEDED);
  value(await engine.abortUpload(bucket, 'm', aborted));
  await expectCounted(context, bucket);
  value(await engine.completeUpload({ bucket, name: 'm', uploadId: completed, parts: [first], partBytesMin: 0 }));
  expect(value(await getQuota(context, ofBucket(bucket)))?.used).toEqual({ bytes: 35_000, objects: 1 });
  now += context.limits.abandonedUploadMs + 1;
  for (const due of await selectDueUploads(context, 0)) {
    if (due.state === 'open') await abortDueUpload(context, 0, due);
  }
  await expectCounted(context, bucket);
  expect(value(await getQuota(context, ofBucket(bucket)))?.used).toEqual({ bytes: 25_000, objects: 1 });
});

test('a limit below what is stored refuses uploads until enough is deleted', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const bucket = await makeBucket(engine);
  for (let i = 0; i < 10; i++) await put(engine, bucket, `k${i}`, patternOf(100));
  value(await setQuota(context, ofBucket(bucket), { bytes: 450, objects: null }));
  for (let i = 0; i < 6; i++) {
    expect(failure(await tryPut(engine, bucket, 'new', 50))).toEqual(EXCEEDED);
    value(await engine.deleteObject(bucket, { name: `k${i}` }));
  }
  value(await tryPut(engine, bucket, 'new', 50));
  expect(failure(await tryPut(engine, bucket, 'newer', 1))).toEqual(EXCEEDED);
  value(await setQuota(context, ofBucket(bucket), { bytes: null, objects: 5 }));
  expect(failure(await tryPut(engine, bucket, 'newer', 1))).toEqual(EXCEEDED);
  // An overwrite adds no object, so it must fit.
  value(await tryPut(engine, bucket, 'new', 5_000));
  value(await setQuota(context, ofBucket(bucket), null));
  value(await tryPut(engine, bucket, 'newer', 1));
  expect(await getQuota(context, ofBucket(bucket))).toEqual({ ok: true, value: null });
  expect(await countRows(context, 'quota')).toBe(0);
});

test('quotas hold while slots move', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine, 'enabled');
  const from = bucket.placement.shards[0] ?? 0;
  value(await setQuota(context, ofBucket(bucket), { bytes: 1_000, objects: null }));
  for (let i = 0; i < 8; i++) await put(engine, bucket, `k${i}`, patternOf(100));
  for (let i = 0; i < 8; i++) {
    const outcome = await moveSlot(context, bucket.bucketId, slotOf(`k${i}`), (from + 1 + (i % 2)) % 3);
    expect(outcome.ok).toBe(true);
    await expectCounted(context, bucket);
  }
  const moved = value(await engine.getBucket(bucket.name));
  const outcomes = [];
  for (let i = 0; i < 8; i++) outcomes.push((await tryPut(engine, moved, `k${i}`, 100)).ok);
  expect(outcomes).toEqual([true, true, ...Array.from({ length: 6 }, () => false)]);
  await expectCounted(context, bucket);
});

test('a rebuilt shard counts again before it accepts writes, and a new shard knows the quotas', async () => {
  const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 2 } });
  const bucket = await makeBucket(engine);
  value(await setQuota(context, ofBucket(bucket), { bytes: 1_000, objects: null }));
  value(await setQuota(context, OF_USER, { bytes: null, objects: 9 }));
  for (let i = 0; i < 8; i++) await put(engine, bucket, `k${i}`, patternOf(100));
  await writeJournal(context, 0);
  await loseDatabase(context, 0);
  expect(failure(await tryPut(engine, bucket, nameIn(bucket, 0), 100)).kind).toBe('unavailable');
  while (!(await rebuild(context)));
  await expectCounted(context, bucket);
  value(await tryPut(engine, bucket, nameIn(bucket, 0), 200));
  expect(failure(await tryPut(engine, bucket, 'over', 1))).toEqual(EXCEEDED);
  // Add a third shard, which was not bound when the quotas were set.
  const { engine: larger, context: all } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const other = await makeBucket(larger);
  expect(failure(await tryPut(larger, other, nameIn(other, 2), 1))).toEqual(EXCEEDED);
  value(await larger.deleteObject(bucket, { name: 'k0' }));
  value(await tryPut(larger, other, nameIn(other, 2), 1));
  await expectSound(all);
});

async function rebuild(context: EngineContext): Promise<boolean> {
  const outcome = await rebuildShard(context, 0);
  expect(outcome.ok).toBe(true);
  return outcome.ok && outcome.isDone;
}

function nameIn(bucket: Bucket, shard: number): string {
  for (let i = 0; ; i++) if (bucket.placement.shards[slotOf(`n${i}`)] === shard) return `n${i}`;
}

test('quotas hold after an interrupted distribution, a restored DIRECTORY and a late change of a share', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 }, now: () => now });
  const bucket = await makeBucket(engine);
  value(await setQuota(context, ofBucket(bucket), { bytes: 1_000, objects: null }));
  // Make the state after a worker died once it had lowered the shares.
  for (const shard of context.shards) await shard.prepare('UPDATE quota SET bytes_share = bytes_used, lease = 7').run();
  await context.directory
    .prepare('UPDATE storage_quota SET lease = 7, busy_until = ?1')
    .bind(now + 500)
    .run();
  const upload = tryPut(engine, bucket, 'a', 600);
  now += 501;
  value(await upload);
  // Make the state after a restore of DIRECTORY from a snapshot.
  await context.directory.prepare('UPDATE storage_quota SET lease = 1').run();
  expect(failure(await tryPut(engine, bucket, 'b', 401))).toEqual(EXCEEDED);
  value(await tryPut(engine, bucket, 'b', 400));
  // Make the state after a restore from a snapshot that is older than the quota.
  await context.directory.prepare('DELETE FROM storage_quota').run();
  value(await tryPut(engine, bucket, 'c', 1_000));
  await forgetQuota(context, ofBucket(bucket));
  expect(await countRows(context, 'quota')).toBe(0);
});

/** Opens once, for all that wait. */
function makeGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

test('two workers that distribute the same rest do not grant it twice', async () => {
  let now = Date.now();
  const options = { shards: 2, limits: { bucketSpread: 2 }, now: () => now };
  const { engine, context } = makeEngine(options);
  const bucket = await makeBucket(engine);
  value(await setQuota(context, ofBucket(bucket), { bytes: 1_000, objects: null }));
  const [isLate, isFrozen, isGranted, isDone] = [makeGate(), makeGate(), makeGate(), makeGate()];
  /** An engine that runs `around` with the number of each batch of a shard, and `onDirectory` before each call of DIRECTORY. */
  const worker = (
    around: (batch: string, call: () => Promise<unknown>) => Promise<unknown>,
    onDirectory = () => {},
  ) => {
    const DIRECTORY = new Proxy(context.directory, {
      get(database, name) {
        if (name === 'prepare') onDirectory();
        return Reflect.get(database, name).bind(database);
      },
    });
    const bindings = context.shards.map((database, shard) => {
      let batches = 0;
      const intercept: Intercept = (_, call) => around(`${shard} ${batches++}`, call) as never;
      return [`OBJECTS_${shard}`, interceptCalls(database, intercept, ['batch'])] as const;
    });
    return makeEngine({ ...options, bindings: { DIRECTORY, ...Object.fromEntries(bindings) } }).engine;
  };
  // A shard refuses the upload first. Then both shares are frozen, then both are granted.
  let lateFrozen = 0;
  const first = worker(
    async (batch, call) => {
      const isFreeze = batch === '0 1' || batch === '1 0';
      if (isFreeze) {
        isLate.open();
        await isFrozen.opened;
      }
      if (batch === '1 1') await isDone.opened;
      const answer = await call();
      if (isFreeze) lateFrozen++;
      if (batch === '0 2') isGranted.open();
      return answer;
    },
    // It gives its lease back, without a grant.
    () => void (lateFrozen === 2 && isGranted.open()),
  );
  let frozen = 0;
  const second = worker(async (batch, call) => {
    if (batch === '0 1' || batch === '1 2') await isGranted.opened;
    const answer = await call();
    if ((batch === '0 0' || batch === '1 1') && ++frozen === 2) isFrozen.open();
    if (batch === '1 2') isDone.open();
    return answer;
  });
  const early = tryPut(first, bucket, nameIn(bucket, 0), 600);
  await isLate.opened;
  now += 60_000;
  const outcomes = await Promise.all([early, tryPut(second, bucket, nameIn(bucket, 1), 600)]);
  expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
  expect(value(await getQuota(context, ofBucket(bucket)))?.used.bytes).toBe(600);
});
