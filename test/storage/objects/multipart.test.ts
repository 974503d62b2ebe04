import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ok } from '../../../workers/shared/pure/result.ts';
import type { Bucket, PartFacts } from '../../../workers/storage/engine/index.ts';
import { collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import {
  bytesOf,
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
} from './harness.ts';

const md5 = (bytes: Uint8Array | string) => createHash('md5').update(bytes).digest('hex');

describe.each([1, 3])('on %i shards', (shards) => {
  const { engine, context } = makeEngine({ shards });

  const begin = async (bucket: Bucket, name: string) =>
    value(await engine.createUpload({ bucket, name, metadata: METADATA, tags: { t: '1' } }));
  const sendPart = async (bucket: Bucket, name: string, uploadId: string, partNumber: number, body: Uint8Array) =>
    value(await engine.putPart({ bucket, name, uploadId, partNumber, body, size: body.length }));
  const complete = (bucket: Bucket, name: string, uploadId: string, parts: readonly PartFacts[], more = {}) =>
    engine.completeUpload({
      bucket,
      name,
      uploadId,
      parts: parts.map(({ partNumber, etag }) => ({ partNumber, etag })),
      partBytesMin: 0,
      ...more,
    });

  test('a read of many parts that began before a delete finishes after the parts are removed', async () => {
    const bucket = await makeBucket(engine);
    const { uploadId } = await begin(bucket, 'long');
    const bodies = Array.from({ length: 70 }, (_, i) => patternOf(9_000 + i, i));
    const parts: PartFacts[] = [];
    for (const [i, body] of bodies.entries()) parts.push(await sendPart(bucket, 'long', uploadId, i + 1, body));
    value(await complete(bucket, 'long', uploadId, parts));
    const whole = Buffer.concat(bodies);
    const version = value(await engine.getVersion(bucket, 'long'));
    for (const start of [0, 290_000, 330_000]) {
      const range = { start, end: start + 299_999 };
      expect((await readAll(engine, version, range)).equals(whole.subarray(start, start + 300_000))).toBe(true);
    }
    const body = value(await engine.readVersion(version));
    value(await engine.deleteObject(bucket, { name: 'long' }));
    while (await collectUploads(context, version.handle.shard, emptyCollectReport()));
    expect(await countRows(context, `extent WHERE object_id = x'${version.objectId.replaceAll('-', '')}'`)).toBe(0);
    expect(Buffer.from(await new Response(body).arrayBuffer()).equals(whole)).toBe(true);
    // A read that begins now is too late and must fail before its first byte.
    expect(failure(await engine.readVersion(version))).toMatchObject({ kind: 'unavailable' });
  });

  test('parts of any size, out of order and repeated, become one object', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const name = 'big/ö';
    const { uploadId } = await begin(bucket, name);
    const contents = [patternOf(300_000, 1), patternOf(5, 2), patternOf(700_001, 3)];
    await sendPart(bucket, name, uploadId, 7, patternOf(9999, 9));
    const third = await sendPart(bucket, name, uploadId, 900, contents[2] as Uint8Array);
    const first = await sendPart(bucket, name, uploadId, 2, contents[0] as Uint8Array);
    const second = await sendPart(bucket, name, uploadId, 7, contents[1] as Uint8Array);
    await sendPart(bucket, name, uploadId, 8, bytesOf('never named'));
    const listed = value(await engine.listParts(bucket, name, uploadId, { after: 2, limit: 2 }));
    expect(listed.parts.map(({ partNumber, size }) => [partNumber, size])).toEqual([
      [7, 5],
      [8, 11],
    ]);
    expect(listed.isTruncated).toBe(true);
    const done = value(await complete(bucket, name, uploadId, [first, second, third]));
    const whole = Buffer.concat(contents);
    expect(done).toMatchObject({ size: whole.length, partCount: 3, tags: { t: '1' }, isNull: false });
    expect(done.etag).toBe(`${md5(Buffer.concat(contents.map((c) => createHash('md5').update(c).digest())))}-3`);
    await expectContent(engine, bucket, name, whole);
    const version = value(await engine.getVersion(bucket, name));
    expect(
      (await readAll(engine, version, { start: 299_990, end: 300_010 })).equals(whole.subarray(299_990, 300_011)),
    ).toBe(true);
    expect(value(await engine.findPart(version, 7))).toEqual({
      start: 300_000,
      end: 300_004,
      partNumber: 7,
      partCount: 3,
    });
    expect(value(await engine.findPart(version, 4))).toBeNull();
    const parts = value(await engine.listObjectParts(version, { after: 2, limit: 1 }));
    expect(parts).toMatchObject({ isTruncated: true, parts: [{ partNumber: 7, size: 5, etag: second.etag }] });
    const again = value(await complete(bucket, name, uploadId, [first, second, third]));
    expect(again.versionId).toBe(done.versionId);
    expect(failure(await complete(bucket, name, uploadId, [first, third]))).toEqual({ kind: 'no_such_upload' });
    expect(failure(await engine.abortUpload(bucket, name, uploadId))).toEqual({ kind: 'no_such_upload' });
    expect(
      value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 9 })).entries,
    ).toHaveLength(1);
  });

  test('a part list that does not match the uploaded parts completes nothing', async () => {
    const bucket = await makeBucket(engine);
    const { uploadId } = await begin(bucket, 'x');
    const one = await sendPart(bucket, 'x', uploadId, 1, bytesOf('one'));
    const two = await sendPart(bucket, 'x', uploadId, 2, bytesOf('two'));
    expect(failure(await complete(bucket, 'x', uploadId, [one, { ...two, etag: one.etag }]))).toEqual({
      kind: 'invalid_part',
      partNumber: 2,
    });
    expect(failure(await complete(bucket, 'x', uploadId, [one, two], { partBytesMin: 4 }))).toMatchObject({
      kind: 'part_too_small',
      partNumber: 1,
    });
    expect(failure(await complete(bucket, 'x', uploadId, [one, two], { size: 5 }))).toEqual({
      kind: 'size_mismatch',
      size: 6,
    });
    expect(failure(await complete(bucket, 'x', uploadId, [one], { condition: { etags: ['*'] } }))).toEqual({
      kind: 'no_such_key',
    });
    expect(failure(await complete(bucket, 'y', uploadId, [one]))).toEqual({ kind: 'no_such_upload' });
    expect(failure(await engine.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
    value(await complete(bucket, 'x', uploadId, [one, two]));
    await expectContent(engine, bucket, 'x', 'onetwo');
  });

  test('one of many concurrent completions takes effect and all return the same result', async () => {
    const bucket = await makeBucket(engine, 'enabled');
    const { uploadId } = await begin(bucket, 'x');
    const part = await sendPart(bucket, 'x', uploadId, 1, patternOf(100_000));
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => complete(bucket, 'x', uploadId, [part])));
    expect(new Set(outcomes.map((outcome) => value(outcome).versionId)).size).toBe(1);
    expect(
      value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 9 })).entries,
    ).toHaveLength(1);
  });

  test('an upload without bytes becomes an empty object', async () => {
    const bucket = await makeBucket(engine);
    const { uploadId } = await begin(bucket, 'empty');
    const part = await sendPart(bucket, 'empty', uploadId, 1, new Uint8Array(0));
    value(await complete(bucket, 'empty', uploadId, [part]));
    const version = value(await engine.getVersion(bucket, 'empty'));
    expect(await readAll(engine, version)).toHaveLength(0);
    expect(value(await engine.findPart(version, 1))).toEqual({ start: 0, end: -1, partNumber: 1, partCount: 1 });
  });

  test('checksums of parts combine to that of the whole object', async () => {
    const bucket = await makeBucket(engine);
    const contents = [patternOf(100_000, 4), patternOf(50_000, 5)];
    for (const [type, algorithm] of [
      ['FULL_OBJECT', 'CRC64NVME'],
      ['COMPOSITE', 'SHA256'],
    ] as const) {
      const { uploadId } = value(
        await engine.createUpload({
          bucket,
          name: 'x',
          metadata: METADATA,
          checksumAlgorithm: algorithm,
          checksumType: type,
        }),
      );
      const parts = await Promise.all(
        contents.map(async (body, i) =>
          value(
            await engine.putPart({
              bucket,
              name: 'x',
              uploadId,
              partNumber: i + 1,
              body,
              size: body.length,
              checksums: [algorithm],
              verify: ({ checksums }) => ok({ checksums: { [algorithm]: checksums[algorithm] ?? '' } }),
            }),
          ),
        ),
      );
      const named = (index: number, text?: string) => ({
        partNumber: index + 1,
        etag: parts[index]?.etag ?? '',
        checksum: { algorithm, value: text ?? parts[index]?.checksums[algorithm] ?? '' },
      });
      const wrong = { parts: [named(0), named(1, 'AAAA')] };
      expect(failure(await complete(bucket, 'x', uploadId, parts, wrong))).toEqual({
        kind: 'bad_checksum',
        partNumber: 2,
      });
      if (type === 'COMPOSITE') {
        const missing = { kind: 'checksum_missing', partNumber: 1, algorithm };
        expect(failure(await complete(bucket, 'x', uploadId, parts))).toEqual(missing);
        const other = { parts: [{ ...named(0), checksum: { algorithm: 'CRC32', value: 'AAAA' } }, named(1)] };
        expect(failure(await complete(bucket, 'x', uploadId, parts, other))).toEqual(missing);
      }
      const listed = type === 'COMPOSITE' ? { parts: [named(0), named(1)] } : {};
      expect(failure(await complete(bucket, 'x', uploadId, parts, { checksum: 'AAAA' }))).toEqual({
        kind: 'bad_checksum',
        partNumber: null,
      });
      const done = value(await complete(bucket, 'x', uploadId, parts, listed));
      const whole = await engine.putObject({
        bucket,
        name: 'y',
        body: Buffer.concat(contents),
        size: 150_000,
        metadata: METADATA,
        checksums: [algorithm],
        verify: ({ checksums }) => ok({ checksums }),
      });
      if (type === 'FULL_OBJECT') expect(done.checksums).toEqual({ [algorithm]: value(whole).checksums[algorithm] });
      else expect(done.checksums.SHA256).toMatch(/-2$/);
      expect(done.checksumType).toBe(type);
    }
  });

  test('a copy of a multipart object is one object: MD5 as ETag, no parts, a checksum of the whole', async () => {
    const bucket = await makeBucket(engine);
    const contents = [patternOf(300_000, 8), patternOf(70_000, 9)];
    const whole = Buffer.concat(contents);
    const sha256 = createHash('sha256').update(whole).digest();
    const { uploadId } = value(
      await engine.createUpload({
        bucket,
        name: 'source',
        metadata: METADATA,
        checksumAlgorithm: 'SHA256',
        checksumType: 'COMPOSITE',
      }),
    );
    const parts: { partNumber: number; etag: string; checksum: { algorithm: 'SHA256'; value: string } }[] = [];
    for (const [i, body] of contents.entries()) {
      const partNumber = i + 1;
      const request = { bucket, name: 'source', uploadId, partNumber, body, size: body.length };
      const { etag, checksums } = value(
        await engine.putPart({
          ...request,
          verify: ({ checksums }) => ok({ checksums: { SHA256: checksums.SHA256 ?? '' } }),
        }),
      );
      parts.push({ partNumber, etag, checksum: { algorithm: 'SHA256', value: checksums.SHA256 ?? '' } });
    }
    value(await engine.completeUpload({ bucket, name: 'source', uploadId, parts, partBytesMin: 0 }));
    const source = value(await engine.getVersion(bucket, 'source'));
    expect([source.partCount, source.etag]).toEqual([2, expect.stringMatching(/-2$/)]);
    // Copy to several names: on three shards, some of them are in the source's shard and some are not.
    for (const name of ['copy a', 'copy b', 'copy c', 'source']) {
      const blobs = await countRows(context, 'blob');
      const copied = value(
        await engine.copyObject({ bucket, name, source, metadata: METADATA, tags: null, acl: null }),
      );
      const facts = {
        etag: md5(whole),
        sha256: sha256.toString('hex'),
        partCount: null,
        checksums: { SHA256: sha256.toString('base64') },
        checksumType: 'FULL_OBJECT',
      };
      expect(copied).toMatchObject(facts);
      const found = value(await engine.getVersion(bucket, name));
      expect(found).toMatchObject(facts);
      expect(value(await engine.findPart(found, 2))).toBeNull();
      expect(value(await engine.listObjectParts(found, { after: 0, limit: 10 })).parts).toEqual([]);
      if (found.handle.shard === source.handle.shard) expect(await countRows(context, 'blob')).toBe(blobs);
      await expectContent(engine, bucket, name, whole);
    }
  });

  test('a part copied from an object moves no bytes and outlives its source', async () => {
    const bucket = await makeBucket(engine);
    const content = patternOf(2_000_000, 6);
    // Use the same name for source and target, because it puts both in one shard.
    const first = await begin(bucket, 'target');
    const halves = [
      await sendPart(bucket, 'target', first.uploadId, 1, content.subarray(0, 1_200_000)),
      await sendPart(bucket, 'target', first.uploadId, 2, content.subarray(1_200_000)),
    ];
    value(await complete(bucket, 'target', first.uploadId, halves));
    const source = value(await engine.getVersion(bucket, 'target'));
    const blobsBefore = await countRows(context, 'blob');
    const { uploadId } = await begin(bucket, 'target');
    const ranges = [
      { start: 1_000_000, end: 1_999_999 },
      { start: 5, end: 1_199_999 },
    ];
    const parts = await Promise.all(
      ranges.map(async (range, i) =>
        value(await engine.copyPart({ bucket, name: 'target', uploadId, partNumber: i + 1, source, range })),
      ),
    );
    const third = value(
      await engine.copyPart({ bucket, name: 'target', uploadId, partNumber: 3, source, checksum: 'CRC32' }),
    );
    expect(third.etag).toBe(md5(content));
    expect(await countRows(context, 'blob')).toBe(blobsBefore);
    value(await complete(bucket, 'target', uploadId, [...parts, third]));
    await expectContent(
      engine,
      bucket,
      'target',
      Buffer.concat([content.subarray(1_000_000), content.subarray(5, 1_200_000), content]),
    );
  });

  test('a part copied from a small object or another shard is written again', async () => {
    const bucket = await makeBucket(engine);
    for (let i = 0; i < 4; i++) await put(engine, bucket, `source ${i}`, i === 0 ? 'small' : patternOf(40_000, i));
    const { uploadId } = await begin(bucket, 'target');
    const parts: PartFacts[] = [];
    for (let i = 0; i < 4; i++) {
      const source = value(await engine.getVersion(bucket, `source ${i}`));
      parts.push(value(await engine.copyPart({ bucket, name: 'target', uploadId, partNumber: i + 1, source })));
    }
    value(await complete(bucket, 'target', uploadId, parts));
    await expectContent(
      engine,
      bucket,
      'target',
      Buffer.concat([bytesOf('small'), ...[1, 2, 3].map((i) => patternOf(40_000, i))]),
    );
  });

  test('an aborted upload accepts no more parts', async () => {
    const bucket = await makeBucket(engine);
    const { uploadId } = await begin(bucket, 'x');
    await sendPart(bucket, 'x', uploadId, 1, bytesOf('1'));
    value(await engine.abortUpload(bucket, 'x', uploadId));
    const late = await engine.putPart({ bucket, name: 'x', uploadId, partNumber: 2, body: bytesOf('2'), size: 1 });
    expect(failure(late)).toEqual({ kind: 'no_such_upload' });
    expect(failure(await engine.listParts(bucket, 'x', uploadId, { after: 0, limit: 10 }))).toEqual({
      kind: 'no_such_upload',
    });
  });

  test('uploads are listed by name, then by start time, with common prefixes', async () => {
    const bucket = await makeBucket(engine);
    const names = ['a', 'a', 'b/1', 'b/2', 'c', 'd/x'];
    const ids: string[] = [];
    for (const name of names) {
      ids.push((await begin(bucket, name)).uploadId);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const seen: string[] = [];
    let from = '';
    let uploadsAfter: string | undefined;
    for (let page = 0; page < 10; page++) {
      const listed = value(
        await engine.listUploads({
          bucket,
          prefix: '',
          delimiter: '/',
          from,
          limit: 1,
          ...(uploadsAfter === undefined ? {} : { uploadsAfter }),
        }),
      );
      for (const entry of listed.entries)
        seen.push(entry.kind === 'prefix' ? entry.prefix : `${entry.item.name} ${ids.indexOf(entry.item.uploadId)}`);
      if (listed.next === null) break;
      from = listed.next;
      uploadsAfter = listed.nextUpload ?? undefined;
    }
    expect(seen).toEqual(['a 0', 'a 1', 'b/', 'c 4', 'd/']);
  });
});

test('completing 10,000 parts is one batch, and a read of the end seeks to it', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine);
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'x', metadata: METADATA }));
  const one = value(
    await engine.putPart({ bucket, name: 'x', uploadId, partNumber: 1, body: patternOf(1000, 3), size: 1000 }),
  );
  // Insert the other 9,999 parts as rows that refer to the blob of the first. Uploading each would take minutes without testing more.
  const database = context.shards[0] as D1Database;
  await database.batch([
    database
      .prepare(
        `INSERT INTO part(upload_id, part_number, object_id, size, etag, checksums, modified_at)
      SELECT p.upload_id, a.value, randomblob(16), p.size, p.etag, p.checksums, p.modified_at FROM generate_series_of_parts a CROSS JOIN part p WHERE p.upload_id = ?1 AND p.part_number = 1`.replace(
          'generate_series_of_parts',
          `json_each('[${Array.from({ length: 9999 }, (_, i) => i + 2).join()}]')`,
        ),
      )
      .bind(uploadId),
    database
      .prepare(`INSERT INTO extent(object_id, start, length, blob_id, blob_start) SELECT q.object_id, 0, e.length, e.blob_id, e.blob_start
      FROM part p CROSS JOIN extent e CROSS JOIN part q WHERE p.upload_id = ?1 AND p.part_number = 1 AND e.object_id = p.object_id AND q.upload_id = ?1 AND q.part_number > 1`)
      .bind(uploadId),
  ]);
  const parts = Array.from({ length: 10_000 }, (_, i) => ({ partNumber: i + 1, etag: one.etag }));
  const done = value(await engine.completeUpload({ bucket, name: 'x', uploadId, parts, partBytesMin: 0 }));
  expect(done).toMatchObject({ size: 10_000_000, partCount: 10_000 });
  const version = value(await engine.getVersion(bucket, 'x'));
  expect(
    (await readAll(engine, version, { start: 9_998_990, end: 9_999_009 })).equals(
      Buffer.concat([patternOf(1000, 3).slice(990), patternOf(1000, 3).slice(0, 10)]),
    ),
  ).toBe(true);
  expect(value(await engine.findPart(version, 10_000))).toMatchObject({ start: 9_999_000 });
});
