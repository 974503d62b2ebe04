/**
 * The journal under faults: the power goes at each call of a store, or a client writes just before it. Then the journal is written
 * again, as in the next minute, the database is lost, and the rebuild must have everything that was acknowledged.
 */
import { beforeEach, expect, test } from 'vitest';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { type FaultPlan, faultyBuckets, faultyDatabases } from './faults.ts';
import { loseDatabase, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

beforeEach(wipe);

/** Everything that a client sees of a bucket: names, versions, sizes, ETags, tags. */
async function seen(engine: Engine, bucket: Bucket) {
  const { entries } = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1_000 }));
  return Promise.all(
    entries
      .flatMap((entry) => (entry.kind === 'item' ? [entry.item] : []))
      .map(async (item) => {
        const tags = item.isMarker
          ? null
          : value(await engine.getVersion(bucket, item.name, { versionId: item.versionId })).tags;
        return [item.name, item.versionId, item.isMarker, item.isLatest, item.size, item.etag, tags];
      }),
  );
}

/** A shard with a snapshot, and since then with every kind of change that only the journal has. */
async function makeScene() {
  await wipe();
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const plain = await makeBucket(engine);
  for (const name of ['deleted', 'marked', 'tagged']) await put(engine, bucket, name, `${name} before`);
  for (const name of ['overwritten', 'removed', 'meanwhile']) await put(engine, plain, name, `${name} before`);
  await put(engine, plain, 'large', patternOf(20_000));
  await snapshotShard(context, 0);
  await writeJournal(context, 0);
  const [first] = await seen(engine, bucket);
  value(await engine.deleteObject(bucket, { name: 'deleted', versionId: String(first?.[1]) }));
  value(await engine.deleteObject(bucket, { name: 'marked' }));
  value(await engine.setTags(value(await engine.getVersion(bucket, 'tagged')), { colour: 'red' }, bucket));
  await put(engine, plain, 'overwritten', 'overwritten after');
  await put(engine, plain, 'meanwhile', 'meanwhile after');
  value(await engine.deleteObject(plain, { name: 'removed' }));
  await put(engine, plain, 'added', 'inline');
  return { engine, context, buckets: [bucket, plain] as const };
}

/** Writes the journal with the fault of a plan, then without, loses the database and compares the rebuilt one. */
async function expectRebuilt(plan: FaultPlan, { engine, context, buckets }: Awaited<ReturnType<typeof makeScene>>) {
  const faulty = makeEngine({ bindings: { ...faultyDatabases(plan), ...faultyBuckets(plan) } }).context;
  await writeJournal(faulty, 0).catch(() => {});
  await writeJournal(context, 0);
  const before = await Promise.all(buckets.map((bucket) => seen(engine, bucket)));
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0), `${plan.how} call ${plan.at}, ${plan.hit}`).toMatchObject({ ok: true });
  for (const [n, bucket] of buckets.entries())
    expect(await seen(engine, bucket), `${plan.how} call ${plan.at}, ${plan.hit}`).toEqual(before[n]);
}

/** Distance between two calls at which a run has its fault. The first is drawn, so that different runs have it at different calls. */
const STRIDE = 5;

/** Draws the calls of a journal write at which a run has its fault. */
async function drawCalls(): Promise<readonly number[]> {
  const plan: FaultPlan = { at: null, how: 'before', calls: 0, hit: null };
  await expectRebuilt(plan, await makeScene());
  expect(plan.calls).toBeGreaterThan(10);
  const first = Math.floor(Math.random() * STRIDE);
  return Array.from({ length: Math.floor((plan.calls - first - 1) / STRIDE) + 1 }, (_, n) => first + n * STRIDE);
}

test('a journal write that loses power at a call loses no change', async () => {
  for (const at of await drawCalls())
    await expectRebuilt({ at, how: 'cut before', calls: 0, hit: null }, await makeScene());
});

/** Deletes, overwrites and adds names, as clients do while the journal is written. */
async function writeMeanwhile({ engine, buckets }: Awaited<ReturnType<typeof makeScene>>): Promise<void> {
  value(await engine.deleteObject(buckets[1], { name: 'meanwhile' }));
  await put(engine, buckets[1], 'added', 'again');
  await put(engine, buckets[1], 'new', 'during the write');
}

test('a name that is deleted or overwritten just before any call of a journal write stays so', async () => {
  for (const at of await drawCalls()) {
    const scene = await makeScene();
    const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null, meanwhile: () => writeMeanwhile(scene) };
    await expectRebuilt(plan, scene);
  }
});

test('a database that is lost right after a journal write shows no state from before that journal', async () => {
  for (const at of await drawCalls()) {
    const scene = await makeScene();
    const { engine, context, buckets } = scene;
    const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null, meanwhile: () => writeMeanwhile(scene) };
    const bindings = { ...faultyDatabases(plan), ...faultyBuckets(plan) };
    await writeJournal(makeEngine({ bindings }).context, 0);
    await loseDatabase(context, 0);
    expect(await rebuildShard(context, 0)).toMatchObject({ ok: true });
    // The changes of the last minute may be lost, but a name never returns to what was overwritten before it.
    const sizes = (await seen(engine, buckets[1])).flatMap(([name, , , , size]) =>
      name === 'meanwhile' ? [size] : [],
    );
    expect([[], ['meanwhile after'.length]], `before call ${at}, ${plan.hit}`).toContainEqual(sizes);
  }
});
