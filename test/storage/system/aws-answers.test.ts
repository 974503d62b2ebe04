/** Tests answers that infrastructure tools and compliance scanners compare with those of AWS. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { sendRaw } from '../../support/storage/s3-raw.ts';

const BUCKET = '/answers';
const ENCRYPTION = 'x-amz-server-side-encryption';
let server: TestServer;
let token: string;
let ownerId: string;

beforeAll(async () => {
  server = await startServer();
  ownerId = (await server.createAccessKey('owner')).userId;
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'answers', user_id: ownerId, scopes });
  token = body.token;
  await send('PUT', '');
});
afterAll(() => server[Symbol.asyncDispose]());

type Headers = Record<string, string>;

async function sendTo(path: string, method: string, headers: Headers, body: Buffer | string) {
  const answer = await sendRaw(server.url, method, path, headers, body);
  const text = answer.body.toString();
  return { ...answer, text, code: /<Code>(\w+)/.exec(text)?.[1] ?? String(answer.status) };
}
const send = (method: string, path: string, headers: Headers = {}, body: Buffer | string = '') =>
  sendTo(BUCKET + path, method, { authorization: `Bearer ${token}`, ...headers }, body);

const sha256 = (body: Buffer | string) => createHash('sha256').update(body).digest('base64');

describe('the encryption header', () => {
  const of = async (...request: Parameters<typeof send>) => (await send(...request)).headers[ENCRYPTION];

  it('is sent with every object and every part, also if it was not requested', async () => {
    const upload = await send('POST', '/parts?uploads');
    const id = /<UploadId>(.*?)</.exec(upload.text)?.[1];
    const part = await send('PUT', `/parts?partNumber=1&uploadId=${id}`, {}, 'x');
    await send('PUT', '/plain', {}, 'plain');
    const copied = { 'x-amz-copy-source': 'answers/plain' };
    const partCopy = await send('PUT', `/parts?partNumber=2&uploadId=${id}`, copied);
    const list = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part></CompleteMultipartUpload>`;
    const completed = await send('POST', `/parts?uploadId=${id}`, {}, list);
    const answers = [upload, part, partCopy, completed];
    expect(answers.map((answer) => [answer.status, answer.headers[ENCRYPTION]])).toEqual(
      answers.map(() => [200, 'AES256']),
    );
    expect(await of('PUT', '/plain', {}, 'plain')).toBe('AES256');
    expect(await of('PUT', '/copy', copied)).toBe('AES256');
    expect(await of('GET', '/plain')).toBe('AES256');
    expect(await of('HEAD', '/plain')).toBe('AES256');
    expect(await of('DELETE', '/plain')).toBeUndefined();
  });

  it('cannot be sent with a read, and a KMS key needs KMS', async () => {
    await send('PUT', '/read', {}, 'x');
    expect((await send('HEAD', '/read', { [ENCRYPTION]: 'AES256' })).status).toBe(400);
    expect((await send('GET', '/read', { [ENCRYPTION]: 'AES256' })).code).toBe('InvalidArgument');
    const key = { [`${ENCRYPTION}-aws-kms-key-id`]: 'arn:aws:kms:eu-west-1:1:key/a' };
    expect((await send('PUT', '/kms', key, 'x')).code).toBe('InvalidArgument');
    expect((await send('PUT', '/kms', { ...key, [ENCRYPTION]: 'AES256' }, 'x')).code).toBe('InvalidArgument');
    expect((await send('PUT', '/kms', { ...key, [ENCRYPTION]: 'aws:kms' }, 'x')).code).toBe('NotImplemented');
    expect((await send('HEAD', '/kms')).status).toBe(404);
  });
});

describe('the encryption configuration of a bucket', () => {
  const toDocument = (rule: string) => `<ServerSideEncryptionConfiguration>${rule}</ServerSideEncryptionConfiguration>`;
  const byDefault = (algorithm: string, more = '') =>
    `<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>${algorithm}</SSEAlgorithm>${more}</ApplyServerSideEncryptionByDefault></Rule>`;
  const put = async (rule: string) => (await send('PUT', '?encryption', {}, toDocument(rule))).code;
  const get = async () => (await send('GET', '?encryption')).text.replace(/^.*?<Rule>|<\/Rule>.*$/gs, '');
  const AES256 =
    '<ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault>';

  it('is SSE-S3 from the start, and is returned as it was set', async () => {
    expect(await get()).toBe(`${AES256}<BucketKeyEnabled>false</BucketKeyEnabled>`);
    const blocked = '<BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType></BlockedEncryptionTypes>';
    expect(await put(`<Rule>${AES256}<BucketKeyEnabled>true</BucketKeyEnabled>${blocked}</Rule>`)).toBe('200');
    expect(await get()).toBe(`${AES256}<BucketKeyEnabled>true</BucketKeyEnabled>${blocked}`);
    expect(await put(byDefault('AES256'))).toBe('200');
    expect(await get()).toBe(`${AES256}<BucketKeyEnabled>false</BucketKeyEnabled>`);
  });

  it('can be deleted, and objects are encrypted all the same', async () => {
    expect((await send('DELETE', '?encryption')).status).toBe(204);
    const missing = await send('GET', '?encryption');
    expect([missing.status, missing.code]).toEqual([404, 'ServerSideEncryptionConfigurationNotFoundError']);
    expect((await send('PUT', '/deleted', {}, 'x')).headers[ENCRYPTION]).toBe('AES256');
    expect((await send('DELETE', '?encryption')).status).toBe(204);
    expect(await put(byDefault('AES256'))).toBe('200');
    expect((await send('GET', '?encryption')).status).toBe(200);
  });

  it.each([
    ['KMS', byDefault('aws:kms'), 'NotImplemented'],
    ['KMS in two layers', byDefault('aws:kms:dsse'), 'NotImplemented'],
    ['an unknown algorithm', byDefault('AES128'), 'MalformedXML'],
    ['a KMS key for SSE-S3', byDefault('AES256', '<KMSMasterKeyID>k</KMSMasterKeyID>'), 'InvalidArgument'],
    ['no rule', '', 'MalformedXML'],
    ['two rules', byDefault('AES256').repeat(2), 'MalformedXML'],
    ['an empty rule', '<Rule/>', 'MalformedXML'],
  ])('rejects %s and stays as it was', async (_name, rule, code) => {
    const before = await get();
    expect(await put(rule)).toBe(code);
    expect(await get()).toBe(before);
  });
});

describe('a read of a configuration that was never set', () => {
  it.each([
    ['analytics', 'ListBucketAnalyticsConfigurationResult'],
    ['intelligent-tiering', 'ListBucketIntelligentTieringConfigurationsOutput'],
    ['inventory', 'ListInventoryConfigurationsResult'],
    ['metrics', 'ListMetricsConfigurationsResult'],
  ])('of %s is an empty list, or NoSuchConfiguration for one id', async (name, root) => {
    const list = await send('GET', `?${name}`);
    expect([list.status, list.text]).toEqual([
      200,
      expect.stringContaining(
        `<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated></${root}>`,
      ),
    ]);
    const one = await send('GET', `?${name}&id=daily`);
    expect([one.status, one.code]).toEqual([404, 'NoSuchConfiguration']);
    const written = await send('PUT', `?${name}&id=daily`, {}, '<A/>');
    expect([written.status, written.text]).toEqual([501, expect.stringContaining(`&quot;${name}&quot;`)]);
  });

  it('of an object lock says that the bucket has none', async () => {
    await send('PUT', '/unlocked', {}, 'x');
    for (const name of ['retention', 'legal-hold']) {
      const answer = await send('GET', `/unlocked?${name}`);
      expect([answer.status, answer.code]).toEqual([400, 'InvalidRequest']);
      expect((await send('GET', `/missing?${name}`)).code).toBe('NoSuchKey');
    }
    const table = await send('GET', '?metadataTable');
    expect([table.status, table.code]).toEqual([404, 'MetadataConfigurationNotFound']);
  });

  it('needs the permission that AWS names', async () => {
    const reader = await server.createAccessKey('terraform');
    const scopes = ['objects:read'];
    const made = await server.call('POST', '/v1/iam/tokens', { name: 't', user_id: reader.userId, scopes });
    const read = async () =>
      (await sendTo(`${BUCKET}?lifecycle`, 'GET', { authorization: `Bearer ${made.body.token}` }, '')).code;
    expect(await read()).toBe('AccessDenied');
    const Statement = {
      Effect: 'Allow',
      Principal: { AWS: reader.userId },
      Action: 's3:GetLifecycleConfiguration',
      Resource: 'arn:aws:s3:::answers',
    };
    expect((await send('PUT', '?policy', {}, JSON.stringify({ Version: '2012-10-17', Statement }))).status).toBe(204);
    expect(await read()).toBe('NoSuchLifecycleConfiguration');
    await send('DELETE', '?policy');
  });

  it.each([
    ['GET', 'ListTagsForResource'],
    ['POST', 'TagResource'],
    ['DELETE', 'UntagResource'],
  ])('%s of tags by S3 Control is refused in the form after which Terraform falls back', async (method, action) => {
    const path = `/v20180820/tags/arn%3Aaws%3As3%3A%3A%3Aanswers`;
    const headers = { 'x-amz-account-id': '123456789012', authorization: `Bearer ${token}` };
    const answer = await sendTo(path, method, headers, '');
    expect(answer.status).toBe(403);
    expect(answer.text).toMatch(/<ErrorResponse><Error><Code>AccessDenied<\/Code>/);
    expect(answer.text).toContain(`is not authorized to perform: s3:${action}`);
    expect((await sendTo('/v20180820/configuration/x', method, headers, '')).status).toBe(501);
    // Without the header that names the account, the path names a bucket and an object as usual.
    const plain = await sendTo(path, 'GET', { authorization: `Bearer ${token}` }, '');
    expect(plain.code).toBe('NoSuchBucket');
  });
});

describe('the principals of a bucket policy', () => {
  const put = async (Principal: unknown, element = 'Principal', Effect = 'Deny') => {
    const Statement = { Effect, [element]: Principal, Action: 's3:GetObject', Resource: 'arn:aws:s3:::answers/*' };
    return await send('PUT', '?policy', {}, JSON.stringify({ Version: '2012-10-17', Statement }));
  };

  it.each([
    [{ AWS: '' }],
    [{ AWS: [] }],
    [{}],
    [{ AWS: 'nobody' }],
    [{ AWS: '123456789012' }],
    [{ CanonicalUser: 'x' }],
    [{ AWS: 'arn:aws:iam::123456789012:user/x' }],
    [{ AWS: 'arn:aws:iam::123456789012:root' }],
    [{ AWS: 'arn:aws:sts::1:federated-user/x' }],
    [{ Service: 'no.such.service' }],
    [{ Federated: 'x' }],
    [{ AWS: ['OWNER', 'nobody'] }],
    [{ AWS: 'arn:aws:iam::OWNER:role/whatever' }],
    [{ AWS: 'arn:aws:iam::OWNER:user/somebody' }],
  ])('must exist: %j is rejected', async (principal) => {
    const named = JSON.parse(JSON.stringify(principal).replaceAll('OWNER', ownerId));
    for (const element of ['Principal', 'NotPrincipal']) {
      const answer = await put(named, element);
      expect([answer.code, answer.text]).toEqual([
        'MalformedPolicy',
        expect.stringContaining('Invalid principal in policy'),
      ]);
    }
  });

  it.each([
    [{ AWS: 'OWNER' }],
    [{ AWS: ['*', 'OWNER'] }],
    [{ CanonicalUser: 'OWNER' }],
    [{ AWS: 'arn:aws:iam::OWNER:root' }],
    [{ AWS: 'arn:aws:iam::OWNER:user/OWNER' }],
    [{ AWS: 'arn:aws:iam:::user/OWNER' }],
    ['*'],
  ])('are accepted if they exist: %j', async (principal) => {
    const named = JSON.parse(JSON.stringify(principal).replaceAll('OWNER', ownerId));
    expect((await put(named, 'Principal', 'Allow')).status).toBe(204);
    await send('DELETE', '?policy');
  });
});

it('a composite upload completes only with the checksum of each part, one per part', async () => {
  const headers = { 'x-amz-checksum-algorithm': 'SHA256' };
  const id = /<UploadId>(.*?)</.exec((await send('POST', '/composite?uploads', headers)).text)?.[1];
  const digest = sha256('part');
  const part = await send('PUT', `/composite?partNumber=1&uploadId=${id}`, { 'x-amz-checksum-sha256': digest }, 'part');
  const complete = (checksums: string) =>
    send(
      'POST',
      `/composite?uploadId=${id}`,
      {},
      `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag>${checksums}</Part></CompleteMultipartUpload>`,
    );
  const missing = await complete('');
  expect([missing.code, missing.text]).toEqual([
    'InvalidRequest',
    expect.stringContaining('It was missing for part 1 in the request.'),
  ]);
  const own = `<ChecksumSHA256>${digest}</ChecksumSHA256>`;
  expect((await complete(`${own}<ChecksumCRC32>AAAAAA==</ChecksumCRC32>`)).code).toBe('InvalidArgument');
  expect((await complete(`<ChecksumSHA256>${sha256('other')}</ChecksumSHA256>`)).code).toBe('BadDigest');
  expect((await complete(own)).status).toBe(200);
  const copied = await send('PUT', '/composite-copy', { 'x-amz-copy-source': 'answers/composite' });
  expect(copied.text).toContain(`&quot;${createHash('md5').update('part').digest('hex')}&quot;`);
  expect(copied.text).toContain(`<ChecksumSHA256>${digest}</ChecksumSHA256><ChecksumType>FULL_OBJECT</ChecksumType>`);
});

describe('anonymous callers of a publicly writable bucket', () => {
  it('neither begin uploads in parts nor delete many objects', async () => {
    await send('PUT', '?acl', { 'x-amz-acl': 'public-read-write' });
    expect((await sendTo(`${BUCKET}/by-nobody`, 'PUT', {}, 'x')).status).toBe(200);
    expect((await sendTo(`${BUCKET}/by-nobody?uploads`, 'POST', {}, '')).code).toBe('AccessDenied');
    const list = '<Delete><Object><Key>by-nobody</Key></Object></Delete>';
    const digest = { 'x-amz-checksum-sha256': sha256(list) };
    expect((await sendTo(`${BUCKET}?delete`, 'POST', digest, list)).code).toBe('AccessDenied');
    expect((await send('HEAD', '/by-nobody')).status).toBe(200);
  });

  it('cannot name an unknown checksum algorithm in a form', async () => {
    const form = (algorithm: string) => {
      const field = (name: string, text: string) =>
        `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
      const body = `${field('key', 'form')}${field('x-amz-checksum-algorithm', algorithm)}--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n`;
      return sendTo(BUCKET, 'POST', { 'content-type': 'multipart/form-data; boundary=b' }, body);
    };
    expect((await form('bogus')).code).toBe('InvalidRequest');
    const uploaded = await form('CRC32');
    expect([uploaded.status, uploaded.headers[ENCRYPTION]]).toEqual([204, 'AES256']);
  });
});

it('a bucket is named by its ARN, and a negative age of CORS is accepted', async () => {
  const arn = 'arn:aws:s3:::answers';
  expect((await send('PUT', '')).headers['x-amz-bucket-arn']).toBe(arn);
  expect((await send('HEAD', '')).headers['x-amz-bucket-arn']).toBe(arn);
  const rule = (age: string) =>
    `<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin><MaxAgeSeconds>${age}</MaxAgeSeconds></CORSRule></CORSConfiguration>`;
  expect((await send('PUT', '?cors', {}, rule('-1'))).status).toBe(200);
  expect((await send('GET', '?cors')).text).toContain('<MaxAgeSeconds>-1</MaxAgeSeconds>');
  expect((await send('PUT', '?cors', {}, rule('soon'))).code).toBe('MalformedXML');
});
