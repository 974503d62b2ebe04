/** Guards of storage's background work that matter only if a second thing happens: a later look, a silent location, a late change. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { toBlobKey } from '../../../workers/storage/engine/blobs/locations.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { removeUnreferenced } from '../../../workers/storage/engine/store/blob-store.ts';
import { acquireLease, releaseLease } from '../../../workers/storage/engine/store/task-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { isShardReady } from '../../../workers/storage/maintenance/shard-trust.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { parseLifecycle } from '../../../workers/storage/s3/documents/lifecycle-document.ts';
import { type FaultPlan, faultyBucket, faultyDatabases } from './faults.ts';
import {
  expectContent,
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

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const database = env.OBJECTS_0;

async function setRules(engine: Engine, bucket: Bucket, ...rules: string[]): Promise<void> {
  const inner = rules.map((rule) => `<Rule><Status>Enabled</Status>${rule}</Rule>`).join('');
  const text = `<LifecycleConfiguration>${inner}</LifecycleConfiguration>`;
  const document = JSON.stringify({ rules: value(parseLifecycle(text, () => crypto.randomUUID())), minimumSize: '' });
  value(await engine.setConfiguration(bucket, 'lifecycle', document));
}

/** Runs the rules until they are done. */
async function runRules(context: EngineContext): Promise<void> {
  if (await isLifecycleDue(context, 0)) while (await runLifecycle(context, 0));
}

async function countVersions(engine: Engine, bucket: Bucket): Promise<number> {
  const query = { bucket, prefix: '', delimiter: '', from: '', limit: 1_000 };
  return value(await engine.listVersions(query)).entries.length;
}

test('overwritten bytes wait from the last time that they lost a name', async () => {
  let now = Date.now();
  const { engine } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', patternOf(20_000));
  const source = value(await engine.getVersion(bucket, 'x'));
  value(await engine.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: null, acl: null }));
  value(await engine.deleteObject(bucket, { name: 'copy' }));
  now += 2 * HOUR;
  await put(engine, bucket, 'x', 'small');
  const since = await database.prepare('SELECT since FROM reclaim').first<number>('since');
  expect(since).toBe(now);
});

test('bytes that lost their last name since they were listed stay for their readers', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', patternOf(20_000));
  const [extent] = value(await engine.getVersion(bucket, 'x')).handle.extents;
  value(await engine.deleteObject(bucket, { name: 'x' }));
  expect(await removeUnreferenced(context, 0, [extent?.blobId ?? ''], Date.now() - HOUR)).toEqual([]);
  expect(await removeUnreferenced(context, 0, [extent?.blobId ?? ''], Date.now() + HOUR)).toHaveLength(1);
});

test('a worker whose lease has ended does not end the lease of the next one', async () => {
  let now = Date.now();
  const { context } = makeEngine({ now: () => now });
  const take = () => acquireLease(context, 0, 'work', HOUR);
  const late = await take();
  now += 2 * HOUR;
  const next = await take();
  await releaseLease(context, 0, 'work', late ?? '');
  expect(await take()).toBeNull();
  await releaseLease(context, 0, 'work', next ?? '');
  expect(await take()).not.toBeNull();
});

test('a bucket remembers its newest removed version, also if an older one is removed after it', async () => {
  const { engine } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const older = await put(engine, bucket, 'a', '1');
  const newer = await put(engine, bucket, 'b', '2');
  const newest = () => database.prepare('SELECT hex(newest) AS ord FROM bucket').first<string>('ord');
  value(await engine.deleteObject(bucket, { name: 'b', versionId: newer.versionId }));
  const remembered = await newest();
  value(await engine.deleteObject(bucket, { name: 'a', versionId: older.versionId }));
  expect(await newest()).toBe(remembered);
});

test('a copy that a location lacks stays recorded as missing while the location does not answer', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', patternOf(20_000));
  const [extent] = value(await engine.getVersion(bucket, 'x')).handle.extents;
  await env.BLOBS_2.delete(toBlobKey(extent?.blobId ?? ''));
  await database.prepare('UPDATE blob SET locations = 1, missing = 2').run();
  const silent: FaultPlan = { at: -1, how: 'cut before', calls: 0, hit: null };
  const faulty = makeEngine({ bindings: { BLOBS_2: faultyBucket(env.BLOBS_2, silent) } }).context;
  const report = emptyScrubReport();
  for (let restart = true; await scrubStep(faulty, 0, 1e9, report, { restart }); ) restart = false;
  expect(report).toMatchObject({ unreachable_copies: 1, repaired_copies: 0 });
  expect(await database.prepare('SELECT locations, missing FROM blob').first()).toEqual({ locations: 1, missing: 2 });
  const healed = emptyScrubReport();
  for (let restart = true; await scrubStep(context, 0, 1e9, healed, { restart }); ) restart = false;
  expect(healed).toMatchObject({ repaired_copies: 1 });
});

test.each([
  ['that has the only copy does not answer', 'BLOBS'],
  ['that lacks a copy takes the bytes, but does not say that it has them', 'BLOBS_2'],
] as const)('a copy stays recorded as missing, and nothing as lost, while the location %s', async (_, name) => {
  const { engine } = makeEngine();
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', patternOf(20_000));
  const [extent] = value(await engine.getVersion(bucket, 'x')).handle.extents;
  await env.BLOBS_2.delete(toBlobKey(extent?.blobId ?? ''));
  await database.prepare('UPDATE blob SET locations = 1, missing = 2').run();
  const never = new Promise<never>(() => {});
  const calls = {
    get: () => (name === 'BLOBS' ? Promise.reject(new Error('silent')) : env.BLOBS_2.get(toBlobKey(''))),
    put: async (_key: string, body: ReadableStream) => {
      for await (const _chunk of body);
      return never;
    },
  };
  const sick = new Proxy(env[name], {
    get: (target, key) => Reflect.get(calls, key) ?? Reflect.get(target, key).bind(target),
  });
  const { context } = makeEngine({ bindings: { [name]: sick }, limits: { locationTimeoutMs: 300 } });
  const report = emptyScrubReport();
  for (let restart = true; await scrubStep(context, 0, 1e9, report, { restart }); ) restart = false;
  expect(report).toMatchObject({ missing_copies: 1, repaired_copies: 0, lost_blobs: 0 });
  const row = await database.prepare('SELECT locations, missing, is_lost FROM blob').first();
  expect(row).toEqual({ locations: 1, missing: 2, is_lost: 0 });
});

describe('lifecycle', () => {
  test('a version that one rule removes does not count among those that another rule keeps', async () => {
    let now = (Math.floor(Date.now() / DAY) + 1.5) * DAY;
    const { engine, context } = makeEngine({ now: () => now });
    const bucket = await makeBucket(engine, 'enabled');
    const days = '<NoncurrentDays>1</NoncurrentDays>';
    const keepTwo = `<Filter/><NoncurrentVersionExpiration>${days}<NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>`;
    const large = '<Filter><ObjectSizeGreaterThan>100</ObjectSizeGreaterThan></Filter>';
    await setRules(
      engine,
      bucket,
      keepTwo,
      `${large}<NoncurrentVersionExpiration>${days}</NoncurrentVersionExpiration>`,
    );
    for (const content of ['1', '2', '3', 'large'.repeat(50), 'current']) await put(engine, bucket, 'k', content);
    now += 3 * DAY;
    await runRules(context);
    const page = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 }));
    // The large version goes by its own rule, so the two that stay are 3 and 2.
    expect(page.entries.map((entry) => (entry.kind === 'item' ? entry.item.size : 0))).toEqual([7, 1, 1]);
  });

  test('an object that gets other tags just before any call of a run is kept', async () => {
    const rule = '<Filter><Tag><Key>keep</Key><Value>no</Value></Tag></Filter><Expiration><Days>1</Days></Expiration>';
    let calls = 1;
    let kept = 0;
    for (let at = 0; at < calls; at++) {
      await wipe();
      let now = (Math.floor(Date.now() / DAY) + 1.5) * DAY;
      const { engine } = makeEngine({ now: () => now });
      const bucket = await makeBucket(engine);
      await setRules(engine, bucket, rule);
      await put(engine, bucket, 'k', 'x', { tags: { keep: 'no' } });
      now += 3 * DAY;
      let isTagged = false;
      const meanwhile = async () => {
        const found = await engine.getVersion(bucket, 'k');
        if (found.ok) isTagged = (await engine.setTags(found.value, { keep: 'yes' })).ok;
      };
      const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null, meanwhile };
      const { context } = makeEngine({ now: () => now, bindings: faultyDatabases(plan) });
      await runRules(context);
      calls = Math.max(calls, plan.calls);
      expect(await countVersions(engine, bucket), `tagged before call ${at}, ${plan.hit}`).toBe(isTagged ? 1 : 0);
      if (isTagged) kept++;
    }
    expect(kept).toBeGreaterThan(2);
    expect(kept).toBeLessThan(calls);
  });
});

test('an abandoned upload is not ended while its slot moves', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine);
  value(await engine.createUpload({ bucket, name: 'k', metadata: METADATA }));
  now += 60 * DAY;
  const setSlots = (state: string) =>
    database
      .prepare('UPDATE bucket SET slots = replace(replace(slots, ?1, ?2), ?1, ?2)')
      .bind(state === 's' ? 'o' : 's', state)
      .run();
  await setSlots('s');
  await collectUploads(context, 0, emptyCollectReport());
  expect(await database.prepare('SELECT state FROM upload').first('state')).toBe('open');
  await setSlots('o');
  await collectUploads(context, 0, emptyCollectReport());
  expect(await database.prepare('SELECT state FROM upload').first('state')).toBe('aborted');
});

test('a write is not acknowledged if its database is away from the commit on', async () => {
  const { engine } = makeEngine();
  const bucket = await makeBucket(engine);
  for (const [at, isThere] of [
    ['cut before', false],
    ['cut after', true],
  ] as const) {
    const plan: FaultPlan = { at: 0, how: at, calls: 0, hit: null };
    const { OBJECTS_0 } = faultyDatabases(plan);
    const faulty = makeEngine({ bindings: { OBJECTS_0 }, limits: { databaseTimeoutMs: 500 } }).engine;
    const body = patternOf(100);
    const outcome = await faulty.putObject({ bucket, name: at, body, size: body.length, metadata: METADATA });
    expect(plan.hit).toBe('d1.batch');
    expect(failure(outcome)).toMatchObject({ kind: 'unavailable' });
    expect((await engine.getVersion(bucket, at)).ok).toBe(isThere);
  }
});

test('bytes that a shard shares with a lost one stay until that is rebuilt', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 1 }, now: () => now });
  for (const shard of [0, 1]) expect(await isShardReady(context, shard)).toBe(true);
  const bucket = await makeBucket(engine);
  const from = bucket.placement.shards[slotOf('x')] ?? 0;
  const to = 1 - from;
  await put(engine, bucket, 'x', patternOf(40_000));
  expect(await moveSlot(context, bucket.bucketId, slotOf('x'), to)).toMatchObject({ ok: true });
  await snapshotShard(context, to);
  await loseDatabase(context, to);
  now += 2 * HOUR;
  const report = emptyCollectReport();
  while (await collectBlobs(context, from, report));
  expect(report.blobs_removed).toBe(1);
  expect(await rebuildShard(context, to)).toMatchObject({ ok: true, isDone: true });
  await expectContent(engine, value(await engine.getBucket(bucket.name)), 'x', patternOf(40_000));
});
