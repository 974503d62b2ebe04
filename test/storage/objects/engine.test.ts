import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { err, ok } from '../../../workers/shared/pure/result.ts';
import { epochMsOf, toVersionOrder } from '../../../workers/storage/domain/version-order.ts';
import {
  bytesOf,
  expectContent,
  failure,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  value,
} from './harness.ts';

describe.each([1, 3])('on %i shards', (shards) => {
  const { engine, context } = makeEngine({ shards });

  test('creates a bucket, finds it, lists it for its owner and deletes it', async () => {
    const bucket = await makeBucket(engine);
    expect(bucket.versioning).toBe('never');
    expect(failure(await engine.createBucket({ name: bucket.name, ownerId: 'u2' }))).toEqual({
      kind: 'bucket_exists',
      ownerId: 'u1',
    });
    const listed = value(await engine.listBuckets({ ownerId: 'u1', limit: 1000 }));
    expect(listed.buckets.map(({ name }) => name)).toContain(bucket.name);
    value(await engine.setConfiguration(bucket, 'policy', '{"a":"é\\u0000"}'));
    expect(value(await engine.getBucket(bucket.name)).configuration).toEqual({ policy: '{"a":"é\\u0000"}' });
    value(await engine.setConfiguration(bucket, 'policy', null));
    expect(value(await engine.getBucket(bucket.name)).configuration).toEqual({});
    await put(engine, bucket, 'a', '1');
    expect(failure(await engine.deleteBucket(bucket))).toEqual({ kind: 'bucket_not_empty' });
    await put(engine, bucket, 'b', 'after a delete that was refused');
    for (const name of ['a', 'b']) value(await engine.deleteObject(bucket, { name }));
    value(await engine.deleteBucket(bucket));
    expect(failure(await engine.getBucket(bucket.name))).toEqual({ kind: 'no_such_bucket' });
    const late = await engine.putObject({ bucket, name: 'late', body: bytesOf('x'), size: 1, metadata: METADATA });
    expect(failure(late)).toEqual({ kind: 'no_such_bucket' });
  });

  test('refuses a user more buckets than the limit', async () => {
    const limited = makeEngine({ shards, limits: { bucketsPerUserMax: 2 } }).engine;
    const ownerId = crypto.randomUUID();
    const create = () => limited.createBucket({ name: `limit-${crypto.randomUUID()}`, ownerId });
    value(await create());
    value(await create());
    expect(failure(await create())).toEqual({ kind: 'too_many_buckets', limit: 2 });
  });

  test.each([0, 1, 16 * 1024, 16 * 1024 + 1, 256 * 1024, 1024 * 1024, 1024 * 1024 + 1, 3_000_001])(
    'stores an object of %i bytes and returns it in full and by range',
    async (size) => {
      const bucket = await makeBucket(engine);
      const content = patternOf(size);
      const facts = await put(engine, bucket, 'x', content);
      expect(facts.etag).toBe(createHash('md5').update(content).digest('hex'));
      expect(facts.sha256).toBe(createHash('sha256').update(content).digest('hex'));
      await expectContent(engine, bucket, 'x', content);
      const version = value(await engine.getVersion(bucket, 'x'));
      expect(version).toMatchObject({
        size,
        isNull: true,
        isLatest: true,
        metadata: METADATA,
        versionId: facts.versionId,
      });
      for (const [start, end] of [
        [0, 0],
        [size - 1, size - 1],
        [Math.floor(size / 3), Math.floor(size / 2)],
        [262143, 262144],
      ] as const) {
        if (start < 0 || start > end || end >= size) continue;
        expect((await readAll(engine, version, { start, end })).equals(content.slice(start, end + 1))).toBe(true);
      }
    },
  );

  test('returns the bytes of a stream, whether its length is known or not', async () => {
    const bucket = await makeBucket(engine);
    const content = patternOf(20_000_000, 7);
    const stream = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < content.length; at += 70_001) controller.enqueue(content.subarray(at, at + 70_001));
          controller.close();
        },
      });
    value(await engine.putObject({ bucket, name: 'known', body: stream(), size: content.length, metadata: METADATA }));
    const unknown = value(
      await engine.putObject({ bucket, name: 'unknown', body: stream(), size: null, metadata: METADATA }),
    );
    expect(unknown).toMatchObject({ size: content.length, etag: createHash('md5').update(content).digest('hex') });
    await expectContent(engine, bucket, 'known', content);
    await expectContent(engine, bucket, 'unknown', content);
  });

  test('stores nothing if a body is too short, too long or breaks off', async () => {
    const bucket = await makeBucket(engine);
    const content = patternOf(2_000_000);
    const of = (length: number, breaks = false) =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(content.subarray(0, length));
          if (breaks) controller.error(new Error('bad chunk'));
          else controller.close();
        },
      });
    const request = { bucket, name: 'x', metadata: METADATA };
    for (const size of [10, 100_000, 1_500_000]) {
      const short = await engine.putObject({ ...request, body: of(size - 1), size });
      expect(failure(short)).toMatchObject({ kind: 'body_incomplete', received: size - 1, expected: size });
      expect(failure(await engine.putObject({ ...request, body: of(size + 1), size }))).toMatchObject({
        kind: 'body_incomplete',
      });
      const broken = failure(await engine.putObject({ ...request, body: of(size - 1, true), size }));
      expect(broken).toMatchObject({ kind: 'body_failed', cause: new Error('bad chunk') });
      const refused = await engine.putObject({
        ...request,
        body: of(size),
        size,
        verify: () => err('BadDigest' as const),
      });
      expect(failure(refused)).toEqual({ kind: 'refused', error: 'BadDigest' });
    }
    expect(failure(await engine.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
  });

  test('passes requested checksums to `verify` and returns them with the version', async () => {
    const bucket = await makeBucket(engine);
    const content = bytesOf('123456789');
    value(
      await engine.putObject({
        bucket,
        name: 'x',
        body: content,
        size: 9,
        metadata: METADATA,
        checksums: ['CRC32C', 'CRC64NVME'],
        verify: ({ checksums }) => {
          expect(checksums).toMatchObject({ CRC32: 'y/Q5Jg==', CRC32C: '4waSgw==', CRC64NVME: 'rosUhgp5mIg=' });
          return ok({ checksums: { CRC32C: checksums.CRC32C ?? '' } });
        },
      }),
    );
    expect(value(await engine.getVersion(bucket, 'x'))).toMatchObject({
      checksums: { CRC32C: '4waSgw==' },
      checksumType: 'FULL_OBJECT',
    });
  });

  test('keeps versions, hides them behind a marker, and shows the newest again once the marker is deleted', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const first = await put(engine, bucket, 'x', 'one');
    const second = await put(engine, bucket, 'x', patternOf(50_000));
    expect(second.versionId > first.versionId || second.modifiedAt >= first.modifiedAt).toBe(true);
    await expectContent(engine, bucket, 'x', patternOf(50_000));
    await expectContent(engine, bucket, 'x', 'one', first.versionId);
    const marker = value(await engine.deleteObject(bucket, { name: 'x' }));
    expect(marker).toMatchObject({ isMarker: true, isNull: false });
    const current = value(await engine.getVersion(bucket, 'x'));
    expect(current).toMatchObject({ isMarker: true, isLatest: true, objectId: '00000000-0000-0000-0000-000000000000' });
    expect(value(await engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 10 })).entries).toEqual(
      [],
    );
    const gone = value(await engine.deleteObject(bucket, { name: 'x', versionId: marker.versionId ?? '' }));
    expect(gone).toMatchObject({ isMarker: true, existed: true });
    await expectContent(engine, bucket, 'x', patternOf(50_000));
    value(await engine.deleteObject(bucket, { name: 'x', versionId: second.versionId }));
    await expectContent(engine, bucket, 'x', 'one');
    expect(value(await engine.getVersion(bucket, 'x')).isLatest).toBe(true);
    expect(failure(await engine.getVersion(bucket, 'x', { versionId: second.versionId }))).toEqual({
      kind: 'no_such_version',
    });
  });

  test('keeps one null version beside the earlier ones in a suspended bucket', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const kept = await put(engine, bucket, 'x', 'kept');
    value(await engine.setVersioning(bucket, 'suspended'));
    const suspended = value(await engine.getBucket(bucket.name));
    await put(engine, suspended, 'x', 'null 1');
    const stale = await put(engine, bucket, 'x', 'null 2, by a caller who still thinks that versions are on');
    expect(stale.isNull).toBe(true);
    await expectContent(engine, suspended, 'x', 'null 2, by a caller who still thinks that versions are on', 'null');
    await expectContent(engine, suspended, 'x', 'kept', kept.versionId);
    expect(value(await engine.deleteObject(suspended, { name: 'x' }))).toMatchObject({ isMarker: true, isNull: true });
    expect(value(await engine.getVersion(suspended, 'x', { versionId: 'null' })).isMarker).toBe(true);
    value(await engine.deleteObject(suspended, { name: 'x', versionId: 'null' }));
    await expectContent(engine, suspended, 'x', 'kept');
  });

  test('lets exactly one of 50 concurrent creators win', async () => {
    const bucket = await makeBucket(engine);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        engine.putObject({
          bucket,
          name: 'x',
          body: bytesOf(`writer ${i}`),
          size: `writer ${i}`.length,
          metadata: METADATA,
          condition: { absent: true },
        }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    for (const outcome of outcomes) if (!outcome.ok) expect(outcome.error).toEqual({ kind: 'precondition_failed' });
  });

  test('decides conditions against the current version', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const request = { bucket, name: 'x', body: bytesOf('new'), size: 3, metadata: METADATA };
    expect(failure(await engine.putObject({ ...request, condition: { etags: ['*'] } }))).toEqual({
      kind: 'no_such_key',
    });
    const facts = await put(engine, bucket, 'x', 'old');
    expect(failure(await engine.putObject({ ...request, condition: { etags: ['0'] } }))).toEqual({
      kind: 'precondition_failed',
    });
    expect(failure(await engine.putObject({ ...request, condition: { notEtags: [facts.etag] } }))).toEqual({
      kind: 'precondition_failed',
    });
    const second = Math.floor(facts.modifiedAt / 1000);
    for (const condition of [{ size: 4 }, { modifiedAtSeconds: second - 1 }, { modifiedAtSeconds: second + 1 }]) {
      expect(failure(await engine.deleteObject(bucket, { name: 'x', condition }))).toEqual({
        kind: 'precondition_failed',
      });
    }
    value(await engine.putObject({ ...request, condition: { etags: ['0', facts.etag] } }));
    const newest = value(await engine.getVersion(bucket, 'x'));
    const condition = { size: 3, etags: [newest.etag], modifiedAtSeconds: Math.floor(newest.modifiedAt / 1000) };
    value(await engine.deleteObject(bucket, { name: 'x', condition }));
    expect(failure(await engine.putObject({ ...request, condition: { etags: ['*'] } }))).toEqual({
      kind: 'no_such_key',
    });
    value(await engine.putObject({ ...request, condition: { absent: true } }));
  });

  test('orders versions after one that a fast clock wrote and that was deleted, even if the next clock is a day behind', async () => {
    const HOUR = 3_600_000;
    const at = (offsetMs: number) => makeEngine({ shards, now: () => Date.now() + offsetMs }).engine;
    const [fast, slow] = [at(HOUR), at(-24 * HOUR)];
    for (const versioning of ['never', 'enabled', 'suspended'] as const) {
      const bucket = await makeBucket(engine, versioning);
      const versions: string[] = [];
      const write = async (by: typeof engine, name: string) => {
        versions.push((await put(by, bucket, name, 'x')).versionId);
      };
      await write(engine, 'a');
      await write(fast, 'a');
      value(await slow.deleteObject(bucket, { name: 'a', versionId: versions.at(-1) as string }));
      await write(slow, 'a');
      const marker = value(await slow.deleteObject(bucket, { name: 'a' }));
      if (marker.versionId !== null) versions.push(marker.versionId);
      await write(slow, 'a');
      await write(engine, 'a');
      const orders = versions.map(toVersionOrder);
      expect(orders, versioning).toEqual([...orders].sort().reverse());
      await write(slow, 'b');
      expect(epochMsOf(versions.at(-1) ?? '')).toBeGreaterThan(Date.now() - 120_000);
    }
  });

  test('keeps as many versions of concurrent uploads as were acknowledged, even if clocks disagree', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const isolates = [-3_600_000, 0, 3_600_000].map(
      (offset) => makeEngine({ shards, now: () => Date.now() + offset }).engine,
    );
    const order: string[] = [];
    for (let round = 0; round < 3; round++) {
      const facts = await Promise.all(isolates.map((isolate, i) => put(isolate, bucket, 'x', `${round} ${i}`)));
      order.push(...facts.map(({ versionId }) => versionId));
      const last = await put(isolates[0] as typeof engine, bucket, 'x', `last of ${round}`);
      expect(value(await engine.getVersion(bucket, 'x')).versionId).toBe(last.versionId);
      order.push(last.versionId);
    }
    const { entries } = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 }));
    expect(entries).toHaveLength(12);
    expect(new Set(entries.map((entry) => (entry.kind === 'item' ? entry.item.versionId : '')))).toEqual(
      new Set(order),
    );
  });

  test('keeps a copy when its source is deleted, and does not duplicate bytes', async () => {
    const bucket = await makeBucket(engine);
    for (const content of [bytesOf('small'), patternOf(300_000), new Uint8Array(0)]) {
      await put(engine, bucket, 'source', content);
      const source = value(await engine.getVersion(bucket, 'source'));
      const copied = value(
        await engine.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: { a: '1' }, acl: null }),
      );
      expect(copied.etag).toBe(source.etag);
      value(await engine.copyObject({ bucket, name: 'source', source, metadata: METADATA, tags: null, acl: null }));
      await expectContent(engine, bucket, 'source', content);
      value(await engine.deleteObject(bucket, { name: 'source' }));
      await expectContent(engine, bucket, 'copy', content);
      expect(
        failure(await engine.copyObject({ bucket, name: 'other', source, metadata: METADATA, tags: null, acl: null })),
      ).toBeDefined();
    }
  });

  test('changes tags and ACL of a version in place', async () => {
    const bucket = await makeBucket(engine);
    await put(engine, bucket, 'x', '1');
    const version = value(await engine.getVersion(bucket, 'x'));
    value(await engine.setTags(version, { colour: 'blue' }));
    value(await engine.setAcl(version, '<acl/>'));
    expect(value(await engine.getVersion(bucket, 'x'))).toMatchObject({ tags: { colour: 'blue' }, acl: '<acl/>' });
    value(await engine.deleteObject(bucket, { name: 'x' }));
    expect(failure(await engine.setTags(version, null))).toEqual({ kind: 'no_such_version' });
  });

  test('deletes many names in one call, each with its own outcome', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const names = ['a', 'b/c', 'd\u0000e', '😀'];
    const facts = await Promise.all(names.map((name) => put(engine, bucket, name, name)));
    const outcomes = await engine.deleteObjects(bucket, [
      { name: 'a' },
      { name: 'b/c', versionId: facts[1]?.versionId ?? '' },
      { name: 'd\u0000e', versionId: 'null' },
      { name: '😀' },
      { name: '😀', versionId: facts[3]?.versionId ?? '' },
      { name: 'never there', versionId: facts[0]?.versionId ?? '' },
      { name: 'a', versionId: 'no version' },
    ]);
    expect(outcomes.map((outcome) => value(outcome).existed)).toEqual([false, true, false, false, true, false, false]);
    expect(outcomes.map((outcome) => value(outcome).isMarker)).toEqual([true, false, false, true, false, false, false]);
    const left = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 })).entries;
    expect(
      left.map((entry) => entry.kind === 'item' && [entry.item.name, entry.item.isMarker, entry.item.isLatest]),
    ).toEqual([
      ['a', true, true],
      ['a', false, false],
      ['d\u0000e', false, true],
      ['😀', true, true],
    ]);
  });

  test('uses an early read only if the bucket is still the same one', async () => {
    const bucket = await makeBucket(engine);
    await put(engine, bucket, 'x', 'first');
    const early = engine.beginRead(bucket.name, 'x');
    expect(value(await early.open(bucket)).size).toBe(5);
    value(await engine.deleteObject(bucket, { name: 'x' }));
    value(await engine.deleteBucket(bucket));
    const again = value(await engine.createBucket({ name: bucket.name, ownerId: 'u1' }));
    await put(engine, again, 'x', 'the second one');
    context.memory.placements.set(bucket.name, bucket);
    const stale = engine.beginRead(bucket.name, 'x');
    expect(value(await stale.open(value(await engine.getBucket(bucket.name)))).size).toBe(14);
    // A new isolate has only the name of the bucket.
    const { engine: other } = makeEngine();
    expect(value(await other.beginRead(bucket.name, 'x').openProven(again, null)).size).toBe(14);
    expect(failure(await other.beginRead(bucket.name, 'x').openProven(bucket, null)).kind).toBe('unproven');
  });
});
