/**
 * Tests presigned links as common clients create them by default, often with Signature Version 2, and the rights of their holders.
 */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, createSdkClient, mustRun } from '../../support/storage/s3-client.ts';
import { type Raw, sendRaw } from '../../support/storage/s3-raw.ts';

const Bucket = 'links';
const KEY = 'a b/ü+(1).txt';
const TEXT = 'linked bytes';
const REGIONS = ['us-east-1', 'eu-west-1', 'eu-central-1', 'auto'];

let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;
let clients: ReturnType<typeof createClients>;

beforeAll(async () => {
  server = await startServer({ vars: { S3_HOST: 's3.test' } });
  owner = await server.createAccessKey('owner');
  s3 = createSdkClient(server.url, owner);
  clients = createClients(server.url, owner);
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new PutObjectCommand({ Bucket, Key: KEY, Body: TEXT }));
});
afterAll(() => server[Symbol.asyncDispose]());

const curl = (...args: string[]) =>
  mustRun('curl', ['-sS', '-w', '|%{http_code}|%header{content-disposition}', ...args]);
const textOf = async (Key: string) => (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body?.transformToString();
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Creates a SigV2 link, which the test signs itself. */
function toLink(method: string, target: string, expires = nowSeconds() + 600, amzHeaders = '', key = owner): string {
  const text = `${method}\n\n\n${expires}\n${amzHeaders}${target}`;
  const signature = createHmac('sha1', key.secretAccessKey).update(text).digest('base64');
  const joiner = target.includes('?') ? '&' : '?';
  return `${target}${joiner}AWSAccessKeyId=${key.accessKeyId}&Expires=${expires}&Signature=${encodeURIComponent(signature)}`;
}
const send = (method: string, target: string, headers: Record<string, string> = {}, body?: string) =>
  sendRaw(server.url, method, target, headers, body);
const codeOf = ({ status, body }: Raw) => /<Code>(.*?)<\/Code>/.exec(body.toString())?.[1] ?? status;

const PRESIGN = `
import boto3, json, os, sys
from botocore.client import Config
region, bucket, key, url, style = sys.argv[1:6]
s3 = boto3.client('s3', endpoint_url=url, region_name=region, config=Config(s3={'addressing_style': style}))
def link(operation, **params):
    return s3.generate_presigned_url(operation, {'Bucket': bucket, **params})
put = {'ACL': 'public-read', 'Metadata': {'colour': 'sky blue'}, 'ContentType': 'text/x-note'}
print(json.dumps({
    'get': link('get_object', Key=key),
    'named': link('get_object', Key=key, ResponseContentDisposition='attachment; filename="a b+c.txt"'),
    'head': link('head_object', Key=key),
    'list': link('list_objects', Prefix='a b/'),
    'put': link('put_object', Key='by-link ' + region),
    'typed': link('put_object', Key='typed ' + region, **put),
    'delete': link('delete_object', Key='by-link ' + region),
    'week': s3.generate_presigned_url('get_object', {'Bucket': bucket, 'Key': key}, ExpiresIn=604800),
    'month': s3.generate_presigned_url('get_object', {'Bucket': bucket, 'Key': key}, ExpiresIn=2592000),
}))
`;
type Links = Readonly<
  Record<'get' | 'named' | 'head' | 'list' | 'put' | 'typed' | 'delete' | 'week' | 'month', string>
>;
const presign = async (region: string, url = server.url, style = 'path'): Promise<Links> =>
  JSON.parse(await clients.python(PRESIGN, region, Bucket, KEY, url, style));

describe.skipIf(!hasClient('/usr/bin/python3', 'curl'))('links of boto3 with default settings', () => {
  it.each(REGIONS)('let curl get, list, put and delete, region %s', async (region) => {
    const links = await presign(region);
    expect(await curl(links.get)).toBe(`${TEXT}|200|`);
    expect(await curl(links.named)).toBe(`${TEXT}|200|attachment; filename="a b+c.txt"`);
    expect(await curl('--head', '-o', '/dev/null', links.head)).toBe('|200|');
    expect(await curl(links.list)).toContain('<Key>a%20b/');
    const file = join(clients.home, 'upload');
    writeFileSync(file, `from ${region}`);
    expect(await curl('-T', file, links.put)).toBe('|200|');
    expect(await textOf(`by-link ${region}`)).toBe(`from ${region}`);
    expect(await curl('-X', 'DELETE', links.delete)).toBe('|204|');
    expect(await nameOf(textOf(`by-link ${region}`))).toBe('NoSuchKey');
  });

  it('store the metadata and the ACL that the signer chose for an upload', async () => {
    const { typed } = await presign('us-east-1');
    expect(typed).toContain('AWSAccessKeyId=');
    const file = join(clients.home, 'upload');
    writeFileSync(file, 'typed');
    expect(await curl('-T', file, typed)).toContain('SignatureDoesNotMatch');
    expect(await curl('-T', file, '-H', 'content-type: text/x-note', typed)).toBe('|200|');
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'typed us-east-1' }));
    expect([head.ContentType, head.Metadata]).toEqual(['text/x-note', { colour: 'sky blue' }]);
    expect((await fetch(`${server.url}/${Bucket}/typed%20us-east-1`)).status).toBe(200);
    const bent = typed.replace('x-amz-acl=public-read', 'x-amz-acl=public-read-write');
    expect(await curl('-T', file, '-H', 'content-type: text/x-note', bent)).toContain('SignatureDoesNotMatch');
  });

  it('are valid for at most one week', async () => {
    const { week, month } = await presign('us-east-1');
    expect(await curl(week)).toBe(`${TEXT}|200|`);
    expect(await curl(month)).toMatch(
      /<Code>AccessDenied<.*Expires must be at most 7 days \(604800 seconds\) ahead\./s,
    );
  });

  it('work with the bucket in the host name', async () => {
    const { port } = new URL(server.url);
    const links = await presign('us-east-1', `http://s3.test:${port}`, 'virtual');
    expect(links.get).toMatch(/^http:\/\/links\.s3\.test:\d+\/a%20b\/.*AWSAccessKeyId=/);
    const resolve = ['--resolve', `${Bucket}.s3.test:${port}:127.0.0.1`];
    expect(await curl(...resolve, links.get)).toBe(`${TEXT}|200|`);
    expect(await curl(...resolve, links.named)).toContain('|200|attachment');
    expect(await curl(...resolve, links.list)).toContain('<Key>a%20b/');
  });
});

describe.skipIf(!hasClient('/usr/bin/aws', 'curl'))('links of the AWS CLI', () => {
  it('return the bytes', async () => {
    expect(await curl((await clients.aws('s3', 'presign', `s3://${Bucket}/${KEY}`)).trim())).toBe(`${TEXT}|200|`);
  });
});

describe.skipIf(!hasClient('s3cmd', 'curl'))('links of s3cmd', () => {
  it('return the bytes, with a file name', async () => {
    const target = [`s3://${Bucket}/${KEY}`, '+600'];
    expect(await curl((await clients.s3cmd('signurl', ...target)).trim())).toBe(`${TEXT}|200|`);
    const named = await clients.s3cmd('--content-disposition=attachment; filename=x y', 'signurl', ...target);
    expect(await curl(named.trim())).toBe(`${TEXT}|200|attachment; filename=x y`);
  });
});

describe('the holder of a SigV2 link', () => {
  const path = `/${Bucket}/${encodeURIComponent(KEY).replace('%2F', '/')}`;

  it('can do only the signed operation, until the link expires', async () => {
    expect((await send('GET', toLink('GET', path))).body.toString()).toBe(TEXT);
    const expired = await send('GET', toLink('GET', path, nowSeconds() - 1));
    expect([codeOf(expired), expired.body.toString()]).toEqual([
      'AccessDenied',
      expect.stringContaining('Request has expired'),
    ]);
    expect(codeOf(await send('PUT', toLink('GET', path), {}, 'other'))).toBe('SignatureDoesNotMatch');
    expect(await textOf(KEY)).toBe(TEXT);
  });

  it.each([
    'versionId=00000000-0000-1000-8000-000000000000',
    'acl',
    'tagging',
    'attributes',
    'torrent',
    'annotation',
    'uploadId=u',
    'legal-hold',
  ])('cannot turn a GET into another operation: &%s', async (added) => {
    const answer = await send('GET', `${toLink('GET', path)}&${added}`);
    expect([400, 403, 501]).toContain(answer.status);
    expect(answer.body.toString()).not.toContain(TEXT);
  });

  it.each(['acl', 'tagging', 'foo', 'renameObject', 'encryption', 'x-amz-acl=public-read', 'partNumber=1&uploadId=u'])(
    'cannot turn a PUT into another operation: &%s',
    async (added) => {
      const answer = await send('PUT', `${toLink('PUT', path)}&${added}`, {}, 'other');
      expect([403, 501]).toContain(answer.status);
      expect(await textOf(KEY)).toBe(TEXT);
    },
  );

  it('cannot add metadata or an ACL', async () => {
    const link = toLink('PUT', `/${Bucket}/bent`);
    for (const [name, value] of [
      ['x-amz-acl', 'public-read'],
      ['x-amz-meta-a', '1'],
      ['x-meta-a', '1'],
      ['x-amz-copy-source', `/${Bucket}/${encodeURIComponent(KEY)}`],
    ] as const) {
      expect((await send('PUT', link, { [name]: value }, 'bent')).status).toBe(403);
    }
    expect(await nameOf(textOf('bent'))).toBe('NoSuchKey');
    expect((await send('PUT', link, {}, 'straight')).status).toBe(200);
  });

  it('is refused if the signer chose its own encryption key, instead of storing unencrypted', async () => {
    const name = 'x-amz-server-side-encryption-customer-algorithm';
    const link = toLink('PUT', `/${Bucket}/secret`, undefined, `${name}:AES256\n`);
    expect(codeOf(await send('PUT', `${link}&${name}=AES256`, {}, 'x'))).toBe('InvalidArgument');
    expect(await nameOf(textOf('secret'))).toBe('NoSuchKey');
  });

  it('has only the permissions of the signer', async () => {
    const guest = await server.createAccessKey('guest');
    expect(codeOf(await send('GET', toLink('GET', path, undefined, '', guest)))).toBe('AccessDenied');
    await server.call('DELETE', `/v1/iam/access-keys/${guest.accessKeyId}`);
    expect(codeOf(await send('GET', toLink('GET', path, undefined, '', guest)))).toBe('InvalidAccessKeyId');
  });

  it('is refused by a policy that requires Signature Version 4', async () => {
    await s3.send(new CreateBucketCommand({ Bucket: 'v4-only' }));
    await s3.send(new PutObjectCommand({ Bucket: 'v4-only', Key: 'k', Body: 'x' }));
    const link = toLink('GET', '/v4-only/k');
    expect((await send('GET', link)).status).toBe(200);
    const Statement = {
      Effect: 'Deny',
      Principal: '*',
      Action: 's3:*',
      Resource: 'arn:aws:s3:::v4-only/*',
      Condition: { StringNotEquals: { 's3:signatureversion': 'AWS4-HMAC-SHA256' } },
    };
    const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
    await s3.send(new PutBucketPolicyCommand({ Bucket: 'v4-only', Policy }));
    expect(codeOf(await send('GET', link))).toBe('AccessDenied');
    expect(await (await s3.send(new GetObjectCommand({ Bucket: 'v4-only', Key: 'k' }))).Body?.transformToString()).toBe(
      'x',
    );
  });
});

it('ALLOW_SIGV2=false rejects SigV2 links and forms, and the error names SigV4', async () => {
  await s3.send(new PutObjectCommand({ Bucket, Key: 'straight', Body: 'straight' }));
  await server.stop();
  await server.start({ ALLOW_SIGV2: 'false' });
  const refused = await send('GET', toLink('GET', `/${Bucket}/straight`));
  expect([codeOf(refused), refused.body.toString()]).toEqual([
    'InvalidRequest',
    expect.stringContaining('Please use AWS4-HMAC-SHA256.'),
  ]);
  const policy = Buffer.from(JSON.stringify({ expiration: '2099-01-01T00:00:00Z', conditions: [] })).toString('base64');
  const form = new FormData();
  form.set('key', 'by-form');
  form.set('policy', policy);
  form.set('AWSAccessKeyId', owner.accessKeyId);
  form.set('signature', createHmac('sha1', owner.secretAccessKey).update(policy).digest('base64'));
  form.set('file', new Blob(['x']));
  const posted = await fetch(`${server.url}/${Bucket}`, { method: 'POST', body: form });
  expect([posted.status, await posted.text()]).toEqual([400, expect.stringContaining('InvalidRequest')]);
  expect(await textOf('straight')).toBe('straight');
});

const nameOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: Error) => error.name,
  );
