/** Pulls of a bucket of another S3 server: everything that is kept, a second run, what is refused, and the secret's end. */
import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { createJobClient, type JobClient } from '../../support/storage/jobs.ts';
import { comparable, listSeen, readSeen } from '../../support/storage/pull.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

let server: TestServer;
let there: S3Client;
let here: S3Client;
let jobs: JobClient;
let key: { readonly accessKeyId: string; readonly secretAccessKey: string };
const [source, target] = [`from-${randomUUID()}`, `to-${randomUUID()}`];

const makeBucket = async (s3: S3Client, Bucket: string, isVersioned = true, ObjectLockEnabledForBucket = false) => {
  await s3.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket }));
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  if (isVersioned) await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
};
const put = (Key: string, Body: string | Uint8Array, more: Partial<PutObjectCommandInput> = {}) =>
  there.send(new PutObjectCommand({ Bucket: source, Key, Body, ...more }));

/** The request of a pull. The server under test is its own source, because the job only knows an address. */
const pullOf = (bucket: string, more: object = {}, of: object = {}) => ({
  kind: 'pull',
  bucket,
  source: {
    endpoint: server.url,
    bucket: source,
    access_key_id: key.accessKeyId,
    secret_access_key: key.secretAccessKey,
    ...of,
  },
  ...more,
});
const pull = (bucket = target, more: object = {}, of: object = {}) => jobs.run(pullOf(bucket, more, of));

beforeAll(async () => {
  server = await startServer({ objectShards: 2, vars: { LIFECYCLE_DAY_SECONDS: '10' } });
  key = await server.createAccessKey('source');
  const own = await server.createAccessKey('target');
  there = createSdkClient(server.url, key);
  here = createSdkClient(server.url, own);
  jobs = createJobClient(server, own);
  await makeBucket(there, source, true, true);
  await makeBucket(here, target, true, true);
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function fillSource(): Promise<void> {
  for (let i = 0; i < 5; i++) await put('often', `version ${i}`, { Metadata: { n: String(i) } });
  await there.send(new DeleteObjectCommand({ Bucket: source, Key: 'often' }));
  await put('often', 'again', { Tagging: 'a=b&c=d', ACL: 'public-read' });
  await there.send(new DeleteObjectCommand({ Bucket: source, Key: 'never' }));
  await put('a/ü & <+> %41 "', 'name', { CacheControl: 'max-age=60', ContentType: 'text/plain' });
  await put('zipped', gzipSync('plain text'.repeat(1_000)), { ContentEncoding: 'gzip' });
  await put('empty', '');
  await put('large', randomBytes(3_000_000), { ChecksumAlgorithm: 'CRC32' });
  const ObjectLockRetainUntilDate = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 86_400_000);
  await put('kept', 'x', { ObjectLockMode: 'GOVERNANCE', ObjectLockRetainUntilDate, ObjectLockLegalHoldStatus: 'ON' });
  const { UploadId } = await there.send(
    new CreateMultipartUploadCommand({ Bucket: source, Key: 'parts', Tagging: 'p=q' }),
  );
  const named = { Bucket: source, Key: 'parts', UploadId };
  const Parts = [];
  for (const [i, size] of [5_300_000, 1_234].entries()) {
    const part = { ...named, PartNumber: i + 1, Body: randomBytes(size) };
    Parts.push({ PartNumber: i + 1, ETag: (await there.send(new UploadPartCommand(part))).ETag });
  }
  await there.send(new CompleteMultipartUploadCommand({ ...named, MultipartUpload: { Parts } }));
}

const expectEqual = async () => {
  const [from, to] = [await listSeen(there, source), await listSeen(here, target)];
  expect(comparable(to)).toEqual(comparable(from));
  for (const [i, version] of from.entries()) {
    const pulled = to[i];
    if (pulled === undefined || version.isMarker) continue;
    expect(await readSeen(here, target, pulled), version.key).toEqual(await readSeen(there, source, version));
  }
  return { from, to };
};

it('pulls versions, delete markers, metadata, tags, grants and locks, each once', async () => {
  await fillSource();
  const dry = await pull(target, { dry_run: true });
  expect([dry.state, dry.counts.versions_pulled, dry.counts.markers_pulled]).toEqual(['done', 12, 2]);
  expect(await listSeen(here, target)).toEqual([]);
  const first = await pull();
  expect([first.state, first.error, first.obstacles]).toEqual(['done', null, []]);
  expect([first.counts.versions_pulled, first.counts.markers_pulled, first.counts.examined]).toEqual([12, 2, 14]);
  const { from, to } = await expectEqual();
  const [version, pulled] = [from, to].map((list) => list.find(({ key: name }) => name === 'empty'));
  const answer = await here.send(new HeadObjectCommand({ Bucket: target, Key: 'empty' }));
  expect(answer.Metadata).toEqual({});
  const { headers } = await fetch(`${server.url}/${target}/often`);
  expect(headers.get('x-pulled-version-id')).toBe(from.find(({ key: name }) => name === 'often')?.id);
  expect(headers.get('x-pulled-last-modified')).toMatch(/GMT$/);
  expect(version?.id).not.toBe(pulled?.id);
  const second = await pull();
  expect(second.counts).toMatchObject({ versions_pulled: 0, markers_pulled: 0, unchanged: 14, bytes: 0 });
  expect(second.source).toEqual({ endpoint: server.url, bucket: source, prefix: '' });
});

it('pulls what came since, and says what differs', async () => {
  await put('often', 'later');
  await there.send(new DeleteObjectCommand({ Bucket: source, Key: 'zipped' }));
  await put('both', 'theirs');
  await here.send(new PutObjectCommand({ Bucket: target, Key: 'both', Body: 'ours' }));
  await here.send(new PutObjectCommand({ Bucket: target, Key: 'only-here', Body: 'x' }));
  const third = await pull();
  expect(third.counts).toMatchObject({ versions_pulled: 1, markers_pulled: 1 });
  expect(third.obstacles).toEqual([
    { key: 'both', reason: 'written_here' },
    { key: 'only-here', reason: 'not_at_source' },
  ]);
  const { Body } = await here.send(new GetObjectCommand({ Bucket: target, Key: 'both' }));
  expect(await Body?.transformToString()).toBe('ours');
});

it('pulls current objects below another prefix into a bucket without versions, at a rate', async () => {
  const plain = `plain-${randomUUID()}`;
  await makeBucket(here, plain, false);
  const done = await pull(plain, { prefix: 'new/', rate: { requests_per_second: 100 } }, { prefix: 'a' });
  expect([done.state, done.counts.versions_pulled]).toEqual(['done', 1]);
  expect((await listSeen(here, plain)).map(({ key: name }) => name)).toEqual(['new//ü & <+> %41 "']);
  expect((await pull(plain, { prefix: 'new/' }, { prefix: 'a' })).counts).toMatchObject({
    versions_pulled: 0,
    unchanged: 1,
  });
});

it('refuses addresses that are not public, and ends with the reason of the source', async () => {
  for (const endpoint of ['http://example.com', 'https://10.0.0.1', 'https://x.internal', 'https://example.com:22']) {
    const { status, body } = await jobs.call('POST', '', pullOf(target, {}, { endpoint }));
    expect([status, body.code], endpoint).toEqual([400, 'source_refused']);
  }
  expect((await pull(target, {}, { secret_access_key: 'wrong' })).error).toBe('source_denied');
  expect((await pull(target, {}, { bucket: 'nowhere-at-all' })).error).toBe('source_not_found');
});
