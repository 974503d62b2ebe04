import { beforeEach, expect, test } from 'vitest';
import { slotOf } from '../../../workers/object-storage/domain/slots.ts';
import { isClaimed } from '../../../workers/object-storage/engine/store/journal-store.ts';
import { checkLocations, checkShard } from '../../../workers/object-storage/maintenance/fsck.ts';
import { emptyFsckReport } from '../../../workers/object-storage/maintenance/fsck-report.ts';
import { emptyPackReport, packVolume } from '../../../workers/object-storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/object-storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/object-storage/maintenance/snapshot.ts';
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

test('a shard whose database is lost is rebuilt with every version', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const contents = new Map<string, Uint8Array>();
  const buckets = [await makeBucket(engine, 'enabled'), await makeBucket(engine, 'never')];
  const write = async (round: string, sizes: readonly number[]) => {
    for (const [b, bucket] of buckets.entries()) {
      for (const [i, size] of sizes.entries()) {
        const content = patternOf(size, i + round.length);
        const facts = await put(engine, bucket, `${b === 0 ? 'n' : round}${i}\u0000é`, content);
        contents.set(`${b} ${facts.versionId} ${facts.name}`, content);
      }
    }
  };
  await write('first', [5, 700, 16_000, 20_000, 400_000]);
  for (let shard = 0; shard < 3; shard++) while (await packVolume(context, shard, emptyPackReport()));
  await write('inline', [10, 20, 30]);
  const bucket = buckets[0] as NonNullable<(typeof buckets)[0]>;
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const parts = [];
  for (const partNumber of [1, 2])
    parts.push(
      value(
        await engine.putPart({
          bucket,
          name: 'm',
          uploadId,
          partNumber,
          body: patternOf(90_000, partNumber),
          size: 90_000,
        }),
      ),
    );
  const done = value(await engine.completeUpload({ bucket, name: 'm', uploadId, parts, partBytesMin: 0 }));
  contents.set(`0 ${done.versionId} m`, Buffer.concat([patternOf(90_000, 1), patternOf(90_000, 2)]));
  const marker = value(await engine.deleteObject(bucket, { name: 'n0\u0000é' }));
  for (let shard = 0; shard < 3; shard++) await snapshotShard(context, shard);
  // After the snapshot: large objects, and small ones that are packed into a volume.
  await write('after', [50_000, 60_000, 1_200_000]);
  await write('packed', [100, 200, 300]);
  for (let shard = 0; shard < 3; shard++) while (await packVolume(context, shard, emptyPackReport()));
  const list = async () =>
    Promise.all(
      buckets.map(
        async (one) =>
          value(await engine.listVersions({ bucket: one, prefix: '', delimiter: '', from: '', limit: 1000 })).entries,
      ),
    );
  const before = await list();
  expect(await rebuildShard(context, 1)).toEqual({ ok: false, error: { kind: 'not_empty' } });

  for (const shard of [1, 0]) {
    await loseDatabase(context, shard);
    // One shard is rebuilt at once, the other in requests of one step, each with no state but the databases.
    const isStepped = shard === 0;
    let outcome = await rebuildShard(context, shard, { mayContinue: () => !isStepped });
    const absent = Array.from({ length: 99 }, (_, i) => `absent ${i}`).find(
      (name) => bucket.placement.shards[slotOf(name)] === shard,
    ) as string;
    let refusals = 0;
    while (outcome.ok && !outcome.isDone) {
      // Until the rebuild ends no name is reported as missing. Then a full snapshot is written.
      const kind = (await isClaimed(context, shard)) ? 'no_such_key' : 'unavailable';
      expect(failure(await engine.getVersion(bucket, absent)).kind).toBe(kind);
      if (kind === 'unavailable') {
        const request = { bucket, name: absent, body: patternOf(10), size: 10, metadata: METADATA };
        expect(failure(await engine.putObject(request)).kind).toBe('unavailable');
        const query = { bucket, prefix: '', delimiter: '', from: '', limit: 10 };
        expect(failure(await engine.listObjects(query)).kind).toBe('unavailable');
        refusals++;
      }
      const next = makeEngine({ shards: 3, limits: { bucketSpread: 3, checkPageRows: 3 } });
      outcome = await rebuildShard(next.context, shard, { mayContinue: () => false });
    }
    expect(outcome).toMatchObject({ ok: true, isDone: true, report: { versions_incomplete: 0 } });
    expect(refusals > 20).toBe(isStepped);
    if (outcome.ok) expect(outcome.report.versions_recovered).toBeGreaterThan(0);
  }

  expect(await list()).toEqual(before);
  for (const [key, content] of contents) {
    const [b, versionId, ...name] = key.split(' ');
    await expectContent(engine, buckets[Number(b)] as typeof bucket, name.join(' '), content, versionId);
  }
  expect(value(await engine.getVersion(bucket, 'n0\u0000é', { versionId: marker.versionId ?? '' })).isMarker).toBe(
    true,
  );
  await put(engine, bucket, 'x', 'the bucket takes writes again');
  const report = emptyFsckReport(true);
  for (let shard = 0; shard < 3; shard++) await checkShard(context, shard, report);
  await checkLocations(context, report);
  expect(report).toMatchObject({
    versions_incomplete: 0,
    extents_dangling: 0,
    extents_without_blob: 0,
    copies_missing: 0,
  });
});
