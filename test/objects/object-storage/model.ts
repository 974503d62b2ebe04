/** Compares the engine with a list in memory: random actions, and all content read back after each. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Bucket, Engine } from '../../../workers/object-storage/engine/index.ts';
import type { EngineContext } from '../../../workers/object-storage/engine/model/context.ts';
import { findJob, insertJob } from '../../../workers/object-storage/engine/store/job-store.ts';
import {
  collectBlobs,
  collectUploads,
  emptyCollectReport,
} from '../../../workers/object-storage/maintenance/collect.ts';
import { runJob } from '../../../workers/object-storage/maintenance/jobs.ts';
import { walkOrphans } from '../../../workers/object-storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/object-storage/maintenance/pack.ts';
import { emptyScrubReport, scrubStep } from '../../../workers/object-storage/maintenance/scrub.ts';
import { toSystemAuditRow } from '../../../workers/shared/audit.ts';
import { expectSound, METADATA, makeBucket, makeEngine, patternOf, readAll, value, wipe } from './harness.ts';

const NAMES = ['a', 'a/b', 'ü\u0000'];
const SIZES = [0, 1, 700, 16_384, 16_385, 300_000];

interface ModelVersion {
  readonly id: string;
  readonly isNull: boolean;
  /** null: a delete marker. */
  readonly content: Uint8Array | null;
}

/** Versions by name, newest first. */
type Model = Map<string, ModelVersion[]>;

interface World {
  readonly engine: Engine;
  readonly context: EngineContext;
  readonly model: Model;
  readonly clock: { offsetMs: number };
  bucket: Bucket;
}

const name = fc.constantFrom(...NAMES);
const content = fc.record({ size: fc.constantFrom(...SIZES), seed: fc.nat(1000) });

type Step =
  | { readonly kind: 'put'; readonly name: string; readonly content: { size: number; seed: number } }
  | { readonly kind: 'multipart'; readonly name: string; readonly contents: readonly { size: number; seed: number }[] }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'delete version'; readonly name: string; readonly index: number }
  | { readonly kind: 'copy'; readonly from: string; readonly index: number; readonly to: string }
  | { readonly kind: 'versioning'; readonly to: 'enabled' | 'suspended' }
  | { readonly kind: 'job'; readonly job: 'empty' | 'delete'; readonly prefix: string }
  | { readonly kind: 'pack' | 'gc' | 'scrub' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('put' as const), name, content }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('multipart' as const),
      name,
      contents: fc.array(content, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete version' as const), name, index: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('copy' as const), from: name, index: fc.nat(5), to: name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('versioning' as const),
      to: fc.constantFrom('enabled' as const, 'suspended' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('job' as const),
      job: fc.constantFrom('empty' as const, 'delete' as const),
      prefix: fc.constantFrom('', 'a', 'a/'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('pack' as const, 'gc' as const, 'scrub' as const) }) },
);

const versionsOf = (model: Model, key: string): ModelVersion[] => {
  const found = model.get(key) ?? [];
  model.set(key, found);
  return found;
};

/** Adds a version by the rules of S3: a null version replaces the previous null version. */
function addVersion(world: World, key: string, version: ModelVersion): void {
  const versions = versionsOf(world.model, key);
  const kept = version.isNull ? versions.filter((old) => !old.isNull) : versions;
  world.model.set(key, [version, ...kept]);
}

const contentOf = ({ size, seed }: { size: number; seed: number }): Uint8Array => patternOf(size, seed);

async function play(world: World, action: Step): Promise<void> {
  const { engine, model, context } = world;
  const { bucket } = world;
  switch (action.kind) {
    case 'put': {
      const body = contentOf(action.content);
      const facts = value(
        await engine.putObject({ bucket, name: action.name, body, size: body.length, metadata: METADATA }),
      );
      return addVersion(world, action.name, { id: facts.versionId, isNull: facts.isNull, content: body });
    }
    case 'multipart': {
      const { uploadId } = value(await engine.createUpload({ bucket, name: action.name, metadata: METADATA }));
      const bodies = action.contents.map(contentOf);
      const parts = [];
      for (const [i, body] of bodies.entries()) {
        parts.push(
          value(
            await engine.putPart({ bucket, name: action.name, uploadId, partNumber: i + 1, body, size: body.length }),
          ),
        );
      }
      const facts = value(await engine.completeUpload({ bucket, name: action.name, uploadId, parts, partBytesMin: 0 }));
      return addVersion(world, action.name, {
        id: facts.versionId,
        isNull: facts.isNull,
        content: Buffer.concat(bodies),
      });
    }
    case 'delete': {
      const outcome = value(await engine.deleteObject(bucket, { name: action.name }));
      if (bucket.versioning === 'never') model.set(action.name, []);
      else addVersion(world, action.name, { id: outcome.versionId ?? '', isNull: outcome.isNull, content: null });
      return;
    }
    case 'delete version': {
      const versions = versionsOf(model, action.name);
      const chosen = versions[action.index];
      if (!chosen) return;
      const versionId = chosen.isNull && action.index % 2 === 0 ? 'null' : chosen.id;
      expect(value(await engine.deleteObject(bucket, { name: action.name, versionId })).existed).toBe(true);
      model.set(
        action.name,
        versions.filter((version) => version !== chosen),
      );
      return;
    }
    case 'copy': {
      const chosen = versionsOf(model, action.from)[action.index];
      if (!chosen?.content) return;
      const source = value(await engine.getVersion(bucket, action.from, { versionId: chosen.id }));
      const facts = value(
        await engine.copyObject({ bucket, name: action.to, source, metadata: METADATA, tags: null, acl: null }),
      );
      return addVersion(world, action.to, { id: facts.versionId, isNull: facts.isNull, content: chosen.content });
    }
    case 'versioning':
      value(await engine.setVersioning(bucket, action.to));
      world.bucket = value(await engine.getBucket(bucket.name));
      return;
    case 'job':
      return await playJob(world, action.job, action.prefix);
    default:
      return await maintain(context, action.kind, world.clock);
  }
}

async function playJob(
  { engine, context, model, clock, bucket }: World,
  kind: 'empty' | 'delete',
  prefix: string,
): Promise<void> {
  // A job changes nothing that is newer than itself.
  clock.offsetMs += 1_000;
  const { bucketId } = bucket;
  const jobId = crypto.randomUUID();
  const target = { type: 'bucket', id: bucketId } as const;
  const audit = toSystemAuditRow({ at: context.now(), id: jobId, action: 'storage_job.start', target, details: {} });
  const order = { kind, prefix };
  await insertJob(context, { jobId, bucketId, userId: null, order, isDryRun: false, scopes: null }, audit);
  clock.offsetMs += 1_000;
  while (await runJob(context, jobId));
  expect((await findJob(context, jobId, null))?.state).toBe('done');
  for (const [key, versions] of model) {
    if (!key.startsWith(prefix)) continue;
    if (kind === 'empty' || bucket.versioning === 'never') model.set(key, []);
    else if (versions[0]?.content) {
      const { versionId, isNull, isMarker } = value(await engine.getVersion(bucket, key));
      expect(isMarker).toBe(true);
      const kept = isNull ? versions.filter((version) => !version.isNull) : versions;
      model.set(key, [{ id: versionId, isNull, content: null }, ...kept]);
    }
  }
}

async function maintain(
  context: EngineContext,
  kind: 'pack' | 'gc' | 'scrub',
  clock: { offsetMs: number },
): Promise<void> {
  for (let shard = 0; shard < context.shards.length; shard++) {
    if (kind === 'pack') await packVolume(context, shard, emptyPackReport());
    if (kind === 'scrub') {
      const report = emptyScrubReport();
      await scrubStep(context, shard, 1e9, report, { restart: true });
      expect(report).toMatchObject({ bad_copies: 0, missing_copies: 0, lost_blobs: 0, inline_damaged: 0 });
    }
    if (kind === 'gc') {
      clock.offsetMs += 3_700_000;
      while (await collectUploads(context, shard, emptyCollectReport()));
      while (await collectBlobs(context, shard, emptyCollectReport()));
    }
  }
  if (kind === 'gc') while (await walkOrphans(context, emptyCollectReport()));
}

/** Compares every version byte for byte, and both listings. */
async function compare({ engine, model, bucket }: World): Promise<void> {
  const listed = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1000 })).entries;
  const names = [...model.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const expected = names.flatMap((key) =>
    versionsOf(model, key).map((version, i) => [key, version.id, version.isNull, version.content === null, i === 0]),
  );
  expect(
    listed.map(
      (entry) =>
        entry.kind === 'item' && [
          entry.item.name,
          entry.item.versionId,
          entry.item.isNull,
          entry.item.isMarker,
          entry.item.isLatest,
        ],
    ),
  ).toEqual(expected);
  const current = names.filter((key) => versionsOf(model, key)[0]?.content);
  const objects = value(await engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 1000 })).entries;
  expect(objects.map((entry) => entry.kind === 'item' && entry.item.name)).toEqual(current);
  for (const key of names) {
    for (const version of versionsOf(model, key)) {
      if (version.content === null) continue;
      const found = value(await engine.getVersion(bucket, key, { versionId: version.id }));
      expect((await readAll(engine, found)).equals(version.content), `${key} ${version.id}`).toBe(true);
    }
  }
}

/** @param seed printed by fast-check on failure, and here on success. */
export async function checkModel(runs: number, stepsMax: number, seed: number): Promise<void> {
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: stepsMax }),
      fc.constantFrom('never' as const, 'enabled' as const, 'suspended' as const),
      fc.constantFrom(1, 3),
      async (actions, versioning, shards) => {
        await wipe();
        const clock = { offsetMs: 0 };
        const { engine, context } = makeEngine({ shards, now: () => Date.now() + clock.offsetMs });
        const world: World = { engine, context, model: new Map(), clock, bucket: await makeBucket(engine, versioning) };
        for (const action of actions) {
          await play(world, action);
          await compare(world);
          steps++;
        }
        for (const kind of ['pack', 'gc', 'gc', 'scrub'] as const) await maintain(context, kind, clock);
        await compare(world);
        expect(await expectSound(context)).toMatchObject({ orphans: 0 });
      },
    ),
    { numRuns: runs, seed },
  );
  console.log(`storage model: seed ${seed}, ${runs} runs, ${steps} steps, all read back`);
}
