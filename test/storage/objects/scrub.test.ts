import { beforeEach, describe, expect, test } from 'vitest';
import { toBlobKey } from '../../../workers/storage/engine/blobs/locations.ts';
import { paceOf, scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { measureShard } from '../../../workers/storage/maintenance/stats.ts';
import { CLEAN_FSCK } from '../../support/storage/clean-fsck.ts';
import { expectContent, failure, METADATA, makeBucket, patternOf, put, readAll, value, wipe } from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

const HOUR = 3_600_000;

describe.each([1, 3])('on %i shards', (shards) => {
  describe('corruption', () => {
    const corruptions = {
      'a flipped byte': (bytes: Uint8Array) => {
        const damaged = bytes.slice();
        damaged[Math.floor(bytes.length / 2)] = (damaged[Math.floor(bytes.length / 2)] ?? 0) ^ 1;
        return damaged;
      },
      'a flipped first byte': (bytes: Uint8Array) => {
        const damaged = bytes.slice();
        damaged[0] = (damaged[0] ?? 0) ^ 128;
        return damaged;
      },
      'a cut end': (bytes: Uint8Array) => bytes.slice(0, Math.floor(bytes.length / 3)),
      'a longer end': (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.from('more')]),
      'no copy': () => null,
    };
    const damage = async (bucket: R2Bucket, key: string, how: (bytes: Uint8Array) => Uint8Array | null) => {
      const object = await bucket.get(key);
      const damaged = how(new Uint8Array((await object?.arrayBuffer()) ?? new ArrayBuffer(0)));
      if (damaged === null) await bucket.delete(key);
      else await bucket.put(key, damaged);
    };

    /** Creates a blob, a part and a volume, each together with the names stored in it. */
    const makeKinds = async (made: ReturnType<typeof makeMaintainedEngine>) => {
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

    test.each(Object.entries(corruptions))(
      '%s in one location: reads stay correct and the scrubber repairs the copy',
      async (_, how) => {
        const made = makeMaintainedEngine(shards);
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
            expect((await readAll(engine, version, range)).equals(content.slice(range.start, range.end + 1))).toBe(
              true,
            );
          }
          const report = await scrub();
          expect(report.bad_copies + report.missing_copies).toBe(4);
          expect(report).toMatchObject({ repaired_copies: 4, lost_blobs: 0, lost_versions: [] });
          expect(await scrub()).toMatchObject({ bad_copies: 0, missing_copies: 0, repaired_copies: 0 });
        }
        expect(await fsck()).toMatchObject(CLEAN_FSCK);
      },
    );

    test.each(Object.entries(corruptions))('%s in every location is reported and never served', async (_, how) => {
      const made = makeMaintainedEngine(shards);
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
        // A read in progress must break off. It must never continue with wrong bytes.
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
      // Delete the damaged objects, so that later tests are not affected.
      for (const name of Object.keys(contents)) value(await engine.deleteObject(bucket, { name }));
      made.clock.offsetMs = 3 * HOUR;
      await made.collect();
    });

    test('an object with different damaged segments in different locations is still read correctly', async () => {
      const made = makeMaintainedEngine(shards);
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
          const damaged = bytes.slice();
          damaged[at] = (damaged[at] ?? 0) ^ 255;
          return damaged;
        });
      }
      await expectContent(engine, bucket, 'x', content);
      expect(await scrub()).toMatchObject({ bad_copies: 2, repaired_copies: 2, lost_blobs: 0 });
      expect(await scrub()).toMatchObject({ bad_copies: 0 });
    });

    test('inline bytes that are flipped, truncated or missing are reported and never served', async () => {
      const made = makeMaintainedEngine(shards);
      const { engine, context, scrub, fsck } = made;
      const bucket = await makeBucket(engine);
      const damages = {
        flipped: "UPDATE version SET data = 'QRECIOUS' WHERE",
        cut: "UPDATE version SET data = 'PREC' WHERE",
        gone: 'UPDATE version SET data = NULL WHERE',
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

  test('a scrub resumes where it stopped, and does not start again early', async () => {
    const made = makeMaintainedEngine(shards);
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

  test('a scrub keeps pace with the clock, whatever the amount of data', async () => {
    const { engine, context, clock } = makeMaintainedEngine(shards);
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
    // When the next scrub begins, the last one must have read every blob.
    await scrubStep(context, shard, 1e12, report);
    expect(report.blobs).toBe(all);
  });
});
