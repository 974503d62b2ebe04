/** Objects that a customer-provided key encrypts, in the engine: only ciphertext is stored, and nothing that maintenance does loses it. */
import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { ok } from '../../../workers/shared/pure/result.ts';
import type { CustomerKey } from '../../../workers/storage/domain/customer-key.ts';
import type { JobOrder } from '../../../workers/storage/domain/jobs.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import { findJob, insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
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
import { expectSound, loseDatabase, METADATA, makeBucket, makeEngine, patternOf, value, wipe } from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

const bytes = new Uint8Array(32).fill(9);
const key: CustomerKey = { bytes, md5: createHash('md5').update(bytes).digest('base64') };

const shardOf = ({ placement }: Bucket, name: string) => placement.shards[slotOf(name)];

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

test('jobs keep the key of an object within a shard, and leave it out between shards', async () => {
  let now = Date.now() + 86_400_000;
  const { engine, context } = makeEngine({ now: () => now, shards: 2, limits: { bucketSpread: 2 } });
  const bucket = await makeBucket(engine, 'enabled');
  const content = contentOf(50_000, 1);
  const names = Array.from({ length: 12 }, (_, i) => `a/${i}`);
  for (const name of names) await putEncrypted(engine, { bucket, name }, content);
  const run = async (order: JobOrder) => {
    const jobId = crypto.randomUUID();
    const request = { jobId, bucketId: bucket.bucketId, userId: null, order, isDryRun: false, scopes: null };
    const target = { type: 'bucket', id: bucket.bucketId } as const;
    const audit = toSystemAuditRow({ at: now, id: jobId, action: 'storage_job.start', target, details: {} });
    expect(await insertJob(context, request, audit)).toBe(true);
    now += 60_000;
    while (await runJob(context, jobId));
    return (await findJob(context, jobId, null))?.report;
  };
  const isFar = (name: string): boolean => shardOf(bucket, name) !== shardOf(bucket, name.replace('a/', 'b/'));
  const far = names.filter(isFar);
  const near = names.filter((name) => !isFar(name));
  expect([far.length > 0, near.length > 0]).toEqual([true, true]);
  const copied = await run({ kind: 'copy', prefix: 'a/', targetId: bucket.bucketId, targetPrefix: 'b/' });
  expect(copied?.counts).toMatchObject({ objects_copied: near.length, skipped: far.length });
  expect(copied?.obstacles.map(({ key: name, reason }) => `${name} ${reason}`).sort()).toEqual(
    far.map((name) => `${name} encrypted`).sort(),
  );
  for (const name of near) await expectPlain(engine, bucket, name.replace('a/', 'b/'), content);

  const atMs = now;
  now += 60_000;
  for (const name of names) value(await engine.deleteObject(bucket, { name }));
  now += 60_000;
  // A restore stays in the shard of its name.
  expect((await run({ kind: 'restore', prefix: 'a/', atMs }))?.counts).toMatchObject({
    objects_restored: names.length,
  });
  for (const name of names) await expectPlain(engine, bucket, name, content);
  await expectSound(context);
});
