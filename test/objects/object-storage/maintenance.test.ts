import { beforeEach, describe, expect, test } from 'vitest';
import { toBlobKey } from '../../../workers/object-storage/engine/blobs/locations.ts';
import { type Bucket, engineOf, type StoredVersion } from '../../../workers/object-storage/engine/index.ts';
import {
  collectBlobs,
  collectUploads,
  emptyCollectReport,
} from '../../../workers/object-storage/maintenance/collect.ts';
import { checkLocations, checkShard, checkStorage } from '../../../workers/object-storage/maintenance/fsck.ts';
import { emptyFsckReport } from '../../../workers/object-storage/maintenance/fsck-report.ts';
import { walkOrphans } from '../../../workers/object-storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/object-storage/maintenance/pack.ts';
import { maintainShard } from '../../../workers/object-storage/maintenance/schedule.ts';
import { emptyScrubReport, paceOf, scrubStep } from '../../../workers/object-storage/maintenance/scrub.ts';
import { measureShard } from '../../../workers/object-storage/maintenance/stats.ts';
import { CLEAN_FSCK } from '../../support/clean-fsck.ts';
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

beforeEach(wipe);

const HOUR = 3_600_000;

/** An engine whose clock the test moves. */
function makeMovable(shards = 1) {
  const clock = { offsetMs: 0 };
  // Pages of a few rows, so that every check goes over many.
  const limits = { checkPageRows: 3 };
  const made = makeEngine({ shards, limits, now: () => Date.now() + clock.offsetMs });
  const { context, engine } = made;
  const eachShard = async (work: (shard: number) => Promise<unknown>) => {
    for (let shard = 0; shard < context.shards.length; shard++) await work(shard);
  };
  return {
    ...made,
    clock,
    async collect() {
      const report = emptyCollectReport();
      await eachShard(async (shard) => {
        while (await collectUploads(context, shard, report));
        while (await collectBlobs(context, shard, report));
      });
      while (await walkOrphans(context, report));
      return report;
    },
    async pack() {
      const report = emptyPackReport();
      await eachShard(async (shard) => {
        while (await packVolume(context, shard, report));
      });
      return report;
    },
    async scrub() {
      const report = emptyScrubReport();
      await eachShard(async (shard) => {
        let restart = true;
        while (await scrubStep(context, shard, 1e9, report, { restart })) restart = false;
      });
      return report;
    },
    async fsck(isDryRun = true) {
      const report = emptyFsckReport(isDryRun);
      await eachShard((shard) => checkShard(context, shard, report));
      await checkLocations(context, report);
      return report;
    },
    async version(bucket: Bucket, name: string): Promise<StoredVersion> {
      return value(await engine.getVersion(bucket, name));
    },
    async listKeys(location = 0) {
      const keys: string[] = [];
      for (let startAfter: string | undefined; ; ) {
        const page = await (context.locations[location] as R2Bucket).list({
          prefix: 'blobs/',
          ...(startAfter ? { startAfter } : {}),
        });
        keys.push(...page.objects.map((object) => object.key));
        if (!page.truncated) return keys;
        startAfter = keys.at(-1);
      }
    },
  };
}

describe.each([1, 3])('on %i shards', (shards) => {
  test('small objects are packed, read whole and by range out of volumes, and compacted when most are gone', async () => {
    const { engine, pack, collect, clock, fsck, context } = makeMovable(shards);
    const bucket = await makeBucket(engine);
    const contents = new Map(Array.from({ length: 60 }, (_, i) => [`n${i}`, patternOf(i * 250, i + 1)]));
    for (const [name, content] of contents) await put(engine, bucket, name, content);
    const source = value(await engine.getVersion(bucket, 'n5'));
    value(await engine.copyObject({ bucket, name: 'n5 copy', source, metadata: METADATA, tags: null, acl: null }));
    contents.set('n5 copy', patternOf(1250, 6));
    const packed = await pack();
    expect(packed.objects).toBeGreaterThanOrEqual(60);
    expect(await countRows(context, 'inline')).toBe(0);
    for (const [name, content] of contents) await expectContent(engine, bucket, name, content);
    const version = value(await engine.getVersion(bucket, 'n40'));
    expect(
      (await readAll(engine, version, { start: 100, end: 5000 })).equals(
        (contents.get('n40') as Uint8Array).slice(100, 5001),
      ),
    ).toBe(true);
    // A copy of what is packed names the same bytes of the volume.
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

  test('a deleted object goes after the grace, and a read that began before finishes', async () => {
    const { engine, collect, clock, listKeys, version, fsck } = makeMovable(shards);
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

  test('everything an upload leaves behind goes: replaced and unnamed parts, aborted and abandoned uploads', async () => {
    const { engine, collect, clock, listKeys, context, fsck } = makeMovable(shards);
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

  test('an orphan goes after two rounds a day apart, and a day later from the second location', async () => {
    const { collect, clock, context, fsck } = makeMovable(shards);
    for (let shard = 0; shard < shards; shard++) await maintainShard(context, shard);
    await collect();
    const key = toBlobKey(crypto.randomUUID());
    for (const location of context.locations) await location.put(key, 'nobody knows me');
    const isThere = async () =>
      await Promise.all(context.locations.map(async (each) => (await each.head(key)) !== null));
    expect(await collect()).toMatchObject({ orphans_found: 0 });
    clock.offsetMs = 2 * HOUR;
    expect(await fsck()).toMatchObject({ orphans: 2 });
    await collect();
    clock.offsetMs = 25 * HOUR;
    expect(await collect()).toMatchObject({ orphans_removed: 0 });
    expect(await isThere()).toEqual([true, true]);
    clock.offsetMs = 27 * HOUR;
    expect(await collect()).toMatchObject({ orphans_removed: 1 });
    expect(await isThere()).toEqual([false, true]);
    clock.offsetMs = 52 * HOUR;
    await collect();
    expect(await isThere()).toEqual([false, false]);
    expect(await fsck()).toMatchObject({ orphans: 0 });
  });

  test('an upload that takes so long that its first blobs pass for orphans is refused, not acknowledged without them', async () => {
    const { engine, context, clock, collect } = makeMovable(shards);
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

  describe('rot', () => {
    const rot = {
      'a flipped byte': (bytes: Uint8Array) => {
        const rotten = bytes.slice();
        rotten[Math.floor(bytes.length / 2)] = (rotten[Math.floor(bytes.length / 2)] ?? 0) ^ 1;
        return rotten;
      },
      'a flipped first byte': (bytes: Uint8Array) => {
        const rotten = bytes.slice();
        rotten[0] = (rotten[0] ?? 0) ^ 128;
        return rotten;
      },
      'a cut end': (bytes: Uint8Array) => bytes.slice(0, Math.floor(bytes.length / 3)),
      'a longer end': (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.from('more')]),
      'no copy': () => null,
    };
    const damage = async (bucket: R2Bucket, key: string, how: (bytes: Uint8Array) => Uint8Array | null) => {
      const object = await bucket.get(key);
      const rotten = how(new Uint8Array((await object?.arrayBuffer()) ?? new ArrayBuffer(0)));
      if (rotten === null) await bucket.delete(key);
      else await bucket.put(key, rotten);
    };

    /** A blob, a part and a volume, each with the names that live in it. */
    const makeKinds = async (made: ReturnType<typeof makeMovable>) => {
      const { engine } = made;
      const bucket = await makeBucket(engine);
      const small = patternOf(9_000, 7);
      await put(engine, bucket, 'packed', small);
      await made.pack();
      const big = patternOf(1_500_000, 8);
      await put(engine, bucket, 'blob', big);
      const { uploadId } = value(await engine.createUpload({ bucket, name: 'multipart', metadata: METADATA }));
      const parts = [];
      for (const partNumber of [1, 2]) {
        parts.push(
          value(
            await engine.putPart({
              bucket,
              name: 'multipart',
              uploadId,
              partNumber,
              body: patternOf(700_000, partNumber),
              size: 700_000,
            }),
          ),
        );
      }
      value(await engine.completeUpload({ bucket, name: 'multipart', uploadId, parts, partBytesMin: 0 }));
      const whole = Buffer.concat([patternOf(700_000, 1), patternOf(700_000, 2)]);
      return { bucket, contents: { packed: small, blob: big, multipart: whole } as Record<string, Uint8Array> };
    };

    test.each(Object.entries(rot))('%s in one location: reads stay right and the scrubber repairs', async (_, how) => {
      const made = makeMovable(shards);
      const { engine, context, scrub, fsck } = made;
      const { bucket, contents } = await makeKinds(made);
      for (const location of [0, 1]) {
        const keys = new Set<string>();
        for (const name of Object.keys(contents)) {
          for (const extent of (await made.version(bucket, name)).handle.extents) keys.add(toBlobKey(extent.blobId));
        }
        expect(keys.size).toBe(4);
        for (const key of keys) await damage(context.locations[location] as R2Bucket, key, how);
        for (const [name, content] of Object.entries(contents)) {
          await expectContent(engine, bucket, name, content);
          const version = await made.version(bucket, name);
          const range = { start: Math.floor(content.length / 2) - 3, end: content.length - 2 };
          expect((await readAll(engine, version, range)).equals(content.slice(range.start, range.end + 1))).toBe(true);
        }
        const report = await scrub();
        expect(report.bad_copies + report.missing_copies).toBe(4);
        expect(report).toMatchObject({ repaired_copies: 4, lost_blobs: 0, lost_versions: [] });
        expect(await scrub()).toMatchObject({ bad_copies: 0, missing_copies: 0, repaired_copies: 0 });
      }
      expect(await fsck()).toMatchObject(CLEAN_FSCK);
    });

    test.each(Object.entries(rot))('%s in every location is reported and never served', async (_, how) => {
      const made = makeMovable(shards);
      const { engine, context, scrub } = made;
      const { bucket, contents } = await makeKinds(made);
      for (const name of Object.keys(contents)) {
        for (const extent of (await made.version(bucket, name)).handle.extents) {
          for (const location of context.locations) await damage(location, toBlobKey(extent.blobId), how);
        }
      }
      const isHarmless = _ === 'a longer end' || _ === 'a flipped byte';
      const readWhole = async (name: string, content: Uint8Array) => {
        const body = await engine.readVersion(await made.version(bucket, name));
        if (!body.ok) return 'refused';
        // What was begun is broken off, never finished with other bytes.
        const bytes = await new Response(body.value).arrayBuffer().then(
          (b) => Buffer.from(b),
          () => null,
        );
        if (bytes === null) return 'broken off';
        expect(bytes.equals(content)).toBe(true);
        return 'right';
      };
      for (const [name, content] of Object.entries(contents)) {
        const outcome = await readWhole(name, content);
        if (!isHarmless) expect(['refused', 'broken off']).toContain(outcome);
      }
      const report = await scrub();
      if (_ === 'a longer end') expect(report.repaired_copies).toBe(8);
      else {
        expect(report.lost_blobs).toBe(4);
        expect(new Set(report.lost_versions.map((lost) => lost.name)).size).toBeGreaterThanOrEqual(3);
        for (const name of ['blob', 'multipart']) {
          expect(failure(await engine.readVersion(await made.version(bucket, name)))).toEqual({ kind: 'data_lost' });
        }
      }
      // Leave nothing rotten behind for the tests that follow.
      for (const name of Object.keys(contents)) value(await engine.deleteObject(bucket, { name }));
      made.clock.offsetMs = 3 * HOUR;
      await made.collect();
    });

    test('different segments bad in different locations are still one good object', async () => {
      const made = makeMovable(shards);
      const { engine, context, scrub } = made;
      const bucket = await makeBucket(engine);
      const content = patternOf(1_000_000, 5);
      await put(engine, bucket, 'x', content);
      const key = toBlobKey((await made.version(bucket, 'x')).handle.extents[0]?.blobId ?? '');
      for (const [location, at] of [
        [0, 10],
        [1, 300_000],
        [0, 600_000],
        [1, 900_000],
      ] as const) {
        await damage(context.locations[location] as R2Bucket, key, (bytes) => {
          const rotten = bytes.slice();
          rotten[at] = (rotten[at] ?? 0) ^ 255;
          return rotten;
        });
      }
      await expectContent(engine, bucket, 'x', content);
      expect(await scrub()).toMatchObject({ bad_copies: 2, repaired_copies: 2, lost_blobs: 0 });
      expect(await scrub()).toMatchObject({ bad_copies: 0 });
    });

    test('inline bytes that were flipped, cut or are gone are reported and never served', async () => {
      const made = makeMovable(shards);
      const { engine, context, scrub, fsck } = made;
      const bucket = await makeBucket(engine);
      const damages = {
        flipped: "UPDATE inline SET data = 'QRECIOUS' WHERE",
        cut: "UPDATE inline SET data = 'PREC' WHERE",
        gone: 'DELETE FROM inline WHERE',
      };
      for (const [name, sql] of Object.entries(damages)) {
        await put(engine, bucket, name, Buffer.from('PRECIOUS', 'base64'));
        for (const database of context.shards) await database.prepare(`${sql} name = CAST('${name}' AS BLOB)`).run();
        expect(failure(await engine.readVersion(await made.version(bucket, name)))).toEqual({ kind: 'data_lost' });
      }
      const { inline_damaged: damaged, lost_versions: lost } = await scrub();
      expect(damaged).toBe(2);
      expect(lost.map((version) => version.name).sort()).toEqual(['cut', 'flipped']);
      expect((await fsck()).versions_incomplete).toBe(1);
      for (const name of Object.keys(damages)) value(await engine.deleteObject(bucket, { name }));
    });
  });

  test('a scrub goes on where it stopped, and not again before its time', async () => {
    const made = makeMovable(shards);
    const { engine, context } = made;
    const bucket = await makeBucket(engine);
    for (let i = 0; i < 6; i++) await put(engine, bucket, `x${i}`, patternOf(100_000, i));
    const total = emptyScrubReport();
    await scrubStep(context, 0, 1, total, { restart: true });
    expect(total.blobs).toBe(1);
    let steps = 1;
    while (await scrubStep(context, 0, 150_000, total)) steps++;
    expect(steps).toBeGreaterThan(1);
    expect(total.blobs).toBe((await measureShard(context, 0)).stats.blobs);
    made.clock.offsetMs = 31 * 24 * HOUR;
    expect(await scrubStep(context, 0, 1, total)).toBe(true);
  });

  test('a scrub keeps step with the clock, however much there is', async () => {
    const { engine, context, clock } = makeMovable(shards);
    const bucket = await makeBucket(engine);
    for (let i = 0; i < 40; i++) await put(engine, bucket, `x${i}`, patternOf(17_000, i));
    const shard = bucket.placement.shards[0] ?? 0;
    const { blobs: all } = (await measureShard(context, shard)).stats;
    const report = emptyScrubReport();
    await scrubStep(context, shard, 1e12, report, { restart: true, isPaced: true });
    expect(report.blobs).toBe(0);
    for (const days of [3, 9, 15]) {
      clock.offsetMs = days * 24 * HOUR;
      await scrubStep(context, shard, 1e12, report, { isPaced: true });
      const ids = await context.shards[shard]
        ?.prepare('SELECT count(*) AS n FROM blob WHERE hex(blob_id) <= ?1')
        .bind(paceOf(days, 30)?.toUpperCase() ?? '')
        .first<number>('n');
      expect(report.blobs).toBe(ids);
    }
    expect(report.blobs).toBeLessThan(all);
    clock.offsetMs = 30.1 * 24 * HOUR;
    // The next one begins, and nothing of the last was left out.
    await scrubStep(context, shard, 1e12, report);
    expect(report.blobs).toBe(all);
  });

  test('fsck finds what does not fit, changes nothing by itself, and repairs when told to', async () => {
    const made = makeMovable(shards);
    const { engine, context, fsck } = made;
    const bucket = await makeBucket(engine);
    await put(engine, bucket, 'x', patternOf(100_000));
    await put(engine, bucket, 'y', 'small');
    expect(await fsck()).toMatchObject(CLEAN_FSCK);
    const version = await made.version(bucket, 'x');
    const database = context.shards[version.handle.shard] as D1Database;
    await database.batch([
      database
        .prepare('UPDATE version SET live = 0 WHERE bucket = (SELECT n FROM bucket WHERE bucket_id = ?1)')
        .bind(bucket.bucketId),
      database.prepare(
        "INSERT INTO inline(object_id, bucket, name, ord, size, crc32, data) VALUES (randomblob(16), 1, x'61', x'00', 1, 0, 'YQ==')",
      ),
      database.prepare(
        'INSERT INTO extent(object_id, start, length, blob_id, blob_start) SELECT randomblob(16), 0, 10, blob_id, 0 FROM blob LIMIT 1',
      ),
      database.prepare(
        "INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, created_at) VALUES (randomblob(16), 'object', 5, x'', x'', 0, 0)",
      ),
    ]);
    await context.locations[1]?.delete(toBlobKey(version.handle.extents[0]?.blobId ?? ''));
    const found = await fsck();
    expect(found).toMatchObject({ inline_dangling: 1, extents_dangling: 1, blobs_unreferenced: 1, repaired: 0 });
    expect(found.names_misdirected).toBeGreaterThan(0);
    expect(found.copies_missing).toBeGreaterThanOrEqual(1);
    expect(await fsck()).toMatchObject({ ...found, examples: expect.anything() });
    // A page a request, of a page size that makes many, with a strange key at either end: it comes to the same.
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

  test('stats count what is there', async () => {
    const made = makeMovable(shards);
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
    // Stopped after every page, it comes to the same.
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
