import { env } from 'cloudflare:test';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { ACTIONS, type Action, expectStored } from './fault-actions.ts';
import { type Fault, type FaultPlan, faultyBuckets, faultyDatabase, runInterrupted } from './faults.ts';
import {
  expectSound,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  type TestEngine,
  value,
  wipe,
} from './harness.ts';

export const FAULTS: readonly Fault[] = ['before', 'after', 'hang before', 'hang after', 'late', 'half'];
export const LIMITS = { databaseTimeoutMs: 60, locationTimeoutMs: 60 };

/** Describes each version of a bucket with its bytes. */
async function listContents(engine: Engine, bucket: Bucket): Promise<string[]> {
  const { entries } = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1000 }));
  const seen: string[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'item') continue;
    const { name, versionId, isMarker } = entry.item;
    if (isMarker) {
      seen.push(`${name} marker`);
      continue;
    }
    const version = value(await engine.getVersion(bucket, name, { versionId }));
    const bytes = await readAll(engine, version);
    expect(bytes.length).toBe(version.size);
    seen.push(`${name} ${bytes.length} ${version.sha256 ?? version.etag} ${version.lock.isHeld}`);
  }
  return seen.sort();
}

const RULE = {
  id: 'all',
  target: { kind: 'queue' },
  arn: '',
  events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'],
  prefix: null,
  suffix: null,
};

/** Creates a bucket with a quota, whose events go to the queue. */
export async function makeCountedBucket(
  { engine, context }: TestEngine,
  versioning: Action['versioning'],
): Promise<Bucket> {
  const bucket = await makeBucket(engine, versioning);
  value(await engine.setConfiguration(bucket, 'notification', JSON.stringify([RULE])));
  value(await setQuota(context, { kind: 'bucket', subject: bucket.bucketId }, { bytes: 10_000_000, objects: null }));
  return value(await engine.getBucket(bucket.name));
}

export async function countEvents(context: EngineContext, { bucketId }: Bucket): Promise<number> {
  const due = await Promise.all(context.shards.map((_, shard) => selectDueEvents(context, shard, 10_000)));
  return due.flat().filter((event) => event.bucketId === bucketId).length;
}

/** Time between two looks at work that waits for a silent call. */
export const TICK_MS = 100;

const tally = { cases: 0, acknowledged: 0, refused: 0 };

/** Expects no orphans and no missing bytes after the grace period and collection. */
async function expectNothingLeft(shards: number): Promise<void> {
  const { context } = makeEngine({ shards, now: () => Date.now() + 7_200_000 });
  const report = emptyCollectReport();
  const collect = async (at: typeof context) => {
    for (let shard = 0; shard < shards; shard++) {
      while (await collectUploads(at, shard, report));
      while (await collectBlobs(at, shard, report));
    }
    while (await walkOrphans(at, report));
  };
  await collect(context);
  // An orphan is removed from the first location by two rounds a day apart, and from the second location a day later.
  const at = (hours: number) => makeEngine({ shards, now: () => Date.now() + hours * 3_600_000 }).context;
  const later = at(77);
  for (const each of [at(27), at(52), later]) await collect(each);
  expect(await expectSound(later)).toMatchObject({ copies_of_wrong_size: 0, orphans: 0 });
}

/** Binds the second and third shard, which the Worker's own bindings do not have. */
const bindExtraShards = (plan: FaultPlan) => {
  const { OBJECTS_1, OBJECTS_2 } = env as unknown as Readonly<Record<string, D1Database>>;
  if (!OBJECTS_1 || !OBJECTS_2) throw new Error('three shards are not bound');
  return { OBJECTS_1: faultyDatabase(OBJECTS_1, plan), OBJECTS_2: faultyDatabase(OBJECTS_2, plan) };
};

/** Defines a test for every action and every fault. Each test lets each of the action's store calls fail in turn. */
export function defineFaultTests(names: readonly string[], faults: readonly Fault[], shards: 1 | 3 = 1): void {
  beforeEach(wipe);
  afterAll(() => console.log(`faults injected into storage: ${JSON.stringify(tally)}`));
  describe.each(names)(`%s, on ${shards} shards`, (name) => {
    const action = ACTIONS[name] as Action;
    test.each(faults)(
      'is either refused without effect or acknowledged and stored, whichever store call fails: %s',
      async (how) => {
        const healthy = makeEngine({ shards });
        const plan: FaultPlan = { at: null, how, calls: 0, hit: null };
        const faulty = makeEngine({
          limits: { ...LIMITS, bucketSpread: shards },
          shards,
          bindings: {
            DIRECTORY: faultyDatabase(env.DIRECTORY, plan),
            OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
            ...(shards === 3 ? bindExtraShards(plan) : {}),
            ...faultyBuckets(plan),
          },
        });
        const play = async (at: number | null) => {
          const bucket = await makeCountedBucket(healthy, action.versioning);
          const prepared = await action.prepare(healthy.engine, bucket, healthy.context);
          const before = await listContents(healthy.engine, bucket);
          const eventsBefore = await countEvents(healthy.context, bucket);
          Object.assign(plan, { at, calls: 0, hit: null, late: undefined });
          const outcome = await action.act(faulty.engine, bucket, prepared as never);
          await faulty.settle();
          const { calls, hit } = plan;
          plan.at = null;
          await plan.late;
          if (at !== null) expect(hit, 'the fault struck').not.toBeNull();
          const where = `${hit} (call ${at} of ${calls})`;
          if (outcome.ok) await action.after(healthy.engine, bucket);
          else if (action.isSentOnce) {
            expect(outcome, where).toMatchObject({ error: { kind: 'unavailable' } });
            const now = await listContents(healthy.engine, bucket);
            expect([before, before.map((line) => line.replace(/\S+$/, 'true'))], where).toContainEqual(now);
          } else expect(await listContents(healthy.engine, bucket), where).toEqual(before);
          const events = (await countEvents(healthy.context, bucket)) - eventsBefore;
          expect(events, where).toBe(outcome.ok ? (action.events ?? 1) : 0);
          // Repeat an action that failed. An abort is left out: if only its answer was lost, the repetition finds no upload.
          if (!outcome.ok && name !== 'an abort') {
            // Use a later clock, at which the lease of a worker that died while it distributed shares has expired.
            const later = makeEngine({ shards, now: () => Date.now() + 60_000 });
            expect((await action.act(later.engine, bucket, prepared as never)).ok, `${where}, repeated`).toBe(true);
          }
          tally.cases++;
          if (outcome.ok) tally.acknowledged++;
          else tally.refused++;
          return { calls, isOk: outcome.ok };
        };
        const { calls, isOk } = await play(null);
        expect(isOk).toBe(true);
        for (let at = 0; at < calls; at++) await play(at);
        await expectNothingLeft(shards);
      },
    );
  });

  // Background work handles one shard at a time, so test it only with one shard.
  if (shards > 1) return;
  test.each(faults)('packing and compaction lose nothing, whichever store call fails: %s', async (how) => {
    const healthy = makeEngine();
    const plan: FaultPlan = { at: null, how, calls: 0, hit: null };
    const clock = { offsetMs: 0 };
    const faulty = makeEngine({
      now: () => Date.now() + clock.offsetMs,
      limits: LIMITS,
      bindings: {
        OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
        ...faultyBuckets(plan),
      },
    });
    const bucket = await makeBucket(healthy.engine);
    const attempt = async (at: number, work: () => Promise<unknown>) => {
      Object.assign(plan, { at, calls: 0, hit: null, isSilent: false, late: undefined });
      await runInterrupted(plan, TICK_MS, work);
      await plan.late;
      await faulty.settle();
      plan.at = null;
      return plan.hit !== null;
    };
    const contents = new Map<string, Uint8Array>();
    const check = async () => {
      for (const [name, content] of contents) await expectStored(name, content)(healthy.engine, bucket);
    };
    for (let at = 0; at < 12; at++) {
      for (const i of [0, 1, 2]) {
        contents.set(`${at} ${i}`, patternOf(3000 + i, at * 3 + i));
        await put(healthy.engine, bucket, `${at} ${i}`, contents.get(`${at} ${i}`) as Uint8Array);
      }
      if (!(await attempt(at, () => packVolume(faulty.context, 0, emptyPackReport())))) break;
      await check();
    }
    await packVolume(healthy.context, 0, emptyPackReport());
    for (const name of [...contents.keys()].filter((key) => !key.endsWith(' 0'))) {
      value(await healthy.engine.deleteObject(bucket, { name }));
      contents.delete(name);
    }
    for (let at = 0; at < 14; at++) {
      clock.offsetMs += 7_200_000;
      if (!(await attempt(at, () => collectBlobs(faulty.context, 0, emptyCollectReport())))) break;
      await check();
    }
    await check();
    await expectNothingLeft(1);
    await check();
  });
}
