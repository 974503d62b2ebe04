/** Compares the engine with a model in memory: random actions, and all content read back after each. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { getQuota, setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { expectSound, failure, METADATA, makeBucket, makeEngine, patternOf, readAll, value, wipe } from './harness.ts';
import { addEvent, addVersion, versionsOf, type World } from './model-state.ts';
import { maintain, playJob, playLifecycle } from './model-work.ts';

const NAMES = ['a', 'a/b', 'ü\u0000'];
const RULE = {
  id: 'all',
  target: { kind: 'queue' },
  arn: '',
  events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*', 's3:LifecycleExpiration:*'],
  prefix: null,
  suffix: null,
};
const SIZES = [0, 1, 700, 16_384, 16_385, 300_000];

const name = fc.constantFrom(...NAMES);
const content = fc.record({ size: fc.constantFrom(...SIZES), seed: fc.nat(1000) });

type Step =
  | { readonly kind: 'put'; readonly name: string; readonly content: { size: number; seed: number } }
  | { readonly kind: 'multipart'; readonly name: string; readonly contents: readonly { size: number; seed: number }[] }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'delete version'; readonly name: string; readonly index: number }
  | { readonly kind: 'copy'; readonly from: string; readonly index: number; readonly to: string }
  | { readonly kind: 'versioning'; readonly to: 'enabled' | 'suspended' }
  | { readonly kind: 'hold'; readonly name: string; readonly index: number; readonly isHeld: boolean }
  | { readonly kind: 'lifecycle'; readonly prefix: string }
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
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('hold' as const), name, index: fc.nat(5), isHeld: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lifecycle' as const), prefix: fc.constantFrom('', 'a', 'a/') }),
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
      addEvent(world, action.name, 'ObjectCreated:Put');
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
      addEvent(world, action.name, 'ObjectCreated:CompleteMultipartUpload');
      return addVersion(world, action.name, {
        id: facts.versionId,
        isNull: facts.isNull,
        content: Buffer.concat(bodies),
      });
    }
    case 'delete': {
      const outcome = value(await engine.deleteObject(bucket, { name: action.name }));
      if (bucket.versioning === 'never') {
        if (versionsOf(model, action.name).length > 0) addEvent(world, action.name, 'ObjectRemoved:Delete');
        model.set(action.name, []);
        return;
      }
      addEvent(world, action.name, 'ObjectRemoved:DeleteMarkerCreated');
      return addVersion(world, action.name, { id: outcome.versionId ?? '', isNull: outcome.isNull, content: null });
    }
    case 'delete version': {
      const versions = versionsOf(model, action.name);
      const chosen = versions[action.index];
      if (!chosen) return;
      const versionId = chosen.isNull && action.index % 2 === 0 ? 'null' : chosen.id;
      const deleted = await engine.deleteObject(bucket, { name: action.name, versionId });
      if (chosen.isHeld) return expect(failure(deleted)).toEqual({ kind: 'object_locked' });
      expect(value(deleted).existed).toBe(true);
      addEvent(world, action.name, 'ObjectRemoved:Delete');
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
      addEvent(world, action.to, 'ObjectCreated:Copy');
      return addVersion(world, action.to, { id: facts.versionId, isNull: facts.isNull, content: chosen.content });
    }
    case 'versioning':
      value(await engine.setVersioning(bucket, action.to));
      world.bucket = value(await engine.getBucket(bucket.name));
      return;
    case 'hold': {
      const chosen = versionsOf(model, action.name)[action.index];
      // Lock only versions with an id of their own. A null version could be replaced by a write, so S3 does not lock it.
      if (!chosen?.content || chosen.isNull) return;
      const version = value(await engine.getVersion(bucket, action.name, { versionId: chosen.id }));
      value(await engine.setLock(version, { isHeld: action.isHeld }));
      chosen.isHeld = action.isHeld;
      return;
    }
    case 'lifecycle':
      return await playLifecycle(world, action.prefix);
    case 'job':
      return await playJob(world, action.job, action.prefix);
    default:
      return await maintain(context, action.kind, world.clock);
  }
}

/** Compares every version byte for byte, both listings, the counts of the quota and the outbox. */
async function compare(world: World): Promise<void> {
  const { engine, context, model, bucket } = world;
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
  const bytes = [...model.values()].flat().reduce((sum, version) => sum + (version.content?.length ?? 0), 0);
  const quota = value(await getQuota(context, { kind: 'bucket', subject: bucket.bucketId }));
  expect(quota?.used).toEqual({ bytes, objects: current.length });
  await expectEvents(world);
}

/** Expect the events of each name's changes, in order, with ascending sequencers. */
async function expectEvents({ context, events }: World): Promise<void> {
  const kinds = new Map<string, string[]>();
  const last = new Map<string, string>();
  for (let shard = 0; shard < context.shards.length; shard++) {
    for (const { name, kind, sequencer } of await selectDueEvents(context, shard, 10_000)) {
      expect(sequencer > (last.get(name) ?? ''), name).toBe(true);
      last.set(name, sequencer);
      kinds.set(name, [...(kinds.get(name) ?? []), kind]);
    }
  }
  expect(kinds).toEqual(events);
}

/** Compares the engine with the model. @param seed printed by fast-check on failure, and here on success. */
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
        const made = await makeBucket(engine, versioning);
        const { name, bucketId } = made;
        value(await engine.setConfiguration(made, 'notification', JSON.stringify([RULE])));
        value(await setQuota(context, { kind: 'bucket', subject: bucketId }, { bytes: 1e9, objects: 1e6 }));
        const bucket = value(await engine.getBucket(name));
        const world: World = { engine, context, model: new Map(), events: new Map(), clock, bucket };
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
