/** Tests jobs over the stores: what each kind changes, what it keeps, and how it recovers from an interruption. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import type { JobOrder } from '../../../workers/storage/domain/jobs.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import type { Bucket, Engine, ObjectLock } from '../../../workers/storage/engine/model/contract.ts';
import {
  cancelJob,
  findJob,
  insertJob,
  type Job,
  listJobs,
  selectRunnable,
} from '../../../workers/storage/engine/store/job-store.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import {
  expectContent,
  expectSound,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  type TestEngineOptions,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

/** Start of the test's clock, in the future, because no version gets a time before that of the database's clock. */
const START = Date.now() + 86_400_000;
const MINUTE = 60_000;

function setUp(options: TestEngineOptions = {}) {
  let now = START;
  const made = makeEngine({
    now: () => now,
    shards: 3,
    ...options,
    limits: { jobPageRows: 8, bucketSpread: 3, ...options.limits },
  });
  const { context } = made;
  const auditOf = (bucketId: string, action: 'storage_job.start' | 'storage_job.cancel') =>
    toSystemAuditRow({
      at: now,
      id: crypto.randomUUID(),
      action,
      target: { type: 'bucket', id: bucketId },
      details: {},
    });
  const add = async (bucket: Bucket, order: JobOrder, isDryRun = false, userId: string | null = null) => {
    const jobId = crypto.randomUUID();
    const request = { jobId, bucketId: bucket.bucketId, userId, order, isDryRun, scopes: null };
    expect(await insertJob(context, request, auditOf(bucket.bucketId, 'storage_job.start'))).toBe(true);
    now += MINUTE;
    return jobId;
  };
  const finish = async (jobId: string): Promise<Job> => {
    while (await runJob(context, jobId));
    return (await findJob(context, jobId, null)) as Job;
  };
  return {
    ...made,
    add,
    finish,
    run: async (bucket: Bucket, order: JobOrder, isDryRun = false) => finish(await add(bucket, order, isDryRun)),
    cancel: (job: Job) => cancelJob(context, job.jobId, auditOf(job.bucketId, 'storage_job.cancel')),
    advance: (ms: number) => {
      now += ms;
      return now;
    },
    now: () => now,
  };
}

/** Lists names with the kinds of their versions, newest first: `v` data, `m` a delete marker. */
async function versionsOf(engine: Engine, bucket: Bucket): Promise<Record<string, string>> {
  const page = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1_000 }));
  const found: Record<string, string> = {};
  for (const entry of page.entries) {
    if (entry.kind !== 'item') continue;
    found[entry.item.name] = (found[entry.item.name] ?? '') + (entry.item.isMarker ? 'm' : 'v');
  }
  return found;
}

async function uploadParts(engine: Engine, bucket: Bucket, name: string, sizes: readonly number[]) {
  const { uploadId } = value(
    await engine.createUpload({ bucket, name, metadata: { headers: {}, user: {}, ownerId: 'u1' } }),
  );
  const parts = [];
  for (const [i, size] of sizes.entries()) {
    const body = patternOf(size, i + 1);
    const part = value(await engine.putPart({ bucket, name, uploadId, partNumber: i + 1, body, size }));
    parts.push({ partNumber: i + 1, etag: part.etag });
  }
  return value(await engine.completeUpload({ bucket, name, uploadId, parts, partBytesMin: 0 }));
}

const auditsOf = async ({ directory }: EngineContext, bucket: Bucket) =>
  (
    await directory
      .prepare("SELECT action FROM audit_entry WHERE action LIKE 'storage_job.%' AND target_id = ?1 ORDER BY at")
      .bind(bucket.bucketId)
      .all<{ action: string }>()
  ).results.map(({ action }) => action);

describe('a job that empties a bucket', () => {
  it('removes every version, marker and upload in every shard, and nothing that is newer', async () => {
    const { engine, context, add, finish } = setUp();
    const bucket = await makeBucket(engine, 'enabled');
    for (let i = 0; i < 30; i++) await put(engine, bucket, `a/${i}`, `${i}`);
    for (let i = 0; i < 10; i++) await put(engine, bucket, 'deep', `${i}`);
    value(await engine.deleteObject(bucket, { name: 'a/1' }));
    for (const name of ['u1', 'u2', 'u3']) {
      value(await engine.createUpload({ bucket, name, metadata: { headers: {}, user: {}, ownerId: 'u1' } }));
    }
    const jobId = await add(bucket, { kind: 'empty', prefix: '' });
    await put(engine, bucket, 'a/2', 'new');
    await put(engine, bucket, 'z', 'new');
    const { state, report } = await finish(jobId);
    expect([state, report.counts.versions_removed, report.counts.uploads_aborted]).toEqual(['done', 41, 3]);
    expect(await versionsOf(engine, bucket)).toEqual({ 'a/2': 'v', z: 'v' });
    expect(await auditsOf(context, bucket)).toEqual(['storage_job.start', 'storage_job.end']);
    await expectSound(context);
  });

  it('keeps versions that Object Lock protects, and reports them in a dry run too', async () => {
    const { engine, run, now } = setUp();
    const bucket = await makeBucket(engine, 'enabled');
    const until = now() + 86_400_000;
    const locks: Record<string, ObjectLock> = {
      compliance: { mode: 'COMPLIANCE', retainUntilMs: until, isHeld: null },
      governance: { mode: 'GOVERNANCE', retainUntilMs: until, isHeld: null },
      held: { mode: null, retainUntilMs: null, isHeld: true },
    };
    for (const [name, lock] of Object.entries(locks)) await put(engine, bucket, name, 'x', { lock });
    await put(engine, bucket, 'free', 'x');
    const dry = await run(bucket, { kind: 'empty', prefix: '' }, true);
    expect([dry.report.counts.locked, dry.report.counts.versions_removed]).toEqual([3, 1]);
    expect(dry.report.changes.map(({ key, action }) => [key, action])).toEqual([['free', 'remove_version']]);
    expect(await versionsOf(engine, bucket)).toEqual({ compliance: 'v', free: 'v', governance: 'v', held: 'v' });
    const { report } = await run(bucket, { kind: 'empty', prefix: '' });
    expect([report.counts.locked, report.counts.versions_removed]).toEqual([3, 1]);
    expect(report.obstacles.map(({ key, reason }) => [key, reason])).toEqual([
      ['compliance', 'locked'],
      ['governance', 'locked'],
      ['held', 'locked'],
    ]);
    expect(await versionsOf(engine, bucket)).toEqual({ compliance: 'v', governance: 'v', held: 'v' });
  });
});

describe('a job that deletes a prefix', () => {
  it('deletes objects of an unversioned bucket and hides those of a versioned one', async () => {
    const { engine, run } = setUp();
    for (const versioning of ['never', 'enabled', 'suspended'] as const) {
      const bucket = await makeBucket(engine, versioning);
      for (let i = 0; i < 20; i++) await put(engine, bucket, `tmp/${i}`, 'x');
      await put(engine, bucket, 'kept', 'x');
      const dry = await run(bucket, { kind: 'delete', prefix: 'tmp/' }, true);
      expect([dry.report.counts.objects_deleted, dry.report.changes.length]).toEqual([20, 20]);
      expect(Object.values(await versionsOf(engine, bucket)).join('')).toBe('v'.repeat(21));
      const { report } = await run(bucket, { kind: 'delete', prefix: 'tmp/' });
      expect(report.counts).toMatchObject({ examined: 20, objects_deleted: 20, bytes: 20 });
      const left = await versionsOf(engine, bucket);
      const kinds = { never: undefined, enabled: 'mv', suspended: 'm' };
      expect([versioning, left.kept, left['tmp/7']]).toEqual([versioning, 'v', kinds[versioning]]);
      const again = await run(bucket, { kind: 'delete', prefix: 'tmp/' });
      expect(again.report.counts).toEqual({});
    }
  });
});

describe('a job that restores a prefix', () => {
  it('restores every name, and adds no version if the content is the same', async () => {
    const { engine, context, run, advance } = setUp();
    const bucket = await makeBucket(engine, 'enabled');
    await put(engine, bucket, 'p/changed', 'old', { tags: { a: 'b' } });
    await put(engine, bucket, 'p/deleted', 'old');
    await put(engine, bucket, 'p/same', 'old');
    await put(engine, bucket, 'p/gone before', 'old');
    value(await engine.deleteObject(bucket, { name: 'p/gone before' }));
    const big = await uploadParts(engine, bucket, 'p/parts', [5 * 1024 ** 2, 100]);
    await put(engine, bucket, 'other', 'old');
    const atMs = advance(MINUTE);
    advance(MINUTE);
    await put(engine, bucket, 'p/changed', 'new');
    value(await engine.deleteObject(bucket, { name: 'p/deleted' }));
    await put(engine, bucket, 'p/new', 'new');
    await put(engine, bucket, 'p/gone before', 'again');
    await put(engine, bucket, 'p/parts', 'overwritten');
    await put(engine, bucket, 'other', 'new');
    const order = { kind: 'restore', prefix: 'p/', atMs } as const;
    const before = await versionsOf(engine, bucket);
    const blobs = () =>
      Promise.all(
        context.locations.map(async (location) => (await location.list({ prefix: 'blobs/' })).objects.length),
      );
    const blobsBefore = await blobs();
    const dry = await run(bucket, order, true);
    expect(await versionsOf(engine, bucket)).toEqual(before);
    expect(dry.report.changes.map(({ key, action }) => `${action} ${key}`).sort()).toEqual([
      'delete p/gone before',
      'delete p/new',
      'restore p/changed',
      'restore p/deleted',
      'restore p/parts',
    ]);
    const { report } = await run(bucket, order);
    expect(report.counts).toEqual({ ...dry.report.counts });
    expect(report.counts).toMatchObject({ examined: 6, objects_restored: 3, objects_deleted: 2, unchanged: 1 });
    expect(await blobs()).toEqual(blobsBefore);
    await expectContent(engine, bucket, 'p/changed', 'old');
    await expectContent(engine, bucket, 'p/deleted', 'old');
    expect(value(await engine.getVersion(bucket, 'p/changed')).tags).toEqual({ a: 'b' });
    const parts = value(await engine.getVersion(bucket, 'p/parts'));
    expect([parts.etag, parts.partCount]).toEqual([big.etag, 2]);
    expect(value(await engine.findPart(parts, 2))).toMatchObject({ start: 5 * 1024 ** 2, partNumber: 2 });
    expect(await versionsOf(engine, bucket)).toEqual({
      other: 'vv',
      'p/changed': 'vvv',
      'p/deleted': 'vmv',
      'p/gone before': 'mvmv',
      'p/new': 'mv',
      'p/parts': 'vvv',
      'p/same': 'v',
    });
    const again = await run(bucket, order);
    expect(again.report.counts).toEqual({ examined: 6, unchanged: 6 });
    await expectSound(context);
  });

  it('does not replace a version that is newer than the job', async () => {
    const { engine, add, finish, advance } = setUp();
    const bucket = await makeBucket(engine, 'enabled');
    await put(engine, bucket, 'k', 'old');
    const atMs = advance(MINUTE);
    advance(MINUTE);
    await put(engine, bucket, 'k', 'newer');
    const jobId = await add(bucket, { kind: 'restore', prefix: '', atMs });
    await put(engine, bucket, 'k', 'newest');
    const { report } = await finish(jobId);
    expect(report.obstacles).toEqual([{ key: 'k', reason: 'changed' }]);
    await expectContent(engine, bucket, 'k', 'newest');
  });
});

describe('a job that copies a prefix', () => {
  it('copies current objects once, also into its own prefix and between shards', async () => {
    const { engine, context, run } = setUp();
    const source = await makeBucket(engine);
    const target = await makeBucket(engine, 'enabled');
    for (let i = 0; i < 9; i++) await put(engine, source, `a/${i}`, patternOf(20_000 + i, i), { tags: { n: `${i}` } });
    const order = { kind: 'copy', prefix: 'a/', targetId: target.bucketId, targetPrefix: 'b/' } as const;
    const dry = await run(source, order, true);
    expect([dry.report.counts.objects_copied, await versionsOf(engine, target)]).toEqual([9, {}]);
    const { report } = await run(source, order);
    expect(report.counts).toMatchObject({ examined: 9, objects_copied: 9 });
    for (let i = 0; i < 9; i++) await expectContent(engine, target, `b/${i}`, patternOf(20_000 + i, i));
    expect(value(await engine.getVersion(target, 'b/3')).tags).toEqual({ n: '3' });
    expect((await run(source, order)).report.counts).toEqual({ examined: 9, unchanged: 9 });
    expect(Object.values(await versionsOf(engine, target))).toEqual(Array(9).fill('v'));
    const inner = { kind: 'copy', prefix: 'a/', targetId: source.bucketId, targetPrefix: 'a/in/' } as const;
    expect((await run(source, inner)).report.counts.objects_copied).toBe(9);
    expect(Object.keys(await versionsOf(engine, source))).toHaveLength(18);
    await expectSound(context);
  });
});

it('a job that counts reports the totals of a prefix', async () => {
  const { engine, run } = setUp();
  const bucket = await makeBucket(engine, 'enabled');
  for (let i = 0; i < 12; i++) await put(engine, bucket, `a/${i}`, '12345');
  await put(engine, bucket, 'a/1', '123');
  value(await engine.deleteObject(bucket, { name: 'a/2' }));
  await put(engine, bucket, 'b', '1');
  const { report } = await run(bucket, { kind: 'count', prefix: 'a/' });
  expect(report.counts).toMatchObject({ examined: 14, objects: 11, versions: 13, bytes: 63 });
});

describe('an interrupted job', () => {
  /** Wraps DIRECTORY: it fails when the position of a job is saved for the nth time, as if the worker had died after the step. */
  function failingDirectory(nth: number): D1Database {
    let saves = 0;
    const { DIRECTORY } = env as unknown as Env;
    return new Proxy(DIRECTORY, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (name !== 'prepare') return typeof member === 'function' ? member.bind(target) : member;
        return (text: string) => {
          if (text.includes('UPDATE storage_job SET cursor') && ++saves === nth) throw new Error('the worker died');
          return target.prepare(text);
        };
      },
    });
  }

  it('continues after the lease, and ends with the same result as one that was not interrupted', async () => {
    for (const nth of [1, 2, 3]) {
      const { engine, context, add, finish, advance } = setUp({ bindings: { DIRECTORY: failingDirectory(nth) } });
      const bucket = await makeBucket(engine, 'enabled');
      for (let i = 0; i < 9; i++) await put(engine, bucket, `k${i}`, 'old');
      const atMs = advance(MINUTE);
      advance(MINUTE);
      for (let i = 0; i < 9; i++) await put(engine, bucket, `k${i}`, 'new');
      await put(engine, bucket, 'k99', 'new');
      const jobId = await add(bucket, { kind: 'restore', prefix: '', atMs });
      expect(await runJob(context, jobId)).toBe(false);
      expect(await selectRunnable(context, 9)).toEqual([]);
      advance(MINUTE);
      expect(await selectRunnable(context, 9)).toEqual([jobId]);
      expect((await finish(jobId)).state).toBe('done');
      const expected = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, 'vvv']));
      expect(await versionsOf(engine, bucket)).toEqual({ ...expected, k99: 'mv' });
      expect(await auditsOf(context, bucket)).toEqual(['storage_job.start', 'storage_job.end']);
      await expectSound(context);
      await wipe();
    }
  });

  it('stops when it is cancelled, and never starts again', async () => {
    const { engine, context, add, cancel, finish } = setUp();
    const bucket = await makeBucket(engine);
    for (let i = 0; i < 5; i++) await put(engine, bucket, `k${i}`, 'x');
    const jobId = await add(bucket, { kind: 'delete', prefix: '' });
    const job = (await findJob(context, jobId, null)) as Job;
    expect([await cancel(job), await cancel(job)]).toEqual([true, false]);
    expect((await finish(jobId)).state).toBe('cancelled');
    expect(Object.keys(await versionsOf(engine, bucket))).toHaveLength(5);
    expect(await auditsOf(context, bucket)).toEqual(['storage_job.start', 'storage_job.cancel']);
  });

  it('is run by one worker at a time', async () => {
    const { engine, context, add } = setUp();
    const bucket = await makeBucket(engine, 'enabled');
    for (let i = 0; i < 30; i++) await put(engine, bucket, `k${i}`, 'x');
    const jobId = await add(bucket, { kind: 'delete', prefix: '' });
    await Promise.all(Array.from({ length: 4 }, () => runJob(context, jobId)));
    const job = (await findJob(context, jobId, null)) as Job;
    expect([job.state, job.report.counts.objects_deleted]).toEqual(['done', 30]);
    expect(new Set(Object.values(await versionsOf(engine, bucket)))).toEqual(new Set(['mv']));
  });
});

describe('a job ends', () => {
  it('when its bucket is taken down or deleted, or its user is suspended', async () => {
    const { engine, context, add, finish } = setUp();
    const order = { kind: 'delete', prefix: '' } as const;
    const bucket = await makeBucket(engine);
    const [operators, users] = [await add(bucket, order), await add(bucket, order, false, 'nobody')];
    expect((await finish(users)).error).toBe('user_suspended');
    value(await engine.setConfiguration(bucket, 'takeDown', '{}'));
    expect((await finish(operators)).error).toBe('taken_down');
    value(await engine.setConfiguration(bucket, 'takeDown', null));
    const late = await add(bucket, order);
    value(await engine.deleteBucket(value(await engine.getBucket(bucket.name))));
    expect((await finish(late)).error).toBe('no_such_bucket');
    expect(await listJobs(context, { userId: 'nobody', bucketId: null, before: '', limit: 9 })).toHaveLength(1);
    expect(await listJobs(context, { userId: null, bucketId: null, before: '', limit: 9 })).toHaveLength(3);
  });
});
