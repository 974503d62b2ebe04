/** Tests lifecycle rules with real clients, on a server whose days last a few seconds. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketLifecycleCommand,
  GetBucketLifecycleConfigurationCommand,
  HeadObjectCommand,
  type LifecycleRule,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, createSdkClient, mustRun } from '../../support/storage/s3-client.ts';

let server: TestServer;
let key: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;
let clients: ReturnType<typeof createClients>;

beforeAll(async () => {
  server = await startServer({ vars: { LIFECYCLE_DAY_SECONDS: '10' } });
  key = await server.createAccessKey(`lifecycle-${randomUUID()}`);
  s3 = createSdkClient(server.url, key);
  clients = createClients(server.url, key);
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeBucket(isVersioned = false): Promise<string> {
  const Bucket = `lifecycle-${randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  const VersioningConfiguration = { Status: 'Enabled' } as const;
  if (isVersioned) await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  return Bucket;
}
const setRules = (Bucket: string, ...Rules: LifecycleRule[]) =>
  s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }));

it('the JavaScript SDK sets, reads and removes rules, and sees when objects and uploads expire', async () => {
  const Bucket = await makeBucket();
  const rules: LifecycleRule[] = [
    { ID: 'temporary', Status: 'Enabled', Filter: { Prefix: 'tmp/' }, Expiration: { Days: 30 } },
    { ID: 'uploads', Status: 'Enabled', Filter: {}, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
  ];
  await setRules(Bucket, ...rules);
  const read = await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }));
  expect(read.Rules).toEqual(rules);
  expect(read.TransitionDefaultMinimumObjectSize).toBe('all_storage_classes_128K');
  const expected = /^expiry-date="\w{3}, \d\d \w{3} \d{4} 00:00:00 GMT", rule-id="temporary"$/;
  const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'tmp/a', Body: 'x' }));
  const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'tmp/a' }));
  expect([put.Expiration, head.Expiration]).toEqual([expect.stringMatching(expected), put.Expiration]);
  const other = await s3.send(new PutObjectCommand({ Bucket, Key: 'kept', Body: 'x' }));
  expect(other.Expiration).toBeUndefined();
  const upload = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'm' }));
  expect(upload.AbortRuleId).toBe('uploads');
  await until('the end of the upload', async () => {
    const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
    return Uploads.length === 0 ? true : undefined;
  });
  await s3.send(new DeleteBucketLifecycleCommand({ Bucket }));
  await expect(s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).rejects.toMatchObject({
    name: 'NoSuchLifecycleConfiguration',
  });
});

it.skipIf(!hasClient('s3cmd', 'rclone'))('s3cmd expires a prefix, and rclone sees what is left', async () => {
  const Bucket = await makeBucket();
  const file = join(clients.home, 'file');
  writeFileSync(file, 'content');
  await clients.s3cmd('expire', `s3://${Bucket}`, '--expiry-days=1', '--expiry-prefix=tmp/');
  expect(await clients.s3cmd('info', `s3://${Bucket}`)).toMatch(/Expiration rule:.*tmp\//i);
  await clients.rclone('copyto', file, `t:${Bucket}/tmp/a`);
  await clients.rclone('copyto', file, `t:${Bucket}/kept`);
  await until('the expiry', async () => {
    const listed = await clients.rclone('lsf', '--recursive', '--files-only', `t:${Bucket}`);
    return listed === 'kept\n' ? true : undefined;
  });
  await clients.s3cmd('dellifecycle', `s3://${Bucket}`);
});

it.skipIf(!hasClient('restic'))('restic restores from a bucket whose old versions were removed by a rule', async () => {
  const Bucket = await makeBucket(true);
  const file = (name: string) => join(clients.home, name);
  mkdirSync(file('data'));
  const environment = {
    HOME: clients.home,
    AWS_ACCESS_KEY_ID: key.accessKeyId,
    AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
    RESTIC_REPOSITORY: `s3:${server.url}/${Bucket}/repository`,
    RESTIC_PASSWORD: 'a password of the backup',
    RESTIC_CACHE_DIR: file('cache'),
  };
  const restic = (...args: string[]) => mustRun('restic', args, environment);
  await restic('init');
  for (let round = 0; round < 2; round++) {
    writeFileSync(file('data/a'), randomBytes(200_000));
    await restic('backup', file('data'));
  }
  await restic('forget', '--prune', '--keep-last', '1');
  const versions = async () => s3.send(new ListObjectVersionsCommand({ Bucket }));
  expect((await versions()).DeleteMarkers?.length).toBeGreaterThan(0);
  await setRules(Bucket, {
    ID: 'clean',
    Status: 'Enabled',
    Filter: {},
    Expiration: { ExpiredObjectDeleteMarker: true },
    NoncurrentVersionExpiration: { NoncurrentDays: 1 },
  });
  await until('the removal of old versions and markers', async () => {
    const { Versions = [], DeleteMarkers = [] } = await versions();
    return DeleteMarkers.length === 0 && Versions.every(({ IsLatest }) => IsLatest) ? true : undefined;
  });
  await restic('check', '--read-data');
  await restic('restore', 'latest', '--target', file('restored'));
  const restored = readFileSync(join(file('restored'), file('data/a')));
  expect(restored.equals(readFileSync(file('data/a')))).toBe(true);
});

it('a run leaves an entry with its counts in the audit log', async () => {
  const Bucket = await makeBucket();
  await setRules(Bucket, { ID: 'all', Status: 'Enabled', Filter: {}, Expiration: { Days: 1 } });
  for (const Key of ['a', 'b']) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  await until('the expiry', async () =>
    (await s3.send(new ListObjectVersionsCommand({ Bucket }))).Versions === undefined ? true : undefined,
  );
  // Add up the audit entries of both objects, which may be from one run or from two.
  const target = await until('the entries', async () => {
    const { body } = await server.call('GET', '/v1/audit?action=bucket.lifecycle&limit=100');
    const expired = new Map<string, number>();
    for (const { actor, target, details } of body.data) {
      expect([actor.kind, target.type]).toEqual(['system', 'bucket']);
      expired.set(target.id, (expired.get(target.id) ?? 0) + details.objects_expired);
    }
    return [...expired].find(([, count]) => count === 2);
  });
  expect(target[1]).toBe(2);
});
