/** Rules of the S3 wire that are easily half kept: each was once wrong here, or is often wrong in servers like this one. */
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSdkClient } from '../support/s3-client.ts';
import { sendRaw } from '../support/s3-raw.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;
let guest: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;
let plain: S3Client;
let asGuest: S3Client;

beforeAll(async () => {
  server = await startServer();
  owner = await server.createAccessKey('owner');
  guest = await server.createAccessKey('guest');
  s3 = createSdkClient(server.url, owner);
  asGuest = createSdkClient(server.url, guest);
  const { accessKeyId, secretAccessKey } = owner;
  plain = new S3Client({
    endpoint: server.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const nameOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: Error) => error.name,
  );

describe('a condition on a delete', () => {
  it('is about the version that is named, not about the current one', async () => {
    const Bucket = 'conditional-deletes';
    const Key = 'k';
    await s3.send(new CreateBucketCommand({ Bucket }));
    const VersioningConfiguration = { Status: 'Enabled' } as const;
    await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
    const old = await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'old' }));
    const now = await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'newer' }));
    const VersionId = old.VersionId;
    expect(await nameOf(s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId, IfMatch: now.ETag })))).toBe(
      'PreconditionFailed',
    );
    expect(await nameOf(s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId, IfMatchSize: 5 })))).toBe(
      'PreconditionFailed',
    );
    const Objects = [{ Key, VersionId, ETag: now.ETag }];
    const refused = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    expect(refused.Errors?.[0]?.Code).toBe('PreconditionFailed');
    await s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId, IfMatch: old.ETag, IfMatchSize: 3 }));
    expect(await nameOf(s3.send(new HeadObjectCommand({ Bucket, Key, VersionId })))).toBe('NotFound');
    const marker = await s3.send(new DeleteObjectCommand({ Bucket, Key }));
    const markerId = marker.VersionId;
    const onMarker = new DeleteObjectCommand({ Bucket, Key, VersionId: markerId, IfMatchSize: 0 });
    expect(await nameOf(s3.send(onMarker))).toBe('PreconditionFailed');
  });
});

describe('a part', () => {
  it('has a checksum of the algorithm that its upload was begun with', async () => {
    const Bucket = 'parts';
    const Key = 'k';
    await s3.send(new CreateBucketCommand({ Bucket }));
    const begin = async (more: object) =>
      (await plain.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }))).UploadId;
    const send = (UploadId: string | undefined, more: object = {}) =>
      plain.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'bytes', ...more }));
    const composite = await begin({ ChecksumAlgorithm: 'SHA256' });
    expect(await nameOf(send(composite, { ChecksumAlgorithm: 'CRC32' }))).toBe('InvalidRequest');
    expect(await nameOf(send(composite))).toBe('InvalidRequest');
    expect(await nameOf(send(composite, { ChecksumAlgorithm: 'SHA256' }))).toBe('ok');
    expect(await nameOf(send('nonsense'))).toBe('NoSuchUpload');
    // Of the full object: the service works out what the client leaves away.
    const full = await begin({ ChecksumAlgorithm: 'CRC64NVME', ChecksumType: 'FULL_OBJECT' });
    const { ETag, ChecksumCRC64NVME } = await send(full);
    expect(ChecksumCRC64NVME).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
    const done = await plain.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId: full, MultipartUpload }));
    expect([done.ChecksumCRC64NVME, done.ChecksumType]).toEqual([ChecksumCRC64NVME, 'FULL_OBJECT']);
  });
});

describe('a bucket policy', () => {
  const policy = (Bucket: string, statements: object[]) =>
    s3.send(
      new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement: statements }) }),
    );

  it('can demand conditional writes, without standing in the way of parts', async () => {
    const Bucket = 'enforced-conditions';
    await s3.send(new CreateBucketCommand({ Bucket }));
    await policy(Bucket, [
      {
        Effect: 'Deny',
        Principal: '*',
        Action: 's3:PutObject',
        Resource: `arn:aws:s3:::${Bucket}/*`,
        Condition: { Null: { 's3:if-none-match': 'true' }, Bool: { 's3:ObjectCreationOperation': 'true' } },
      },
    ]);
    const put = (more: object) => nameOf(s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', ...more })));
    expect([await put({}), await put({ IfNoneMatch: '*' })]).toEqual(['AccessDenied', 'ok']);
    const { UploadId } = await plain.send(new CreateMultipartUploadCommand({ Bucket, Key: 'm' }));
    const { ETag } = await plain.send(new UploadPartCommand({ Bucket, Key: 'm', UploadId, PartNumber: 1, Body: 'x' }));
    const complete = (more: object) => {
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
      return nameOf(
        plain.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'm', UploadId, MultipartUpload, ...more })),
      );
    };
    expect([await complete({}), await complete({ IfNoneMatch: '*' })]).toEqual(['AccessDenied', 'ok']);
  });

  it('that lets others upload on the condition of an ACL needs no second permission for that ACL', async () => {
    const Bucket = 'granting-back';
    await s3.send(new CreateBucketCommand({ Bucket }));
    await policy(Bucket, [
      {
        Effect: 'Allow',
        Principal: { AWS: guest.userId },
        Action: 's3:PutObject',
        Resource: `arn:aws:s3:::${Bucket}/*`,
        Condition: { StringEquals: { 's3:x-amz-acl': 'bucket-owner-full-control' } },
      },
    ]);
    const put = (more: object) => nameOf(asGuest.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', ...more })));
    expect([await put({}), await put({ ACL: 'bucket-owner-full-control' })]).toEqual(['AccessDenied', 'ok']);
    const { Grants } = await s3.send(new GetObjectAclCommand({ Bucket, Key: 'k' }));
    expect(Grants?.map(({ Grantee }) => Grantee?.ID)).toContain(owner.userId);
  });

  it('that lets others list a folder tells them what is missing there, and only there', async () => {
    const Bucket = 'listable-folder';
    await s3.send(new CreateBucketCommand({ Bucket }));
    await policy(Bucket, [
      {
        Effect: 'Allow',
        Principal: { AWS: guest.userId },
        Action: 's3:ListBucket',
        Resource: `arn:aws:s3:::${Bucket}`,
        Condition: { StringLike: { 's3:prefix': 'open/*' } },
      },
    ]);
    const get = (Key: string) => nameOf(asGuest.send(new GetObjectCommand({ Bucket, Key })));
    expect([await get('open/x'), await get('closed/x')]).toEqual(['NoSuchKey', 'AccessDenied']);
  });
});

it('a path with no bucket in it is no list of buckets', async () => {
  const headers = { authorization: 'Bearer none' };
  const answer = await sendRaw(server.url, 'GET', '//bucket/key', headers);
  expect([answer.status, /<Code>(.*?)</.exec(answer.body.toString())?.[1]]).toEqual([400, 'InvalidBucketName']);
  expect(Math.abs(Date.parse(String(answer.headers.date)) - Date.now())).toBeLessThan(600_000);
});

it('a bucket whose owner owns everything takes no ACL but the harmless one', async () => {
  const Bucket = 'without-acls';
  await s3.send(new CreateBucketCommand({ Bucket }));
  const OwnershipControls = { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' as const }] };
  await s3.send(new PutBucketOwnershipControlsCommand({ Bucket, OwnershipControls }));
  const put = (ACL: 'private' | 'public-read' | 'bucket-owner-full-control') =>
    nameOf(s3.send(new PutObjectCommand({ Bucket, Key: 'k', ACL })));
  expect([await put('private'), await put('public-read'), await put('bucket-owner-full-control')]).toEqual([
    'AccessControlListNotSupported',
    'AccessControlListNotSupported',
    'ok',
  ]);
});

describe('the web app on a host of its own', () => {
  let apart: TestServer;
  beforeAll(async () => {
    apart = await startServer({ vars: { APP_HOST: 'app.test', S3_HOST: 's3.test' } });
  });
  afterAll(() => apart[Symbol.asyncDispose]());

  const preflight = (origin: string, headers: string) =>
    sendRaw(apart.url, 'OPTIONS', '/any-bucket/k', {
      host: 's3.test',
      origin,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': headers,
    });

  it('may send signed requests to storage from any bucket on, and nobody else may', async () => {
    const asked = await preflight('http://app.test:8787', 'authorization,x-amz-date');
    expect(asked.status).toBe(200);
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': 'http://app.test:8787',
      'access-control-allow-headers': 'authorization, x-amz-date',
    });
    // Never with cookies.
    expect(asked.headers['access-control-allow-credentials']).toBeUndefined();
    for (const [origin, headers] of [
      ['http://app.test.evil.test', 'authorization'],
      ['http://evil.test', 'authorization'],
      ['http://app.test', 'content-type'],
    ] as const) {
      const refused = await preflight(origin, headers);
      expect([origin, refused.headers['access-control-allow-origin']]).toEqual([origin, undefined]);
    }
  });

  it('sees the answers to signed requests, the failed ones too, and no others', async () => {
    const ask = (headers: Record<string, string>) =>
      sendRaw(apart.url, 'GET', '/no-such-bucket/k', { host: 's3.test', origin: 'http://app.test', ...headers });
    const signed = await ask({ authorization: 'Bearer wrong' });
    expect([signed.status, signed.headers['access-control-allow-origin']]).toEqual([401, 'http://app.test']);
    expect((await ask({})).headers['access-control-allow-origin']).toBeUndefined();
  });
});
