import { env } from 'cloudflare:test';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Bucket, Engine, VersionFacts } from '../../../workers/object-storage/engine/index.ts';
import {
  collectBlobs,
  collectUploads,
  emptyCollectReport,
} from '../../../workers/object-storage/maintenance/collect.ts';
import { walkOrphans } from '../../../workers/object-storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/object-storage/maintenance/pack.ts';
import { type Fault, type FaultPlan, faultyBucket, faultyDatabase } from './faults.ts';
import {
  bytesOf,
  expectSound,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  value,
  wipe,
} from './harness.ts';

const SMALL = bytesOf('a small object');
const MIDDLE = patternOf(200_000, 3);
const LARGE = patternOf(1_300_000, 4);
export const FAULTS: readonly Fault[] = ['before', 'after', 'hang before', 'hang after', 'late', 'half'];
const LIMITS = { databaseTimeoutMs: 60, locationTimeoutMs: 60 };

/** Lists each version of a bucket with its bytes. */
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
    seen.push(`${name} ${bytes.length} ${version.sha256 ?? version.etag}`);
  }
  return seen.sort();
}

const putOf =
  (name: string, body: Uint8Array, isStreamed = false) =>
  (engine: Engine, bucket: Bucket) =>
    engine.putObject({
      bucket,
      name,
      body: isStreamed ? (new Response(body).body as ReadableStream<Uint8Array>) : body,
      size: body.length,
      metadata: METADATA,
    });

const uploadTwoParts = async (engine: Engine, bucket: Bucket) => {
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const parts = [];
  for (const partNumber of [1, 2]) {
    parts.push(
      value(await engine.putPart({ bucket, name: 'm', uploadId, partNumber, body: MIDDLE, size: MIDDLE.length })),
    );
  }
  return { uploadId, parts };
};

type Action = {
  readonly versioning: 'never' | 'enabled' | 'suspended';
  readonly prepare: (engine: Engine, bucket: Bucket) => Promise<unknown>;
  readonly act: (engine: Engine, bucket: Bucket, prepared: never) => Promise<{ readonly ok: boolean }>;
  /** Checks the state after an acknowledged action. */
  readonly after: (engine: Engine, bucket: Bucket) => Promise<void>;
};

const expectStored = (name: string, content: Uint8Array) => async (engine: Engine, bucket: Bucket) => {
  const version = value(await engine.getVersion(bucket, name));
  expect((await readAll(engine, version)).equals(content)).toBe(true);
};
const expectAbsent = (name: string) => async (engine: Engine, bucket: Bucket) => {
  const found = await engine.getVersion(bucket, name);
  expect(found.ok ? found.value.isMarker : found.error).toEqual(found.ok ? true : { kind: 'no_such_key' });
};
const noPreparation = async () => {};

export const ACTIONS: Readonly<Record<string, Action>> = {
  'a small put': {
    versioning: 'enabled',
    prepare: noPreparation,
    act: putOf('x', SMALL),
    after: expectStored('x', SMALL),
  },
  'a put': { versioning: 'never', prepare: noPreparation, act: putOf('x', MIDDLE), after: expectStored('x', MIDDLE) },
  'a streamed put': {
    versioning: 'never',
    prepare: noPreparation,
    act: putOf('x', LARGE, true),
    after: expectStored('x', LARGE),
  },
  'an overwrite of a small one': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', 'old'),
    act: putOf('x', SMALL),
    after: expectStored('x', SMALL),
  },
  'an overwrite of a large one': {
    versioning: 'suspended',
    prepare: (e, b) => put(e, b, 'x', patternOf(50_000, 9)),
    act: putOf('x', MIDDLE),
    after: expectStored('x', MIDDLE),
  },
  'a put that must be the first': {
    versioning: 'enabled',
    prepare: noPreparation,
    act: (engine, bucket) =>
      engine.putObject({
        bucket,
        name: 'x',
        body: SMALL,
        size: SMALL.length,
        metadata: METADATA,
        condition: { absent: true },
      }),
    after: expectStored('x', SMALL),
  },
  'a delete': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket) => engine.deleteObject(bucket, { name: 'x' }),
    after: expectAbsent('x'),
  },
  'a delete with a marker': {
    versioning: 'enabled',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket) => engine.deleteObject(bucket, { name: 'x' }),
    after: expectAbsent('x'),
  },
  'a delete of a version': {
    versioning: 'enabled',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket, prepared: VersionFacts) =>
      engine.deleteObject(bucket, { name: 'x', versionId: prepared.versionId }),
    after: expectAbsent('x'),
  },
  'a copy': {
    versioning: 'enabled',
    prepare: async (engine, bucket) => {
      await put(engine, bucket, 'source', MIDDLE);
      return value(await engine.getVersion(bucket, 'source'));
    },
    act: (engine, bucket, source) =>
      engine.copyObject({ bucket, name: 'x', source, metadata: METADATA, tags: null, acl: null }),
    after: expectStored('x', MIDDLE),
  },
  'a completion': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: (engine, bucket, { uploadId, parts }: Awaited<ReturnType<typeof uploadTwoParts>>) =>
      engine.completeUpload({ bucket, name: 'm', uploadId, parts, partBytesMin: 0 }),
    after: expectStored('m', Buffer.concat([MIDDLE, MIDDLE])),
  },
  'a part and its completion': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: async (engine, bucket, { uploadId, parts }: Awaited<ReturnType<typeof uploadTwoParts>>) => {
      const again = await engine.putPart({
        bucket,
        name: 'm',
        uploadId,
        partNumber: 2,
        body: LARGE,
        size: LARGE.length,
      });
      return again.ok
        ? await engine.completeUpload({
            bucket,
            name: 'm',
            uploadId,
            parts: [parts[0] as never, again.value],
            partBytesMin: 0,
          })
        : again;
    },
    after: expectStored('m', Buffer.concat([MIDDLE, LARGE])),
  },
  'an abort': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: (engine, bucket, { uploadId }: Awaited<ReturnType<typeof uploadTwoParts>>) =>
      engine.abortUpload(bucket, 'm', uploadId),
    after: expectAbsent('m'),
  },
  'a read': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', LARGE),
    act: async (engine, bucket) => {
      const version = await engine.getVersion(bucket, 'x');
      if (!version.ok) return version;
      const body = await engine.readVersion(version.value);
      if (!body.ok) return body;
      const bytes = await new Response(body.value).arrayBuffer().then(
        (b) => Buffer.from(b),
        () => null,
      );
      if (bytes === null) return { ok: false };
      expect(bytes.equals(LARGE), 'a read is correct or fails').toBe(true);
      return { ok: true };
    },
    after: expectStored('x', LARGE),
  },
};

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
  // Two rounds a day apart find an orphan. The second location follows a day later.
  const at = (hours: number) => makeEngine({ shards, now: () => Date.now() + hours * 3_600_000 }).context;
  const later = at(77);
  for (const each of [at(27), at(52), later]) await collect(each);
  expect(await expectSound(later)).toMatchObject({ copies_of_wrong_size: 0, orphans: 0 });
}

/** These shards are bound for tests only, so the Worker's own bindings lack them. */
const bindExtraShards = (plan: FaultPlan) => {
  const { OBJECTS_1, OBJECTS_2 } = env as unknown as Readonly<Record<string, D1Database>>;
  if (!OBJECTS_1 || !OBJECTS_2) throw new Error('three shards are not bound');
  return { OBJECTS_1: faultyDatabase(OBJECTS_1, plan), OBJECTS_2: faultyDatabase(OBJECTS_2, plan) };
};

/** Defines tests of every action under every fault, at each of its calls of a store. */
export function defineFaultTests(names: readonly string[], faults: readonly Fault[], shards: 1 | 3 = 1): void {
  beforeEach(wipe);
  afterAll(() => console.log(`faults injected into storage: ${JSON.stringify(tally)}, lost: 0`));
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
            BLOBS: faultyBucket(env.BLOBS, plan),
            BLOBS_2: faultyBucket(env.BLOBS_2, plan),
          },
        });
        const play = async (at: number | null) => {
          const bucket = await makeBucket(healthy.engine, action.versioning);
          const prepared = await action.prepare(healthy.engine, bucket);
          const before = await listContents(healthy.engine, bucket);
          Object.assign(plan, { at, calls: 0, hit: null });
          const outcome = await action.act(faulty.engine, bucket, prepared as never);
          await faulty.settle();
          const { calls, hit } = plan;
          plan.at = null;
          if (how === 'late') await new Promise((resolve) => setTimeout(resolve, 200));
          if (at !== null) expect(hit, 'the fault struck').not.toBeNull();
          const where = `${hit} (call ${at} of ${calls})`;
          if (outcome.ok) await action.after(healthy.engine, bucket);
          else expect(await listContents(healthy.engine, bucket), where).toEqual(before);
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

  // Background work handles one shard at a time.
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
        BLOBS: faultyBucket(env.BLOBS, plan),
        BLOBS_2: faultyBucket(env.BLOBS_2, plan),
      },
    });
    const bucket = await makeBucket(healthy.engine);
    const attempt = async (at: number, work: () => Promise<unknown>) => {
      Object.assign(plan, { at, calls: 0, hit: null });
      const done = work().then(
        () => true,
        () => false,
      );
      await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 400))]);
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
