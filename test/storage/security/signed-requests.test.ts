/**
 * Findings 11 and 12 of the security review: a signature covers the meaning of a query and all metadata, in links and in requests
 * signed in the header.
 */
import {
  CreateBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, createSdkClient } from '../../support/storage/s3-client.ts';
import { type Raw, sendRaw } from '../../support/storage/s3-raw.ts';
import { signLink, signRequest } from '../../support/storage/sigv4-signer.ts';

const Bucket = 'plus';
const KEYS = ['a b/x', 'a+b/x', 'a%2Bb/x'];

let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;
let s3: S3Client;
let clients: ReturnType<typeof createClients>;

beforeAll(async () => {
  server = await startServer();
  owner = await server.createAccessKey('owner');
  s3 = createSdkClient(server.url, owner);
  clients = createClients(server.url, owner);
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const Key of KEYS) await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
});
afterAll(() => server[Symbol.asyncDispose]());

const outcomeOf = ({ status, body }: Raw) => {
  const text = body.toString();
  const keys = [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key);
  return status === 200 ? keys : (/<Code>(.*?)<\/Code>/.exec(text)?.[1] ?? status);
};
type Send = (query: Record<string, string>, change: (target: string) => string) => Promise<Raw>;
const sendLink: Send = (query, change) =>
  sendRaw(
    server.url,
    'GET',
    change(signLink({ url: server.url, credentials: owner, method: 'GET', path: '/plus', query })),
  );
const sendSigned: Send = (query, change) => {
  const signed = signRequest({ url: server.url, credentials: owner, method: 'GET', path: '/plus', query });
  return sendRaw(server.url, 'GET', change(signed.target), signed.headers);
};
const unchanged = (target: string) => target;

describe.each([
  ['a link', sendLink],
  ['a request signed in the header', sendSigned],
] as const)('the prefix of %s', (_, send) => {
  it('keeps a signed plus', async () => {
    expect(outcomeOf(await send({ prefix: 'a+b/' }, unchanged))).toEqual(['a+b/x']);
    expect(outcomeOf(await send({ prefix: 'a+b/' }, (target) => target.replace('%2Bb', '%2bb')))).toEqual(['a+b/x']);
  });
  it('cannot be turned from a plus into a space', async () => {
    const bent = (target: string) => {
      expect(target).toContain('a%2Bb');
      return target.replace('a%2Bb', 'a+b');
    };
    expect(outcomeOf(await send({ prefix: 'a+b/' }, bent))).toBe('SignatureDoesNotMatch');
  });
  it('may have a space as + or as %20', async () => {
    expect(outcomeOf(await send({ prefix: 'a b/' }, unchanged))).toEqual(['a b/x']);
    expect(outcomeOf(await send({ prefix: 'a b/' }, (target) => target.replace('a%20b', 'a+b')))).toEqual(['a b/x']);
  });
  it('cannot be turned from a space into a plus', async () => {
    const bent = (target: string) => target.replace('a%20b', 'a%2Bb');
    expect(outcomeOf(await send({ prefix: 'a b/' }, bent))).toBe('SignatureDoesNotMatch');
  });
});

describe('metadata in the query of a link', () => {
  it('keeps a signed plus', async () => {
    const sign = () =>
      signLink({
        url: server.url,
        credentials: owner,
        method: 'PUT',
        path: '/plus/hoisted',
        query: { 'x-amz-meta-sum': '1+1' },
      });
    expect((await sendRaw(server.url, 'PUT', sign().replace('1%2B1', '1+1'), {}, 'x')).status).toBe(403);
    expect((await sendRaw(server.url, 'PUT', sign(), {}, 'x')).status).toBe(200);
    expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'hoisted' }))).Metadata).toEqual({ sum: '1+1' });
  });
});

describe('the header x-meta-*, an alias of x-amz-meta-*', () => {
  const put = (path: string, headers: Record<string, string> = {}) => ({
    url: server.url,
    credentials: owner,
    method: 'PUT',
    path,
    headers,
  });
  const metadataOf = async (Key: string) => (await s3.send(new HeadObjectCommand({ Bucket, Key }))).Metadata;
  const isStored = async (Prefix: string) =>
    (await s3.send(new ListObjectsV2Command({ Bucket, Prefix }))).KeyCount !== 0;

  it.each(['x-meta-injected', 'X-Meta-Injected', 'x-amz-meta-injected'])(
    'is refused unsigned on a link as %s',
    async (name) => {
      const answer = await sendRaw(server.url, 'PUT', signLink(put(`/plus/link-${name}`)), { [name]: 'yes' }, 'x');
      expect([answer.status, outcomeOf(answer)]).toEqual([403, 'AccessDenied']);
      expect(answer.body.toString()).toContain('<HeadersNotSigned>');
      expect(await isStored(`link-${name}`)).toBe(false);
    },
  );
  it.each(['x-meta-injected', 'x-amz-meta-injected'])(
    'is refused unsigned on a request signed in the header as %s',
    async (name) => {
      const signed = signRequest(put(`/plus/header-${name}`));
      const answer = await sendRaw(server.url, 'PUT', signed.target, { ...signed.headers, [name]: 'yes' }, 'x');
      expect([answer.status, outcomeOf(answer)]).toEqual([403, 'AccessDenied']);
      expect(await isStored(`header-${name}`)).toBe(false);
    },
  );
  it('is stored if it is signed', async () => {
    const header = { 'x-meta-colour': 'blue' };
    const link = signLink(put('/plus/signed-link', header));
    expect((await sendRaw(server.url, 'PUT', link, header, 'x')).status).toBe(200);
    const signed = signRequest(put('/plus/signed-header', header));
    expect((await sendRaw(server.url, 'PUT', signed.target, signed.headers, 'x')).status).toBe(200);
    expect([await metadataOf('signed-link'), await metadataOf('signed-header')]).toEqual([
      { colour: 'blue' },
      { colour: 'blue' },
    ]);
  });
});

const LIST = `
import boto3, json, sys, urllib.request
from botocore.client import Config
s3 = boto3.client('s3', endpoint_url=sys.argv[1], config=Config(signature_version='s3v4'))
def names(prefix):
    link = s3.generate_presigned_url('list_objects_v2', Params={'Bucket': 'plus', 'Prefix': prefix, 'EncodingType': 'url'})
    by_link = urllib.request.urlopen(link).read().decode()
    listed = [entry['Key'] for entry in s3.list_objects_v2(Bucket='plus', Prefix=prefix)['Contents']]
    return [listed, by_link.count('<Key>')]
print(json.dumps([names('a b/'), names('a+b/'), names('a%2Bb/')]))
`;

describe.skipIf(!hasClient('/usr/bin/aws', 'rclone', 's3cmd', '/usr/bin/python3'))('real clients', () => {
  it('list prefixes with a space, a plus and a percent sign: boto3', async () => {
    expect(JSON.parse(await clients.python(LIST, server.url))).toEqual(KEYS.map((key) => [[key], 1]));
  });
  it.each(KEYS)('list and read %s: aws, rclone, s3cmd', async (key) => {
    const folder = key.slice(0, -1);
    const query = ['--query', 'Contents[].Key', '--output', 'json'];
    const listed = await clients.aws('s3api', 'list-objects-v2', '--bucket', Bucket, '--prefix', folder, ...query);
    expect(JSON.parse(listed)).toEqual([key]);
    expect((await clients.rclone('lsf', `t:${Bucket}/${folder}`)).trim()).toBe('x');
    expect(await clients.rclone('cat', `t:${Bucket}/${key}`)).toBe(key);
    expect(await clients.s3cmd('ls', `s3://${Bucket}/${folder}`)).toContain(`s3://${Bucket}/${key}`);
  });
});
