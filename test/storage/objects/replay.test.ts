/** Tests that a shard which was put back to an earlier state gets everything back that its journal has. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { beginEpoch, findShardDoubt } from '../../../workers/storage/engine/store/shard-owner.ts';
import { collectBlobs, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { raiseStores } from '../../../workers/storage/maintenance/doubt.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard, replayShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { copyRows, restoreRows } from './earlier-state.ts';
import {
  expectContent,
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

const { OBJECTS_0 } = env;
const HOUR_MS = 3_600_000;

beforeEach(wipe);

const listAll = async (engine: Engine, bucket: Bucket) =>
  value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1000 })).entries;

/** Replays in requests of one step each, by isolates that share nothing but the stores. */
async function replayInSteps(shards = 1): Promise<number> {
  for (let requests = 1; ; requests++) {
    const { context } = makeEngine({ shards, limits: { bucketSpread: shards, checkPageRows: 3 } });
    const outcome = await replayShard(context, 0, () => false);
    if (!outcome.ok) throw new Error(outcome.error.kind);
    if (outcome.isDone) return requests;
  }
}

async function pack(context: EngineContext): Promise<void> {
  while (await packVolume(context, 0, emptyPackReport()));
}

const ALL_SIZES = [0, 700, 16_000, 20_000, 400_000];
/** One size for each place of bytes: inline, and a blob. */
const SIZES = [700, 20_000];

/** Fills a bucket of each kind of versioning, in the state before the restore's time. */
async function fill(engine: Engine, sizes: readonly number[] = SIZES) {
  const plain = await makeBucket(engine);
  const versioned = await makeBucket(engine, 'enabled');
  for (const bucket of [plain, versioned]) {
    for (const size of sizes) {
      await put(engine, bucket, `kept ${size}`, patternOf(size, 1));
      await put(engine, bucket, `overwritten ${size}`, patternOf(size, 2));
      await put(engine, bucket, `deleted ${size}`, patternOf(size, 3));
    }
  }
  return { plain, versioned };
}

/** What is acknowledged after the restore's time. */
async function change(
  engine: Engine,
  { plain, versioned }: Awaited<ReturnType<typeof fill>>,
  sizes: readonly number[] = SIZES,
): Promise<Bucket> {
  for (const bucket of [plain, versioned]) {
    for (const size of sizes) {
      await put(engine, bucket, `overwritten ${size}`, patternOf(size + 1, 4));
      await put(engine, bucket, `new ${size}`, patternOf(size, 5));
      value(await engine.deleteObject(bucket, { name: `deleted ${size}` }));
    }
    const tagged = value(await engine.getVersion(bucket, 'kept 700'));
    value(await engine.setTags(tagged, { a: 'b' }, bucket));
  }
  const { uploadId } = value(await engine.createUpload({ bucket: plain, name: 'parts', metadata: METADATA }));
  const part = { bucket: plain, name: 'parts', uploadId, partNumber: 1, body: patternOf(90_000, 6), size: 90_000 };
  const parts = [value(await engine.putPart(part))];
  value(await engine.completeUpload({ bucket: plain, name: 'parts', uploadId, parts, partBytesMin: 0 }));
  const later = await makeBucket(engine);
  await put(engine, later, 'in a new bucket', 'new');
  return later;
}

test('after a replay everything of the journal is there, and nothing that was deleted', async () => {
  const { engine, context } = makeEngine();
  const buckets = await fill(engine, ALL_SIZES);
  value(await setQuota(context, { kind: 'bucket', subject: buckets.plain.bucketId }, { bytes: 1e9, objects: 1e6 }));
  await pack(context);
  await put(engine, buckets.plain, 'inline', 'not packed yet');
  await writeJournal(context, 0);
  const earlier = await copyRows(OBJECTS_0);
  const later = await change(engine, buckets, ALL_SIZES);
  // What is packed after the restore's time has its bytes in a volume that the restored database does not know.
  await pack(context);
  await put(engine, buckets.plain, 'last', 'last');
  await writeJournal(context, 0);
  const all = [buckets.plain, buckets.versioned, later];
  const before = await Promise.all(all.map((bucket) => listAll(engine, bucket)));
  const used = value(await engine.getQuota(buckets.plain));

  await restoreRows(OBJECTS_0, earlier);
  // An isolate that has not found it out yet writes and deletes.
  await put(engine, buckets.plain, 'between', 'acknowledged before the restore was found out');
  expect(await findShardDoubt(context, 0)).toContain('older copy');
  expect(await replayInSteps()).toBeGreaterThan(10);
  expect(await findShardDoubt(context, 0)).toBeNull();

  const fresh = makeEngine().engine;
  await expectContent(fresh, buckets.plain, 'between', 'acknowledged before the restore was found out');
  value(await fresh.deleteObject(buckets.plain, { name: 'between' }));
  expect(await Promise.all(all.map((bucket) => listAll(fresh, bucket)))).toEqual(before);
  for (const bucket of [buckets.plain, buckets.versioned]) {
    for (const size of ALL_SIZES) {
      await expectContent(fresh, bucket, `kept ${size}`, patternOf(size, 1));
      await expectContent(fresh, bucket, `overwritten ${size}`, patternOf(size + 1, 4));
      await expectContent(fresh, bucket, `new ${size}`, patternOf(size, 5));
    }
    expect(value(await fresh.getVersion(bucket, 'kept 700')).tags).toEqual({ a: 'b' });
  }
  await expectContent(fresh, later, 'in a new bucket', 'new');
  await expectContent(fresh, buckets.plain, 'parts', patternOf(90_000, 6));
  expect(value(await fresh.getQuota(buckets.plain))).toEqual(used);
  await expectSound(context);
  // Again, and with work in the background: nothing changes.
  const again = await replayShard(context, 0);
  expect(again).toMatchObject({ ok: true, isDone: true, report: { changes_replayed: 0 } });
  await maintainShard(context, 0);
  expect(await Promise.all(all.map((bucket) => listAll(fresh, bucket)))).toEqual(before);
});

test.each([9, 20])('a replay that is cut after %i steps and put back again begins again', async (steps) => {
  const { engine, context } = makeEngine();
  const buckets = await fill(engine);
  await writeJournal(context, 0);
  const first = await copyRows(OBJECTS_0);
  await put(engine, buckets.plain, 'second', 'second');
  await writeJournal(context, 0);
  await restoreRows(OBJECTS_0, first);
  for (let step = 0; step < steps; step++) await replayShard(context, 0, () => false);
  const cut = await copyRows(OBJECTS_0);
  await replayInSteps();
  await put(engine, buckets.plain, 'third', 'third');
  await writeJournal(context, 0);
  // Time Travel may go back to the middle of the earlier replay.
  await restoreRows(OBJECTS_0, cut);
  await replayInSteps();
  for (const name of ['second', 'third']) await expectContent(engine, buckets.plain, name, name);
  await expectSound(context);
});

test('the journal after a replay has everything, so that a rebuild loses nothing', async () => {
  const { engine, context } = makeEngine();
  const buckets = await fill(engine);
  await snapshotShard(context, 0);
  await writeJournal(context, 0);
  const earlier = await copyRows(OBJECTS_0);
  await change(engine, buckets);
  await writeJournal(context, 0);
  await restoreRows(OBJECTS_0, earlier);
  await put(engine, buckets.plain, 'between', 'between');
  await replayInSteps();
  await put(engine, buckets.plain, 'after', 'after');
  await writeJournal(context, 0);
  const before = await listAll(engine, buckets.plain);
  await loseDatabase(context, 0);
  expect(await replayShard(context, 0)).toEqual({ ok: false, error: { kind: 'database_empty' } });
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, isDone: true });
  expect(await listAll(engine, buckets.plain)).toEqual(before);
  await expectSound(context);
});

test('a restore to before the journal begins continues from the newest snapshot', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const buckets = await fill(engine);
  await writeJournal(context, 0);
  const earlier = await copyRows(OBJECTS_0);
  await change(engine, buckets);
  for (let day = 0; day < 4; day++) {
    now += 24 * HOUR_MS;
    // The epoch is a time of the database's clock, which the test cannot move.
    await OBJECTS_0.prepare("UPDATE task SET state = CAST(state AS INTEGER) + 86400000 WHERE name = 'journal'").run();
    await put(engine, buckets.plain, `day ${day}`, 'x');
    await writeJournal(context, 0);
    await snapshotShard(context, 0);
  }
  await put(engine, buckets.plain, 'newest', 'newest');
  await writeJournal(context, 0);
  const before = await listAll(engine, buckets.plain);
  await restoreRows(OBJECTS_0, earlier);
  await replayInSteps();
  expect(await listAll(engine, buckets.plain)).toEqual(before);
  await expectContent(engine, buckets.plain, 'newest', 'newest');
  await expectSound(context);
});

test('objects whose volume was compacted after the restore’s time are read from the new one', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now, limits: { packAgeMaxMs: 0 } });
  const bucket = await makeBucket(engine);
  for (let i = 0; i < 10; i++) await put(engine, bucket, `small ${i}`, patternOf(4_000, i));
  await pack(context);
  await writeJournal(context, 0);
  const earlier = await copyRows(OBJECTS_0);
  for (let i = 0; i < 8; i++) value(await engine.deleteObject(bucket, { name: `small ${i}` }));
  await pack(context);
  now += 2 * HOUR_MS;
  while (await collectBlobs(context, 0, emptyCollectReport()));
  await writeJournal(context, 0);
  await restoreRows(OBJECTS_0, earlier);
  await replayInSteps();
  for (const i of [8, 9]) await expectContent(engine, bucket, `small ${i}`, patternOf(4_000, i));
  expect(failure(await engine.getVersion(bucket, 'small 0')).kind).toBe('no_such_key');
  await expectSound(context);
});

test('doubt writes the journal and raises every number, so that a restore to a second ago is replayed', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'first', 'first');
  await writeJournal(context, 0);
  await put(engine, bucket, 'second', 'second');
  const earlier = await copyRows(OBJECTS_0);
  const [directory, shard] = await raiseStores(context, ['DIRECTORY', 'OBJECTS_0']);
  expect([directory?.name, shard?.name]).toEqual(['DIRECTORY', 'OBJECTS_0']);
  expect(shard?.number).toBeGreaterThan(0);
  await restoreRows(OBJECTS_0, earlier);
  expect(await findShardDoubt(context, 0)).toContain('older copy');
  expect(await raiseStores(context, ['OBJECTS_0'])).toEqual([{ name: 'OBJECTS_0', number: null }]);
  await expect(beginEpoch(context, 0)).rejects.toThrow('put back');
  await replayInSteps();
  for (const name of ['first', 'second']) await expectContent(engine, bucket, name, name);
});
