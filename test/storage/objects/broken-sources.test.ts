/** Rebuilds from sources that are not whole: a hole in an object, a copy with other bytes, an upload that began before the snapshot. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { toBlobKey } from '../../../workers/storage/engine/blobs/locations.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { type FaultPlan, faultyDatabase } from './faults.ts';
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

/** Puts an object of several blobs, each of them in both locations, and returns their keys in order. */
async function putPieces(made: ReturnType<typeof makeEngine>, name: string) {
  const { engine } = made;
  const bucket = await makeBucket(engine, 'enabled');
  await snapshotShard(made.context, 0);
  const content = patternOf(2_000_000, 3);
  value(
    await engine.putObject({
      bucket,
      name,
      body: new Blob([content]).stream(),
      size: content.length,
      metadata: METADATA,
    }),
  );
  const { extents } = value(await engine.getVersion(bucket, name)).handle;
  return { bucket, content, keys: extents.map(({ blobId }) => toBlobKey(blobId)) };
}

test('an object with a hole stays away', async () => {
  const made = makeEngine({ limits: { blobBytesMax: 500_000 } });
  const { bucket, keys } = await putPieces(made, 'holed');
  expect(keys.length).toBeGreaterThan(2);
  for (const location of [env.BLOBS, env.BLOBS_2]) await location.delete(keys[1] ?? '');
  await loseDatabase(made.context, 0);
  expect(await rebuildShard(made.context, 0)).toMatchObject({ ok: true });
  expect(failure(await made.engine.getVersion(bucket, 'holed')).kind).toBe('no_such_key');
});

test('a copy with other bytes does not count as held', async () => {
  const made = makeEngine();
  const bucket = await makeBucket(made.engine);
  await snapshotShard(made.context, 0);
  const content = patternOf(20_000, 5);
  await put(made.engine, bucket, 'x', content);
  const [extent] = value(await made.engine.getVersion(bucket, 'x')).handle.extents;
  await env.BLOBS_2.put(toBlobKey(extent?.blobId ?? ''), patternOf(20_000, 6));
  await loseDatabase(made.context, 0);
  expect(await rebuildShard(made.context, 0)).toMatchObject({ ok: true });
  await expectContent(made.engine, bucket, 'x', content);
  const record = await env.OBJECTS_0.prepare('SELECT locations, missing FROM blob').first();
  expect(record).toEqual({ locations: 1, missing: 2 });
});

test('an upload that was under way at the snapshot is recovered', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  const plan: FaultPlan = {
    at: 0,
    how: 'meanwhile',
    calls: 0,
    hit: null,
    // The bytes are in the locations and the commit is next.
    meanwhile: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await snapshotShard(context, 0);
    },
  };
  const slow = makeEngine({ bindings: { OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan) } }).engine;
  const content = patternOf(20_000, 7);
  await put(slow, bucket, 'x', content);
  expect(plan.hit).toBe('d1.batch');
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, report: { versions_recovered: 1 } });
  await expectContent(engine, bucket, 'x', content);
});
