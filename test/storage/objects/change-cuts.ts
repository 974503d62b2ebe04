/**
 * Cuts the power of jobs and lifecycle rules at one chosen call of a store, or lets only that call fail. The next run must end in
 * the same state as a run without a fault: the same versions, each event once, exact counts of the quota, every locked version.
 * \n A second kind of test lets clients change the bucket just before that call. The changes of the clients must stay, and each
 * must have its event.
 */
import { expect } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import type { JobOrder } from '../../../workers/storage/domain/jobs.ts';
import { getQuota, setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { addUsage, measureBucket, NO_USAGE } from '../../../workers/storage/engine/store/usage-store.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { type FaultPlan, faultyBuckets, faultyDatabases } from './faults.ts';
import { expectSound, METADATA, makeBucket, makeEngine, patternOf, put, readAll, value } from './harness.ts';

const SHARDS = 2;
const MINUTE = 60_000;
const DAY = 86_400_000;
const LIMITS = { bucketSpread: SHARDS, jobPageRows: 8, lifecyclePageRows: 4, databaseTimeoutMs: 2_000 };

interface Scene {
  readonly bucket: Bucket;
  readonly target: Bucket;
  /** A time after the old content was written and before the new content, for jobs that restore it. */
  readonly atMs: number;
}

interface Work {
  readonly start: (context: EngineContext, scene: Scene) => Promise<unknown>;
  readonly run: (context: EngineContext) => Promise<unknown>;
  /** Milliseconds between the clients' changes and the tested work. */
  readonly waitsMs: number;
  /**
   * Number of further days on which the work runs before the comparison: a page that is repeated after a fault may do what the
   * next day would have done.
   */
  readonly days?: number;
}

/**
 * The faults that are tested. A call that hangs until its invocation ends has the same effect as a power cut, so it is not among
 * them.
 */
export const CHANGE_FAULTS = ['cut before', 'cut after', 'before', 'after'] as const;

const JOB_ID = 'the job';
const LOCKED = `locked ${Buffer.from('locked').toString('base64')}`;

const jobOf = (toOrder: (scene: Scene) => JobOrder): Work => ({
  waitsMs: MINUTE,
  start: async (context, scene) => {
    const { bucketId } = scene.bucket;
    const target = { type: 'bucket', id: bucketId } as const;
    const entry = {
      at: context.now(),
      id: crypto.randomUUID(),
      action: 'storage_job.start',
      target,
      details: {},
    } as const;
    const order = toOrder(scene);
    const request = { jobId: JOB_ID, bucketId, userId: null, order, isDryRun: false, scopes: null };
    expect(await insertJob(context, request, toSystemAuditRow(entry))).toBe(true);
  },
  run: async (context) => {
    while (await runJob(context, JOB_ID));
  },
});

export const WORKS: Readonly<Record<string, Work>> = {
  'a job that empties': jobOf(() => ({ kind: 'empty', prefix: '' })),
  'a job that deletes': jobOf(() => ({ kind: 'delete', prefix: '' })),
  'a job that restores': jobOf(({ atMs }) => ({ kind: 'restore', prefix: '', atMs })),
  'a job that copies': jobOf(({ target }) => ({
    kind: 'copy',
    prefix: '',
    targetId: target.bucketId,
    targetPrefix: 'copy/',
  })),
  'lifecycle rules': {
    waitsMs: 3 * DAY,
    days: 6,
    start: async () => {},
    run: async (context) => {
      for (let shard = 0; shard < SHARDS; shard++) {
        if (await isLifecycleDue(context, shard)) while (await runLifecycle(context, shard));
      }
    },
  },
};

const ALL = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*', 's3:LifecycleExpiration:*'];
const RULE = { id: 'all', target: { kind: 'queue' }, arn: '', events: ALL, prefix: null, suffix: null };
const EXPIRY = {
  id: 'old',
  isEnabled: true,
  filter: {},
  form: 'one',
  expiration: { days: 1 },
  noncurrent: { days: 1, newerVersions: null },
  abortAfterDays: 1,
};

async function fill(engine: Engine, context: EngineContext, pass: (ms: number) => void): Promise<Scene> {
  const made = [await makeBucket(engine, 'enabled'), await makeBucket(engine, 'enabled')];
  for (const bucket of made) {
    value(await engine.setConfiguration(bucket, 'notification', JSON.stringify([RULE])));
    const subject = { kind: 'bucket', subject: bucket.bucketId } as const;
    value(await setQuota(context, subject, { bytes: 1_000_000, objects: 1_000 }));
  }
  const [bucket, target] = (await Promise.all(made.map(async ({ name }) => value(await engine.getBucket(name))))) as [
    Bucket,
    Bucket,
  ];
  const held = { mode: 'COMPLIANCE', retainUntilMs: context.now() + 99 * DAY, isHeld: false } as const;
  for (let i = 0; i < 7; i++) await put(engine, bucket, `k${i}`, patternOf(20 + i, i));
  await put(engine, bucket, 'large', patternOf(20_000, 8));
  await put(engine, bucket, 'locked', 'locked', { lock: held });
  pass(MINUTE);
  const atMs = context.now();
  pass(MINUTE);
  for (let i = 0; i < 4; i++) await put(engine, bucket, `k${i}`, patternOf(40 + i, i));
  value(await engine.deleteObject(bucket, { name: 'k5' }));
  await put(engine, bucket, 'large', 'now small');
  await put(engine, bucket, 'new', 'new');
  value(await engine.createUpload({ bucket, name: 'upload', metadata: METADATA }));
  const rules = JSON.stringify({ rules: [EXPIRY], minimumSize: '' });
  value(await engine.setConfiguration(bucket, 'lifecycle', rules));
  return { bucket: value(await engine.getBucket(bucket.name)), target, atMs };
}

/** Describes a bucket without ids: names with the bytes of their versions, and open uploads. */
async function listContents(engine: Engine, bucket: Bucket): Promise<string[]> {
  const query = { bucket, prefix: '', delimiter: '', from: '', limit: 1_000 };
  const seen: string[] = [];
  for (const entry of value(await engine.listVersions(query)).entries) {
    if (entry.kind !== 'item') continue;
    const { name, versionId, isMarker } = entry.item;
    const version = value(await engine.getVersion(bucket, name, { versionId }));
    seen.push(`${name} ${isMarker ? 'a marker' : (await readAll(engine, version)).toString('base64')}`);
  }
  for (const entry of value(await engine.listUploads(query)).entries) {
    if (entry.kind === 'item') seen.push(`upload ${entry.item.name}`);
  }
  return seen;
}

async function readOutcome(engine: Engine, context: EngineContext, { bucket, target }: Scene) {
  const events: string[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    for (const { kind, bucketId, name } of await selectDueEvents(context, shard, 1_000)) {
      events.push(`${kind} ${bucketId === bucket.bucketId ? '' : 'target '}${name}`);
    }
  }
  for (const { bucketId } of [bucket, target]) {
    let stored = NO_USAGE;
    for (let shard = 0; shard < SHARDS; shard++) {
      stored = addUsage(stored, value(await measureBucket(context, shard, bucketId)));
    }
    const quota = value(await getQuota(context, { kind: 'bucket', subject: bucketId }));
    expect(quota?.used).toEqual({ bytes: stored.bytes, objects: stored.objects });
  }
  const contents = [...(await listContents(engine, bucket)), 'TARGET', ...(await listContents(engine, target))];
  return { contents, events: events.sort() };
}

type Outcome = Awaited<ReturnType<typeof readOutcome>>;

/** Fills two buckets and creates the job or the rules. Later calls of the work follow the fault plan. */
async function begin(work: Work, plan: FaultPlan) {
  let now = Date.now() + DAY;
  const pass = (ms: number) => {
    now += ms;
  };
  const options = { shards: SHARDS, now: () => now, limits: LIMITS };
  const { engine, context } = makeEngine(options);
  const scene = await fill(engine, context, pass);
  pass(work.waitsMs);
  await work.start(context, scene);
  pass(MINUTE);
  const planned = makeEngine({
    ...options,
    bindings: { ...faultyDatabases(plan), ...faultyBuckets(plan) },
  });
  return { engine, context, scene, pass, planned };
}

/**
 * Runs the work with a fault.
 * @param at number of the call that fails, or at which the power is cut; null for none.
 * @returns the outcome, the number of calls, and the call that failed; null if the work makes fewer calls.
 */
export async function runChangeWithFault(
  name: string,
  how: (typeof CHANGE_FAULTS)[number],
  at: number | null,
): Promise<{ readonly outcome: Outcome; readonly calls: number; readonly hit: string | null }> {
  const work = WORKS[name] as Work;
  const plan: FaultPlan = { at, how, calls: 0, hit: null };
  const { engine, context, scene, pass, planned } = await begin(work, plan);
  await work.run(planned.context).catch(() => {});
  await planned.settle();
  const { calls } = plan;
  // Pass a minute, so that the lease of the interrupted run has expired.
  pass(MINUTE);
  await work.run(context);
  for (let day = 0; day < (work.days ?? 0); day++) {
    pass(DAY);
    await work.run(context);
  }
  const outcome = await readOutcome(engine, context, scene);
  expect(outcome.contents, `${name}, ${how} call ${at} (${plan.hit})`).toContain(LOCKED);
  await expectSound(context);
  return { outcome, calls, hit: plan.hit };
}

/**
 * Overwrites, creates, deletes and holds objects.
 * @returns ids of versions that must stay: the newest of each name, and the held one.
 */
async function changeMeanwhile(engine: Engine, bucket: Bucket) {
  const newest = new Map<string, string>();
  newest.set('k0', (await put(engine, bucket, 'k0', 'overwritten')).versionId);
  newest.set('beside', (await put(engine, bucket, 'beside', patternOf(20_000, 3))).versionId);
  newest.set('k1', value(await engine.deleteObject(bucket, { name: 'k1' })).versionId ?? '');
  const version = await engine.getVersion(bucket, 'k2');
  const isThere = version.ok && !version.value.isMarker;
  // The version may be removed between the read and the lock. Only if the lock was acknowledged, the version must stay.
  const isHeld = isThere && (await engine.setLock(version.value, { isHeld: true })).ok;
  return { newest, held: isHeld ? version.value.versionId : null };
}

/** Lets clients change the bucket before call `at` of the work. @returns false if the work ends before that call. */
export async function runChangeBesideClients(name: string, at: number): Promise<boolean> {
  const work = WORKS[name] as Work;
  const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null };
  const { engine, context, scene, planned } = await begin(work, plan);
  const { bucket } = scene;
  let made: Awaited<ReturnType<typeof changeMeanwhile>> | null = null;
  plan.meanwhile = async () => {
    made = await changeMeanwhile(engine, bucket);
  };
  await work.run(planned.context);
  await planned.settle();
  const where = `${name}, clients before call ${at} (${plan.hit})`;
  made ??= await changeMeanwhile(engine, bucket);
  const { newest, held } = made;
  const sent = new Map<string, string[]>();
  for (let shard = 0; shard < SHARDS; shard++) {
    for (const event of await selectDueEvents(context, shard, 1_000)) {
      // Skip events of removals, because the work may remove older versions later.
      if (event.bucketId !== bucket.bucketId || event.kind.endsWith(':Delete')) continue;
      sent.set(event.name, [...(sent.get(event.name) ?? []), event.facts.versionId ?? '']);
    }
  }
  for (const [key, versionId] of newest) {
    const query = { bucket, prefix: key, delimiter: '', from: '', limit: 1 };
    const [first] = value(await engine.listVersions(query)).entries;
    expect(first?.kind === 'item' && first.item.versionId, `${where}: ${key}`).toBe(versionId);
    expect(
      sent.get(key)?.filter((id) => id === versionId),
      `${where}: events of ${key}`,
    ).toHaveLength(1);
    expect(sent.get(key)?.at(-1), `${where}: last event of ${key}`).toBe(versionId);
  }
  if (held !== null) value(await engine.getVersion(bucket, 'k2', { versionId: held }));
  const { contents } = await readOutcome(engine, context, scene);
  expect(contents, where).toContain(LOCKED);
  await expectSound(context);
  return plan.hit !== null;
}

/**
 * Runs an upload that needs the quota shares of both shards, while other uploads need the rest of the quota.
 * @returns false if it ends before call `at`.
 */
export async function runRecallBesideUploads(at: number): Promise<boolean> {
  const options = { shards: SHARDS, limits: { bucketSpread: SHARDS } };
  const { engine, context } = makeEngine(options);
  const bucket = await makeBucket(engine);
  const subject = { kind: 'bucket', subject: bucket.bucketId } as const;
  value(await setQuota(context, subject, { bytes: 1_000, objects: null }));
  const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null };
  const planned = makeEngine({
    ...options,
    bindings: faultyDatabases(plan),
  });
  const upload = (by: Engine, name: string, size: number) =>
    by.putObject({ bucket, name, body: patternOf(size), size, metadata: METADATA });
  const uploadOthers = () => Promise.all(['a', 'b', 'c', 'd'].map((name) => upload(engine, name, 100)));
  let others: ReturnType<typeof uploadOthers> | null = null;
  // Do not await the other uploads here: they wait for the shares that the recall holds, so awaiting them would be a deadlock.
  plan.meanwhile = async () => {
    others = uploadOthers();
  };
  const large = await upload(planned.engine, 'large', 600);
  for (const outcome of [large, ...(await (others ?? uploadOthers()))]) value(outcome);
  const where = `uploads before call ${at} (${plan.hit})`;
  expect(value(await getQuota(context, subject))?.used, where).toEqual({ bytes: 1_000, objects: 5 });
  expect(await upload(engine, 'over', 1), where).toEqual({ ok: false, error: { kind: 'quota_exceeded' } });
  value(await engine.deleteObject(bucket, { name: 'large' }));
  value(await upload(engine, 'again', 600));
  await expectSound(context);
  return plan.hit !== null;
}
