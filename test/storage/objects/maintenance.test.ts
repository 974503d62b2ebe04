import { beforeEach, describe, expect, test } from 'vitest';
import { toBlobKey } from '../../../workers/storage/engine/blobs/locations.ts';
import { engineOf } from '../../../workers/storage/engine/index.ts';
import { checkStorage } from '../../../workers/storage/maintenance/fsck.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
import { measureShard } from '../../../workers/storage/maintenance/stats.ts';
import { CLEAN_FSCK } from '../../support/storage/clean-fsck.ts';
import {
  countRows,
  expectContent,
  failure,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  value,
  wipe,
} from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

const HOUR = 3_600_000;

describe.each([1, 3])('on %i shards', (shards) => {
  test('small objects are packed, read in full and by range from volumes, and compacted when most are deleted', async () => {
    const { engine, pack, collect, clock, fsck, context } = makeMaintainedEngine(shards);
    const bucket = await makeBucket(engine);
    const contents = new Map(Array.from({ length: 60 }, (_, i) => [`n${i}`, patternOf(i * 250, i + 1)]));
    for (const [name, content] of contents) await put(engine, bucket, name, content);
    const source = value(await engine.getVersion(bucket, 'n5'));
    value(await engine.copyObject({ bucket, name: 'n5 copy', source, metadata: METADATA, tags: null, acl: null }));
    contents.set('n5 copy', patternOf(1250, 6));
    const packed = await pack();
    expect(packed.objects).toBeGreaterThanOrEqual(60);
    expect(await countRows(context, 'version WHERE data IS NOT NULL')).toBe(0);
    for (const [name, content] of contents) await expectContent(engine, bucket, name, content);
    const version = value(await engine.getVersion(bucket, 'n40'));
    expect(
      (await readAll(engine, version, { start: 100, end: 5000 })).equals(
        (contents.get('n40') as Uint8Array).slice(100, 5001),
      ),
    ).toBe(true);
    // A copy of a packed object must refer to the same bytes of the volume.
    const packedSource = value(await engine.getVersion(bucket, 'n50'));
    value(
      await engine.copyObject({
        bucket,
        name: 'n50 copy',
        source: packedSource,
        metadata: METADATA,
        tags: null,
        acl: null,
      }),
    );
    for (let i = 0; i < 60; i++) {
      if (i % 5 === 0) continue;
      value(await engine.deleteObject(bucket, { name: `n${i}` }));
      contents.delete(`n${i}`);
    }
    contents.set('n50 copy', patternOf(12_500, 51));
    clock.offsetMs = 2 * HOUR;
    expect((await collect()).volumes_compacted).toBeGreaterThan(0);
    for (const [name, content] of contents) await expectContent(engine, bucket, name, content);
    clock.offsetMs = 4 * HOUR;
    expect((await collect()).blobs_removed).toBeGreaterThan(0);
    for (const [name, content] of contents) await expectContent(engine, bucket, name, content);
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
  });

  test('a deleted object is removed after the grace period, and a read that began before it finishes', async () => {
    const { engine, collect, clock, listKeys, version, fsck } = makeMaintainedEngine(shards);
    const bucket = await makeBucket(engine);
    const content = patternOf(600_000);
    await put(engine, bucket, 'x', content);
    const before = await version(bucket, 'x');
    const keys = await listKeys();
    value(await engine.deleteObject(bucket, { name: 'x' }));
    await collect();
    expect((await readAll(engine, before)).equals(content)).toBe(true);
    clock.offsetMs = HOUR + 1000;
    expect(await collect()).toMatchObject({ blobs_removed: 1, bytes_removed: 600_000 });
    expect((await listKeys(1)).length).toBe(keys.length - 1);
    expect(failure(await engine.readVersion(before))).toEqual({ kind: 'data_lost' });
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
  });

  test('all leftovers of uploads are removed: replaced and unlisted parts, aborted and abandoned uploads', async () => {
    const { engine, collect, clock, listKeys, context, fsck } = makeMaintainedEngine(shards);
    await collect();
    const bucket = await makeBucket(engine);
    const begin = async (name: string) =>
      value(await engine.createUpload({ bucket, name, metadata: METADATA })).uploadId;
    const send = async (name: string, uploadId: string, partNumber: number, seed: number) =>
      value(await engine.putPart({ bucket, name, uploadId, partNumber, body: patternOf(50_000, seed), size: 50_000 }));
    const before = (await listKeys()).length;
    const done = await begin('done');
    await send('done', done, 1, 1);
    const parts = [await send('done', done, 1, 2), await send('done', done, 2, 3)];
    await send('done', done, 3, 4);
    value(await engine.completeUpload({ bucket, name: 'done', uploadId: done, parts, partBytesMin: 0 }));
    const aborted = await begin('aborted');
    await send('aborted', aborted, 1, 5);
    value(await engine.abortUpload(bucket, 'aborted', aborted));
    const abandoned = await begin('abandoned');
    await send('abandoned', abandoned, 1, 6);
    expect((await listKeys()).length).toBe(before + 6);
    await collect();
    clock.offsetMs = 2 * HOUR;
    await collect();
    expect((await listKeys()).length).toBe(before + 3);
    expect(value(await engine.getUpload(bucket, 'abandoned', abandoned)).name).toBe('abandoned');
    clock.offsetMs = 7 * 24 * HOUR + HOUR;
    expect((await collect()).uploads_abandoned).toBe(1);
    clock.offsetMs += 2 * HOUR;
    await collect();
    expect((await listKeys()).length).toBe(before + 2);
    expect(failure(await engine.getUpload(bucket, 'abandoned', abandoned))).toEqual({ kind: 'no_such_upload' });
    await expectContent(engine, bucket, 'done', Buffer.concat([patternOf(50_000, 2), patternOf(50_000, 3)]));
    clock.offsetMs += 8 * 24 * HOUR;
    await collect();
    expect(
      await countRows(context, `upload WHERE bucket = (SELECT n FROM bucket WHERE bucket_id = '${bucket.bucketId}')`),
    ).toBe(0);
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
  });

  test('an orphan is removed after two rounds a day apart, and a day later from the second location', async () => {
    const { collect, clock, context, fsck } = makeMaintainedEngine(shards);
    for (let shard = 0; shard < shards; shard++) await maintainShard(context, shard);
    await collect();
    const key = toBlobKey(crypto.randomUUID());
    for (const location of context.locations) await location.put(key, 'an orphan');
    const isPresent = async () =>
      await Promise.all(context.locations.map(async (each) => (await each.head(key)) !== null));
    expect(await collect()).toMatchObject({ orphans_found: 0 });
    clock.offsetMs = 2 * HOUR;
    expect(await fsck()).toMatchObject({ orphans: 2 });
    await collect();
    clock.offsetMs = 25 * HOUR;
    expect(await collect()).toMatchObject({ orphans_removed: 0 });
    expect(await isPresent()).toEqual([true, true]);
    clock.offsetMs = 27 * HOUR;
    expect(await collect()).toMatchObject({ orphans_removed: 1 });
    expect(await isPresent()).toEqual([false, true]);
    clock.offsetMs = 52 * HOUR;
    await collect();
    expect(await isPresent()).toEqual([false, false]);
    expect(await fsck()).toMatchObject({ orphans: 0 });
  });

  test('an upload that outlasts the grace period of its first blobs is refused instead of acknowledged without them', async () => {
    const { engine, context, clock, collect } = makeMaintainedEngine(shards);
    const bucket = await makeBucket(engine);
    const slow = { ...context, limits: { ...context.limits, unknownLengthBlobBytes: 20_000 } };
    const pieces = [patternOf(20_000, 1), patternOf(20_000, 2), patternOf(20_000, 3)];
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = pieces.shift();
        if (!piece) return controller.close();
        controller.enqueue(piece);
        if (pieces.length > 0) return;
        clock.offsetMs += 2 * HOUR;
        await collect();
      },
    });
    const outcome = await engineOf(slow).putObject({ bucket, name: 'slow', body, size: null, metadata: METADATA });
    expect(failure(outcome)).toMatchObject({ kind: 'unavailable' });
    expect(failure(await engine.getVersion(bucket, 'slow'))).toEqual({ kind: 'no_such_key' });
  });

  test('fsck finds inconsistencies, changes nothing by itself, and repairs on request', async () => {
    const made = makeMaintainedEngine(shards);
    const { engine, context, fsck } = made;
    const bucket = await makeBucket(engine);
    await put(engine, bucket, 'x', patternOf(100_000));
    await put(engine, bucket, 'y', 'small');
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
    const version = await made.version(bucket, 'x');
    const database = context.shards[version.handle.shard] as D1Database;
    await database.batch([
      database.prepare(
        'INSERT INTO extent(object_id, start, length, blob_id, blob_start) SELECT randomblob(16), 0, 10, blob_id, 0 FROM blob LIMIT 1',
      ),
      database.prepare(
        "INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, created_at) VALUES (randomblob(16), 'object', 5, x'', x'', 0, 0)",
      ),
    ]);
    await context.locations[1]?.delete(toBlobKey(version.handle.extents[0]?.blobId ?? ''));
    const found = await fsck();
    expect(found).toMatchObject({ extents_dangling: 1, blobs_unreferenced: 1, repaired: 0 });
    expect(found.copies_missing).toBeGreaterThanOrEqual(1);
    expect(await fsck()).toMatchObject({ ...found, examples: expect.anything() });
    // Run an fsck of one page per request, with small pages and an unusual key before and after all others. The result must be the
    // same.
    const strange = ['blobs/0 strange', 'blobs/zz strange'];
    for (const key of strange) await context.locations[0]?.put(key, 'not ours');
    const paged = makeEngine({ shards, limits: { checkPageRows: 1 } }).context;
    const inPages = async (isDryRun: boolean) => {
      for (let requests = 1; ; requests++) {
        const { report, isDone } = await checkStorage(paged, {
          isDryRun,
          mayContinue: () => false,
          restart: requests === 1,
        });
        if (isDone) return { report, requests };
      }
    };
    const { report, requests } = await inPages(true);
    const expected = { ...found, foreign_objects: 2, examples: expect.anything(), objects_checked: expect.anything() };
    expect(report).toMatchObject({ ...expected, orphans: expect.anything(), orphan_bytes: expect.anything() });
    expect(requests).toBeGreaterThan(10);
    await inPages(false);
    for (const key of strange) await context.locations[0]?.delete(key);
    made.clock.offsetMs = 2 * HOUR;
    await made.collect();
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
    await expectContent(engine, bucket, 'x', patternOf(100_000));
    await expectContent(engine, bucket, 'y', 'small');
  });

  test('stats count the stored objects', async () => {
    const made = makeMaintainedEngine(shards);
    const { engine, context } = made;
    const total = async () =>
      (await Promise.all(context.shards.map((_, shard) => measureShard(context, shard)))).reduce(
        (sum, one) => ({
          objects: sum.objects + one.stats.objects,
          versions: sum.versions + one.stats.versions,
          markers: sum.markers + one.stats.deletion_markers,
          inline: sum.inline + one.stats.bytes_inline,
        }),
        { objects: 0, versions: 0, markers: 0, inline: 0 },
      );
    const before = await total();
    const bucket = await makeBucket(engine, 'enabled');
    await put(engine, bucket, 'a', '12345');
    await put(engine, bucket, 'a', '1234567');
    await put(engine, bucket, 'b', patternOf(20_000));
    value(await engine.deleteObject(bucket, { name: 'b' }));
    const after = await total();
    expect(after).toEqual({
      objects: before.objects + 1,
      versions: before.versions + 3,
      markers: before.markers + 1,
      inline: before.inline + 12,
    });
    const { locations } = await measureShard(context, 0);
    expect(locations[0]?.bytes).toBe(locations[1]?.bytes);
    // A count that is interrupted after every page must have the same result.
    const whole = await measureShard(context, 0);
    for (let asked = 1; ; asked++) {
      const part = await measureShard(context, 0, () => false);
      expect({ ...part.stats, as_of: null }).toEqual({ ...whole.stats, as_of: null });
      if (part.stats.as_of === whole.stats.as_of) continue;
      expect(asked).toBeGreaterThan(5);
      break;
    }
  });
});
