/**
 * Finding 8 of the security review: a quota keeps a user from filling the storage, and strangers from filling a bucket that anyone
 * may write.
 */
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';
import { signLink } from '../../support/storage/sigv4-signer.ts';

const KIB = 1024;
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ objectShards: 2 });
});
afterAll(() => server[Symbol.asyncDispose]());

async function createUser() {
  const key = await server.createAccessKey(`user-${crypto.randomUUID()}`);
  return { ...key, s3: createSdkClient(server.url, key), Bucket: `quota-${crypto.randomUUID()}` };
}

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'stored',
    (error: Error) => error.name,
  );
const Body = new Uint8Array(20 * KIB);

it('a user stores no more than its quota, by any kind of upload and in any bucket', async () => {
  const { s3, userId, Bucket } = await createUser();
  const path = `/v1/storage/quotas/users/${userId}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new CreateBucketCommand({ Bucket: `${Bucket}-2` }));
  const put = (Key: string, bucket = Bucket) => outcomeOf(s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body })));
  expect(await put('before')).toBe('stored');
  const set = await server.call('PUT', path, { bytes: 100 * KIB });
  expect([set.status, set.body]).toEqual([
    200,
    { bytes: 100 * KIB, objects: null, used: { bytes: 20 * KIB, objects: 1 } },
  ]);
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, (_, i) => put(`f${i}`, i % 2 === 0 ? Bucket : `${Bucket}-2`)),
  );
  expect(outcomes.sort()).toEqual([...Array(6).fill('QuotaExceeded'), ...Array(4).fill('stored')]);
  const CopySource = `${Bucket}/before`;
  expect(await outcomeOf(s3.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource })))).toBe('QuotaExceeded');
  expect(await outcomeOf(s3.send(new PutObjectCommand({ Bucket, Key: 'small', Body: 'x' })))).toBe('QuotaExceeded');
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts' }));
  const part = { Bucket, Key: 'parts', UploadId, PartNumber: 1 };
  expect(await outcomeOf(s3.send(new UploadPartCommand({ ...part, Body })))).toBe('QuotaExceeded');
  // An overwrite of the same size must fit. A delete must make room for a part too.
  expect(await put('before')).toBe('stored');
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'before' }));
  expect(await outcomeOf(s3.send(new UploadPartCommand({ ...part, Body })))).toBe('stored');
  expect(await put('after')).toBe('QuotaExceeded');
  await s3.send(new AbortMultipartUploadCommand({ Bucket, Key: 'parts', UploadId }));
  expect(await put('after')).toBe('stored');
  expect((await server.call('GET', path)).body.used).toEqual({ bytes: 100 * KIB, objects: 5 });
  expect((await server.call('DELETE', path)).status).toBe(204);
  expect((await server.call('GET', path)).body.code).toBe('no_such_quota');
  expect(await put('unlimited')).toBe('stored');
});

it('strangers fill a bucket that anyone may write up to its quota only', async () => {
  const { s3, Bucket } = await createUser();
  await s3.send(new CreateBucketCommand({ Bucket }));
  const statement = { Effect: 'Allow', Principal: '*', Action: 's3:PutObject', Resource: `arn:aws:s3:::${Bucket}/*` };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await s3.send(new PutBucketPolicyCommand({ Bucket, Policy }));
  const limited = await server.call('PUT', `/v1/storage/quotas/buckets/${Bucket}`, { bytes: 50 * KIB, objects: 3 });
  expect(limited.status).toBe(200);
  const send = (name: string, bytes: number) =>
    fetch(`${server.url}/${Bucket}/${name}`, { method: 'PUT', body: new Uint8Array(bytes) });
  const statuses = [];
  for (let i = 0; i < 4; i++) statuses.push((await send(`s${i}`, 100)).status);
  expect(statuses).toEqual([200, 200, 200, 403]);
  const refused = await send('s0', 60 * KIB);
  expect(refused.status).toBe(403);
  expect(await refused.text()).toContain('<Code>QuotaExceeded</Code>');
  // Uploads by a form must count as well.
  const form = new FormData();
  form.append('key', 'form');
  form.append('file', new Blob([Body]));
  expect((await fetch(`${server.url}/${Bucket}`, { method: 'POST', body: form })).status).toBe(403);
});

it('a link stores nothing above the quota of the user who signed it, however often it is used', async () => {
  const key = await createUser();
  const { s3, userId, Bucket } = key;
  await s3.send(new CreateBucketCommand({ Bucket }));
  expect((await server.call('PUT', `/v1/storage/quotas/users/${userId}`, { bytes: 50 * KIB })).status).toBe(200);
  const send = async (name: string) => {
    const link = signLink({ url: server.url, credentials: key, method: 'PUT', path: `/${Bucket}/${name}` });
    const answer = await fetch(server.url + link, { method: 'PUT', body: Body });
    return /<Code>(.*?)<\/Code>/.exec(await answer.text())?.[1] ?? answer.status;
  };
  const outcomes = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(send));
  expect(outcomes.map(String).sort()).toEqual(['200', '200', ...Array(3).fill('QuotaExceeded')]);
  // An overwrite of the same name must need no further space.
  const stored = ['a', 'b', 'c', 'd', 'e'][outcomes.indexOf(200)] ?? '';
  expect([await send(stored), await send(stored)]).toEqual([200, 200]);
  const { body } = await server.call('GET', `/v1/storage/quotas/users/${userId}`);
  expect(body.used).toEqual({ bytes: 40 * KIB, objects: 2 });
});

it('the routes check what they get, and only operators may use them', async () => {
  const { s3, userId, Bucket } = await createUser();
  await s3.send(new CreateBucketCommand({ Bucket }));
  const paths = [`/v1/storage/quotas/users/${userId}`, `/v1/storage/quotas/buckets/${Bucket}`];
  for (const path of paths) {
    for (const body of [{}, { bytes: -1 }, { bytes: 1, more: 2 }, { objects: '3' }]) {
      expect([path, body, (await server.call('PUT', path, body)).status]).toEqual([path, body, 400]);
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { bytes: 1 } : undefined;
      expect((await server.call(method, path, body, null)).status).toBe(401);
    }
    expect((await server.call('GET', path)).status).toBe(404);
  }
  expect((await server.call('PUT', '/v1/storage/quotas/users/nobody', { bytes: 1 })).body.code).toBe('no_such_user');
  expect((await server.call('PUT', '/v1/storage/quotas/buckets/none', { bytes: 1 })).body.code).toBe('no_such_bucket');
});
