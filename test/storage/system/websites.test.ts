/** Tests websites in buckets: requests as a browser sends them, to the host of a bucket. */
import { request } from 'node:http';
import {
  CreateBucketCommand,
  DeleteBucketWebsiteCommand,
  GetBucketWebsiteCommand,
  PutBucketPolicyCommand,
  PutBucketWebsiteCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const Bucket = 'pages';
const HOST = `${Bucket}.s3.test`;
let server: TestServer;
let owner: S3Client;

interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** `fetch` cannot choose the host. */
const open = (path: string, { host = HOST, method = 'GET', ...headers }: Record<string, string> = {}): Promise<Page> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    request({ hostname, port, path, method, headers: { host, ...headers } }, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
    })
      .on('error', reject)
      .end();
  });

const put = (Key: string, Body: string, more = {}) =>
  owner.send(new PutObjectCommand({ Bucket, Key, Body, ContentType: 'text/html', ...more }));

beforeAll(async () => {
  server = await startServer({ vars: { S3_HOST: 's3.test', WEBSITE_SCRIPTS: 'true' } });
  owner = createSdkClient(server.url, await server.createAccessKey('owner'));
  await owner.send(new CreateBucketCommand({ Bucket }));
  const Statement = [
    { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${Bucket}/*` },
    { Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: `arn:aws:s3:::${Bucket}/private/*` },
  ];
  await owner.send(
    new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement }) }),
  );
  await put('index.html', '<script>1</script>');
  await put('docs/index.html', 'docs', { CacheControl: 'public, max-age=60' });
  await put('private/index.html', 'secret');
  await put('error.html', 'lost');
  await put('old', '', { WebsiteRedirectLocation: '/docs/' });
  const WebsiteConfiguration = { IndexDocument: { Suffix: 'index.html' }, ErrorDocument: { Key: 'error.html' } };
  await owner.send(new PutBucketWebsiteCommand({ Bucket, WebsiteConfiguration }));
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a website', () => {
  it('has the index document of each folder, and a redirect to it', async () => {
    // An isolate uses its copy of a bucket for some seconds.
    await expect.poll(async () => (await open('/')).status, { timeout: 30_000 }).toBe(200);
    expect(await open('/')).toMatchObject({ status: 200, text: '<script>1</script>' });
    expect(await open('/docs/')).toMatchObject({ status: 200, text: 'docs' });
    expect(await open('/docs')).toMatchObject({ status: 302, headers: { location: `http://${HOST}/docs/` } });
    expect(await open('/old')).toMatchObject({ status: 301, headers: { location: '/docs/' } });
    expect(await open('/', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    const { headers } = await open('/');
    expect(await open('/', { 'if-none-match': String(headers.etag) })).toMatchObject({ status: 304 });
  });

  it('has the Cache-Control of each object, and says no more than that the edge must not change the bytes', async () => {
    const cacheControl = async (path: string, encoding?: string) =>
      (await open(path, encoding ? { 'accept-encoding': encoding } : {})).headers['cache-control'];
    expect(await cacheControl('/docs/')).toBe('public, max-age=60');
    expect(await cacheControl('/docs/', 'gzip')).toBe('public, max-age=60, no-transform');
    expect(await cacheControl('/')).toBeUndefined();
    expect(await cacheControl('/', 'gzip')).toBe('no-transform');
  });

  it('answers errors with the error document, and reads nothing that is not public', async () => {
    expect(await open('/none')).toMatchObject({ status: 403, text: 'lost' });
    expect(await open('/private/', { range: 'bytes=0-1' })).toMatchObject({ status: 403, text: 'lost' });
    expect((await open('/private')).status).toBe(403);
  });

  it('may run scripts at the host of the bucket only', async () => {
    expect((await open('/')).headers['content-security-policy']).toBeUndefined();
    const byPath = await open(`/${Bucket}/index.html`, { host: 's3.test' });
    expect(byPath).toMatchObject({ status: 200, headers: { 'content-security-policy': 'sandbox' } });
  });

  it('leaves requests with a query or a signature to the S3 API', async () => {
    expect((await open('/?list-type=2')).status).toBe(403);
    expect((await open('/', { authorization: 'AWS4-HMAC-SHA256 x' })).text).toContain('<Error>');
  });

  it('is configured with the documents of S3, without routing rules', async () => {
    const { IndexDocument, ErrorDocument } = await owner.send(new GetBucketWebsiteCommand({ Bucket }));
    expect([IndexDocument, ErrorDocument]).toEqual([{ Suffix: 'index.html' }, { Key: 'error.html' }]);
    const set = (WebsiteConfiguration: object) =>
      owner.send(new PutBucketWebsiteCommand({ Bucket, WebsiteConfiguration })).then(
        () => 'set',
        (error: Error) => error.name,
      );
    expect(await set({ IndexDocument: { Suffix: 'a/b' } })).toBe('InvalidArgument');
    expect(await set({})).toBe('InvalidArgument');
    const rule = { Redirect: { HostName: 'h' } };
    expect(await set({ IndexDocument: { Suffix: 'i' }, RoutingRules: [rule] })).toBe('NotImplemented');
    expect(await set({ RedirectAllRequestsTo: { HostName: 'other.test', Protocol: 'https' } })).toBe('set');
    await expect
      .poll(async () => (await open('/a')).headers.location, { timeout: 30_000 })
      .toBe('https://other.test/a');
    await owner.send(new DeleteBucketWebsiteCommand({ Bucket }));
    await expect(owner.send(new GetBucketWebsiteCommand({ Bucket }))).rejects.toMatchObject({
      name: 'NoSuchWebsiteConfiguration',
    });
  });
});
