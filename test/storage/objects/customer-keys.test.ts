/** Objects that a customer-provided key encrypts, in the engine: only ciphertext is stored, and nothing that maintenance does loses it. */
import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { ok } from '../../../workers/shared/pure/result.ts';
import type { CustomerKey } from '../../../workers/storage/domain/customer-key.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import type { UploadBody } from '../../../workers/storage/s3/bodies/upload-body.ts';
import {
  checkReadKey,
  sealBody,
  sealPart,
  toNewRecord,
  withKeyRecord,
} from '../../../workers/storage/s3/objects/customer-keys.ts';
import { readContent } from '../../../workers/storage/s3/objects/object-content.ts';
import { expectSound, loseDatabase, METADATA, makeBucket, patternOf, value, wipe } from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

const bytes = new Uint8Array(32).fill(9);
const key: CustomerKey = { bytes, md5: createHash('md5').update(bytes).digest('base64') };

/** A text that is long enough to be found in whatever stores it. */
const MARK = 'the plaintext of a secret';
const contentOf = (length: number, seed: number): Buffer => {
  const content = Buffer.from(patternOf(length, seed));
  content.write(MARK);
  return content;
};
const bodyOf = (content: Uint8Array): UploadBody => ({
  body: content,
  size: content.length,
  checksums: ['CRC32'],
  verify: ({ checksums }) => ok({ checksums: { CRC32: checksums.CRC32 ?? '' } }),
});

async function putEncrypted(
  engine: Engine,
  { bucket, name, comment = '' }: { bucket: Bucket; name: string; comment?: string },
  content: Uint8Array,
): Promise<void> {
  const { body, record } = await sealBody(bodyOf(content), key);
  const metadata = { ...METADATA, user: { comment } };
  value(await engine.putObject({ bucket, name, ...withKeyRecord({ metadata }, record), ...body }));
}

async function putParts(engine: Engine, bucket: Bucket, name: string, contents: readonly Uint8Array[]): Promise<void> {
  const { metadata } = withKeyRecord({ metadata: METADATA }, toNewRecord(key));
  const { uploadId } = value(await engine.createUpload({ bucket, name, metadata }));
  const parts = [];
  for (const [i, content] of contents.entries()) {
    const order = { bucket, name, uploadId, partNumber: 2 * i + 1 };
    parts.push(value(await engine.putPart({ ...order, ...(await sealPart(bodyOf(content), key)) })));
  }
  value(await engine.completeUpload({ bucket, name, uploadId, parts, partBytesMin: 0 }));
}

async function expectPlain(engine: Engine, bucket: Bucket, name: string, content: Buffer): Promise<void> {
  const version = value(await engine.getVersion(bucket, name));
  const size = content.length;
  const ranges = [null, { start: 0, end: 0 }, { start: size - 1, end: size - 1 }, { start: 333, end: size - 7 }];
  for (const range of ranges) {
    const body = value(await readContent(engine, version, range, key));
    const read = Buffer.from(await new Response(body).arrayBuffer());
    const wanted = range === null ? content : content.subarray(range.start, range.end + 1);
    expect(read.equals(wanted), `${name} ${JSON.stringify(range)}`).toBe(true);
  }
}

test('small, packed, large and multipart objects are stored as ciphertext and survive scrub and rebuild', async () => {
  const made = makeMaintainedEngine();
  const { engine, context } = made;
  const bucket = await makeBucket(engine);
  const parts = [contentOf(700_001, 4), contentOf(300_003, 5), contentOf(77, 6)];
  const contents = new Map([
    ['packed', contentOf(9_000, 1)],
    ['inline', contentOf(700, 2)],
    ['blob', contentOf(1_500_000, 3)],
    ['multipart', Buffer.concat(parts)],
  ]);
  await putEncrypted(engine, { bucket, name: 'packed' }, contents.get('packed') as Buffer);
  await made.pack();
  for (const name of ['inline', 'blob']) await putEncrypted(engine, { bucket, name }, contents.get(name) as Buffer);
  await putParts(engine, bucket, 'multipart', parts);
  for (const [name, content] of contents) await expectPlain(engine, bucket, name, content);
  await expectSound(context);

  for (const location of context.locations) {
    for (const { key: name } of (await location.list()).objects) {
      expect(await (await location.get(name))?.text(), name).not.toContain(MARK);
    }
  }
  const { results } = await (context.shards[0] as D1Database).prepare('SELECT data, metadata FROM version').all();
  const stored = results.map((row) => `${Buffer.from(String(row.data ?? ''), 'base64')} ${row.metadata}`).join();
  expect(stored).toContain('customerKey');
  for (const secret of [MARK, Buffer.from(bytes).toString('hex'), Buffer.from(bytes).toString('base64'), key.md5]) {
    expect(stored).not.toContain(secret);
  }

  await writeJournal(context, 0);
  // No journal has this object, so it is recovered from what its blob says of it.
  const late = contentOf(50_000, 8);
  await putEncrypted(engine, { bucket, name: 'late', comment: 'x'.repeat(6_000) }, late);
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, isDone: true });
  await expectPlain(engine, bucket, 'late', late);
  for (const [name, content] of contents) await expectPlain(engine, bucket, name, content);
});

test('an encrypted object keeps the checksum of its plaintext, and a read without its key is refused', async () => {
  const { engine } = makeMaintainedEngine();
  const bucket = await makeBucket(engine);
  const content = contentOf(100, 1);
  await putEncrypted(engine, { bucket, name: 'k' }, content);
  const plain = value(await engine.putObject({ bucket, name: 'plain', metadata: METADATA, ...bodyOf(content) }));
  const version = value(await engine.getVersion(bucket, 'k'));
  expect(version.checksums).toEqual(plain.checksums);
  expect(version.etag).not.toBe(plain.etag);
  expect(checkReadKey(version, new Headers())).toMatchObject({ ok: false, error: { code: 'InvalidRequest' } });
});
