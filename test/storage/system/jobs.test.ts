/** Tests jobs over HTTP: progress, the audit log, events, quotas, and a server that dies during a job. */
import { randomUUID } from 'node:crypto';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createJobClient, type JobClient } from '../../support/storage/jobs.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

let server: TestServer;
let s3: S3Client;
let jobs: JobClient;

// Short days of lifecycle rules make cron run each second.
const VARS = { LIFECYCLE_DAY_SECONDS: '10' };

beforeAll(async () => {
  server = await startServer({ objectShards: 2, vars: VARS });
  const key = await server.createAccessKey(`jobs-${randomUUID()}`);
  s3 = createSdkClient(server.url, key);
  jobs = createJobClient(server, key);
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeBucket(isVersioned = false): Promise<string> {
  const Bucket = `jobs-${randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  if (isVersioned) await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  return Bucket;
}

const put = (Bucket: string, Key: string, Body: string) => s3.send(new PutObjectCommand({ Bucket, Key, Body }));

async function putMany(Bucket: string, names: readonly string[], content: (name: string) => string): Promise<void> {
  const left = [...names];
  const work = async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) await put(Bucket, name, content(name));
  };
  await Promise.all(Array.from({ length: 12 }, work));
}

const read = async (Bucket: string, Key: string) =>
  (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString();

it('restores a prefix to a point in time, after a dry run that says what it will do', async () => {
  const Bucket = await makeBucket(true);
  for (const name of ['kept', 'changed', 'deleted']) await put(Bucket, `p/${name}`, 'before');
  const { LastModified } = await s3.send(new GetObjectCommand({ Bucket, Key: 'p/deleted' }));
  // Wait until the next second before changing objects, because Last-Modified has whole seconds.
  const at = new Date((LastModified?.getTime() ?? 0) + 1_000).toISOString();
  await until('the next second', async () => (Date.now() > Date.parse(at) ? true : undefined));
  await put(Bucket, 'p/changed', 'after');
  await put(Bucket, 'p/new', 'after');
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'p/deleted' }));
  const order = { kind: 'restore', bucket: Bucket, prefix: 'p/', at };
  const dry = await jobs.run({ ...order, dry_run: true });
  expect(dry.changes.map(({ key, action }: { key: string; action: string }) => [key, action]).sort()).toEqual([
    ['p/changed', 'restore'],
    ['p/deleted', 'restore'],
    ['p/new', 'delete'],
  ]);
  expect(await read(Bucket, 'p/changed')).toBe('after');
  const job = await jobs.run(order);
  expect([job.state, job.error, job.counts.objects_restored, job.counts.unchanged]).toEqual(['done', null, 2, 1]);
  for (const name of ['kept', 'changed', 'deleted']) expect(await read(Bucket, `p/${name}`)).toBe('before');
  await expect(read(Bucket, 'p/new')).rejects.toMatchObject({ name: 'NoSuchKey' });
  expect(await jobs.call('POST', `/${job.job_id}/cancel`)).toMatchObject({ status: 409, body: { code: 'job_ended' } });
  const { body: page } = await jobs.call('GET');
  expect(page.data.slice(0, 2).map(({ job_id }: { job_id: string }) => job_id)).toEqual([job.job_id, dry.job_id]);
  const audit = await server.call('GET', '/v1/audit?action=storage_job.end&limit=100');
  const entry = audit.body.data.find(({ details }: { details: { job_id: string } }) => details.job_id === job.job_id);
  expect([entry.actor.kind, entry.details.objects_restored]).toEqual(['system', 2]);
});

it('empties a bucket of versions, markers and uploads, and counts before and after', async () => {
  const Bucket = await makeBucket(true);
  for (const name of ['a', 'b', 'c']) await put(Bucket, name, '12345');
  await put(Bucket, 'a', '123');
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'b' }));
  await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'u' }));
  const counted = await jobs.run({ kind: 'count', bucket: Bucket });
  expect(counted.counts).toMatchObject({ objects: 2, versions: 4, bytes: 18, uploads: 1 });
  const { counts } = await jobs.run({ kind: 'empty', bucket: Bucket });
  expect(counts).toMatchObject({ versions_removed: 5, uploads_aborted: 1, bytes: 18 });
  const { Versions, DeleteMarkers } = await s3.send(new ListObjectVersionsCommand({ Bucket }));
  const { Uploads } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  expect([Versions, DeleteMarkers, Uploads]).toEqual([undefined, undefined, undefined]);
  const empty = await jobs.run({ kind: 'count', bucket: Bucket });
  expect(empty.counts).toMatchObject({ objects: 0, versions: 0, bytes: 0, uploads: 0 });
});

it('ends at a quota, and reports it', async () => {
  const [source, target] = [await makeBucket(), await makeBucket()];
  await putMany(source, ['a', 'b', 'c', 'd'], () => 'x'.repeat(100));
  expect((await server.call('PUT', `/v1/storage/quotas/buckets/${target}`, { bytes: 250 })).status).toBe(200);
  const job = await jobs.run({ kind: 'copy', bucket: source, target: { bucket: target, prefix: '' } });
  expect([job.state, job.error]).toEqual(['failed', 'quota_exceeded']);
  const { KeyCount } = await s3.send(new ListObjectsV2Command({ Bucket: target }));
  expect(KeyCount).toBe(2);
});

it('ends with the right result although the server was killed in the middle', async () => {
  const [source, target] = [await makeBucket(), await makeBucket(true)];
  const names = Array.from({ length: 120 }, (_, i) => `a/${i}`);
  await putMany(source, names, (name) => name);
  const { body } = await jobs.call('POST', '', {
    kind: 'copy',
    bucket: source,
    prefix: 'a/',
    target: { bucket: target, prefix: 'b/' },
  });
  await until('progress', async () => {
    const { counts, ended_at } = (await jobs.call('GET', `/${body.job_id}`)).body;
    return counts.examined > 0 || ended_at !== null ? true : undefined;
  });
  await server.kill9();
  // Move the clock past the lease of the killed worker.
  await server.start({ CLOCK_OFFSET_SECONDS: '40' });
  expect((await jobs.end(body.job_id)).state).toBe('done');
  const found: string[] = [];
  let KeyMarker: string | undefined;
  do {
    const page = await s3.send(new ListObjectVersionsCommand({ Bucket: target, KeyMarker }));
    for (const { Key } of page.Versions ?? []) found.push(Key ?? '');
    KeyMarker = page.NextKeyMarker;
  } while (KeyMarker !== undefined);
  expect(found.sort()).toEqual(names.map((name) => name.replace('a/', 'b/')).sort());
  for (const i of [0, 49, 50, 119]) expect(await read(target, `b/${i}`)).toBe(`a/${i}`);
}, 300_000);
