/** Tests details of the S3 protocol that were once wrong in this server, or that similar servers often get wrong. */
import { createHash, randomBytes } from 'node:crypto';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketTaggingCommand,
  GetObjectAclCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';
import { encodeSignedChunks, sendRaw } from '../../support/storage/s3-raw.ts';

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
  it('applies to the given version, not to the current one', async () => {
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
  it('has a checksum with the algorithm of its upload', async () => {
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
    // For a full-object checksum, the service must compute the value if the client omits it.
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

  it('can require conditional writes, without blocking uploads of parts', async () => {
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

  it('that permits writes does not permit probing for objects by comparing entity tags', async () => {
    const Bucket = 'compared-tags';
    await s3.send(new CreateBucketCommand({ Bucket }));
    const { ETag } = await s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'secret' }));
    const [Principal, Resource] = [{ AWS: guest.userId }, `arn:aws:s3:::${Bucket}/*`];
    await policy(Bucket, [{ Effect: 'Allow', Principal, Action: ['s3:PutObject', 's3:DeleteObject'], Resource }]);
    const foreign = [{ Effect: 'Allow', Principal, Action: 'ec2:RunInstances', Resource }];
    expect(await nameOf(policy(Bucket, foreign))).toBe('MalformedPolicy');
    const put = new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', IfMatch: ETag });
    expect(await nameOf(asGuest.send(put))).toBe('AccessDenied');
    expect(await nameOf(asGuest.send(new DeleteObjectCommand({ Bucket, Key: 'k', IfMatch: ETag })))).toBe(
      'AccessDenied',
    );
    expect(await nameOf(asGuest.send(new DeleteObjectCommand({ Bucket, Key: 'k', IfMatch: '*' })))).toBe('ok');
  });

  it('that permits uploads with a certain ACL needs no second permission for that ACL', async () => {
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

  it('that permits listing a folder makes missing keys return 404 in that folder only', async () => {
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

it('a path with an empty bucket name does not list buckets', async () => {
  const headers = { authorization: 'Bearer none' };
  const answer = await sendRaw(server.url, 'GET', '//bucket/key', headers);
  expect([answer.status, /<Code>(.*?)</.exec(answer.body.toString())?.[1]]).toEqual([400, 'InvalidBucketName']);
  expect(Math.abs(Date.parse(String(answer.headers.date)) - Date.now())).toBeLessThan(600_000);
});

it('a bucket with BucketOwnerEnforced accepts only the ACL bucket-owner-full-control', async () => {
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

describe('the web app on its own host', () => {
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

  it('may send signed CORS requests to all buckets, and no other origin may', async () => {
    const allowed = await preflight('http://app.test:8787', 'authorization,x-amz-date');
    expect(allowed.status).toBe(200);
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'http://app.test:8787',
      'access-control-allow-headers': 'authorization, x-amz-date',
    });
    // Cross-origin requests with cookies are never allowed.
    expect(allowed.headers['access-control-allow-credentials']).toBeUndefined();
    for (const [origin, headers] of [
      ['http://app.test.evil.test', 'authorization'],
      ['http://evil.test', 'authorization'],
      ['http://app.test', 'content-type'],
    ] as const) {
      const refused = await preflight(origin, headers);
      expect([origin, refused.headers['access-control-allow-origin']]).toEqual([origin, undefined]);
    }
  });

  it('can read the responses to signed requests, including errors, and no others', async () => {
    const ask = (headers: Record<string, string>) =>
      sendRaw(apart.url, 'GET', '/no-such-bucket/k', { host: 's3.test', origin: 'http://app.test', ...headers });
    const signed = await ask({ authorization: 'Bearer wrong' });
    expect([signed.status, signed.headers['access-control-allow-origin']]).toEqual([401, 'http://app.test']);
    expect((await ask({})).headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('a header that asks for an unsupported feature', () => {
  const bucket = '/asked-for';
  let token: string;
  const send = async (method: string, path: string, headers: Record<string, string> = {}, body: string = '') => {
    const answer = await sendRaw(
      server.url,
      method,
      bucket + path,
      { authorization: `Bearer ${token}`, ...headers },
      body,
    );
    const text = answer.body.toString();
    return { ...answer, text, code: /<Code>(\w+)/.exec(text)?.[1] ?? String(answer.status) };
  };
  const DATE = 'Mon, 01 Jan 2035 00:00:00 GMT';

  beforeAll(async () => {
    const scopes = ['objects:read', 'objects:write'];
    const made = await server.call('POST', '/v1/iam/tokens', { name: 'asking', user_id: owner.userId, scopes });
    token = made.body.token;
    await send('PUT', '');
    await send('PUT', '/there', { 'content-type': 'text/plain' }, 'there');
  });

  it.each([
    ['a customer key alone', 'x-amz-server-side-encryption-customer-key', 'AAAA', 'InvalidArgument'],
    ['an append', 'x-amz-write-offset-bytes', '5', 'NotImplemented'],
    ['an incomplete object lock', 'x-amz-object-lock-retain-until-date', '2035-01-01T00:00:00Z', 'InvalidArgument'],
    ['a write only if unmodified', 'if-unmodified-since', DATE, 'NotImplemented'],
    ['a checksum that does not match', 'x-amz-checksum-xxhash64', 'AAAAAAAAAAA=', 'BadDigest'],
    ['a checksum without a value', 'x-amz-sdk-checksum-algorithm', 'SHA256', 'InvalidRequest'],
    ['another bucket owner', 'x-amz-expected-bucket-owner', '123456789012', 'AccessDenied'],
  ])('is rejected on uploads: %s', async (_feature, name, value, code) => {
    expect((await send('PUT', '/refused', { [name]: value }, 'x')).code).toBe(code);
    expect((await send('HEAD', '/refused')).status).toBe(404);
  });

  it('is also rejected on reads, deletes, copies and parts', async () => {
    const secret = Buffer.alloc(32, 1);
    const key = {
      'x-amz-server-side-encryption-customer-algorithm': 'AES256',
      'x-amz-server-side-encryption-customer-key': secret.toString('base64'),
      'x-amz-server-side-encryption-customer-key-md5': createHash('md5').update(secret).digest('base64'),
    };
    expect((await send('GET', '/there', key)).code).toBe('InvalidRequest');
    expect((await send('DELETE', '/there', { 'if-none-match': '*' })).code).toBe('NotImplemented');
    const source = { 'x-amz-copy-source': 'asked-for/there' };
    expect((await send('PUT', '/copy', { ...source, 'x-amz-source-expected-bucket-owner': '1' })).code).toBe(
      'AccessDenied',
    );
    const begun = (await send('POST', '/parts?uploads')).text;
    const upload = `uploadId=${/<UploadId>(.*?)</.exec(begun)?.[1]}`;
    expect((await send('PUT', `/parts?partNumber=1&${upload}`, key, 'x')).code).toBe('InvalidRequest');
    const initiated = { 'x-amz-if-match-initiated-time': 'Mon, 01 Jan 2001 00:00:00 GMT' };
    expect((await send('DELETE', `/parts?${upload}`, initiated)).code).toBe('PreconditionFailed');
    expect((await send('DELETE', `/parts?${upload}`)).status).toBe(204);
  });

  it('is named in the error', async () => {
    expect((await send('PUT', '/there', { 'if-none-match': '*' }, 'x')).text).toContain('<Condition>If-None-Match<');
    expect((await send('GET', '/there', { 'if-match': '"x"' })).text).toContain('<Condition>If-Match<');
    const source = { 'x-amz-copy-source': 'asked-for/there', 'x-amz-copy-source-if-match': '"x"' };
    expect((await send('PUT', '/copy', source)).text).toContain('<Condition>x-amz-copy-source-if-match<');
    expect((await send('GET', '/there?uploadId=gone')).text).toContain('<UploadId>gone<');
    expect((await send('GET', '?website')).text).toContain('<BucketName>asked-for<');
  });

  it('is accepted if it asks for the default of every bucket', async () => {
    const encryption = (algorithm: string) =>
      `<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>${algorithm}</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>`;
    expect((await send('PUT', '?encryption', {}, encryption('AES256'))).status).toBe(200);
    expect((await send('PUT', '?encryption', {}, encryption('aws:kms'))).code).toBe('NotImplemented');
    const payer = (name: string) => `<RequestPaymentConfiguration><Payer>${name}</Payer></RequestPaymentConfiguration>`;
    expect((await send('PUT', '?requestPayment', {}, payer('BucketOwner'))).status).toBe(200);
    expect((await send('PUT', '?requestPayment', {}, payer('Requester'))).code).toBe('NotImplemented');
    expect((await send('DELETE', '?lifecycle')).status).toBe(204);
    const copy = { 'x-amz-copy-source': 'asked-for/there', 'x-amz-server-side-encryption': 'AES256' };
    expect((await send('PUT', '/encrypted', copy)).headers['x-amz-server-side-encryption']).toBe('AES256');
    expect((await send('PUT', '?lifecycle', {}, '<LifecycleConfiguration/>')).code).toBe('MalformedXML');
  });
});

it('SHA-512 and MD5 checksums are verified, stored and returned', async () => {
  const digest = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('base64');
  const Bucket = 'more-checksums';
  await s3.send(
    new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { Tags: [{ Key: 'team', Value: 'a' }] } }),
  );
  expect((await s3.send(new GetBucketTaggingCommand({ Bucket }))).TagSet).toEqual([{ Key: 'team', Value: 'a' }]);
  await s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', ChecksumSHA512: digest('sha512', 'x') }));
  const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'k', ChecksumMode: 'ENABLED' }));
  expect(head.ChecksumSHA512).toBe(digest('sha512', 'x'));
  const lie = new PutObjectCommand({ Bucket, Key: 'lie', Body: 'x', ChecksumMD5: digest('md5', 'y') });
  expect(await nameOf(s3.send(lie))).toBe('BadDigest');
});

it('a trailer that was not announced is rejected, because it would not be checked', async () => {
  const made = await server.call('POST', '/v1/iam/tokens', {
    name: 'trailing',
    user_id: owner.userId,
    scopes: ['objects:write'],
  });
  const body = '5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\nx-amz-checksum-sha1:AAAA\r\n\r\n';
  const headers = {
    authorization: `Bearer ${made.body.token}`,
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': '5',
    'x-amz-trailer': 'x-amz-checksum-crc32',
  };
  const answer = await sendRaw(server.url, 'PUT', '/asked-for/trailing', headers, body);
  expect(answer.body.toString()).toContain('<Code>MalformedTrailerError<');
  const announced = await sendRaw(
    server.url,
    'PUT',
    '/asked-for/trailing',
    headers,
    body.replace(/x-amz-checksum-sha1.*\r\n/, ''),
  );
  expect(announced.status).toBe(200);
});

it('the copy of a range has the MD5 of its bytes as ETag', async () => {
  const Bucket = 'copied-ranges';
  await s3.send(new CreateBucketCommand({ Bucket }));
  const bytes = randomBytes(300_000);
  await s3.send(new PutObjectCommand({ Bucket, Key: 'source', Body: bytes }));
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }));
  const part = { Bucket, Key: 'k', UploadId, PartNumber: 1, CopySource: `${Bucket}/source` };
  const copied = await s3.send(new UploadPartCopyCommand({ ...part, CopySourceRange: 'bytes=1000-270000' }));
  const md5 = createHash('md5').update(bytes.subarray(1000, 270_001)).digest('hex');
  expect(copied.CopyPartResult?.ETag).toBe(`"${md5}"`);
});

it('signed chunks that are truncated, too small, or not of the declared length store nothing', async () => {
  const Bucket = 'cut-chunks';
  await s3.send(new CreateBucketCommand({ Bucket }));
  const chunks = [randomBytes(65_536), randomBytes(8192), randomBytes(10)];
  const codeOf = async (key: string, sent: readonly Buffer[], length?: number, cutBytes = 0) => {
    const { headers, body } = encodeSignedChunks(server.url, owner, `/${Bucket}/${key}`, sent, length);
    const cut = body.subarray(0, body.length - cutBytes);
    const answer = await sendRaw(server.url, 'PUT', `/${Bucket}/${key}`, headers, cut);
    return /<Code>(\w+)/.exec(answer.body.toString())?.[1] ?? answer.status;
  };
  const lastChunkBytes = '0;chunk-signature='.length + 64 + 4;
  expect(await codeOf('whole', chunks)).toBe(200);
  expect(await codeOf('no-end', chunks, undefined, lastChunkBytes)).toBe('IncompleteBody');
  expect(await codeOf('half-a-chunk', chunks, undefined, lastChunkBytes + 5)).toBe('IncompleteBody');
  expect(await codeOf('more-promised', chunks, 80_000)).toBe('IncompleteBody');
  expect(await codeOf('less-promised', chunks, 70_000)).toBe('IncompleteBody');
  expect(await codeOf('small-chunks', [...chunks].reverse())).toBe('InvalidChunkSizeError');
  const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }));
  expect(Contents?.map(({ Key }) => Key)).toEqual(['whole']);
});
