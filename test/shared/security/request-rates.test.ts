/**
 * Findings 8 and 21 of the security review: limits of request rates for S3 (per access key, bucket and anonymous client), public
 * reads (per client), JSON routes (per user) and live viewers.
 */
import { CreateBucketCommand, PutBucketPolicyCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, createSdkClient } from '../../support/storage/s3-client.ts';

/**
 * Number of requests in a burst. The limiter counts per ten seconds, so the burst exceeds a quota of five even across two windows.
 */
const BURST = 40;
const QUOTA = '5';
/** The counts of a limiter outlive a restart of the local server, so each test has its own clients. */
const newClient = () => {
  const [a, b] = crypto.getRandomValues(new Uint16Array(2));
  return { 'cf-connecting-ip': `2001:db8:${a?.toString(16)}:${b?.toString(16)}::1` };
};
const Bucket = 'rates';
let server: TestServer;
let owner: Awaited<ReturnType<TestServer['createAccessKey']>>;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  owner = await server.createAccessKey('owner');
  const s3 = createSdkClient(server.url, owner);
  await s3.send(new CreateBucketCommand({ Bucket }));
  await s3.send(new PutObjectCommand({ Bucket, Key: 'public/a', Body: 'a' }));
  const statement = {
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:GetObject',
    Resource: `arn:aws:s3:::${Bucket}/public/*`,
  };
  await s3.send(
    new PutBucketPolicyCommand({ Bucket, Policy: JSON.stringify({ Version: '2012-10-17', Statement: [statement] }) }),
  );
});
afterAll(() => server[Symbol.asyncDispose]());

async function restart(vars: Record<string, string>): Promise<void> {
  await server.stop();
  await server.start(vars);
}

const burst = (path: string, headers: Record<string, string> = {}) =>
  Promise.all(Array.from({ length: BURST }, () => fetch(server.url + path, { headers })));
const statusesOf = (answers: readonly Response[]) => [...new Set(answers.map(({ status }) => status))].sort();

describe('S3', () => {
  it('answers an anonymous client above its quota with SlowDown and Retry-After, and others as before', async () => {
    await restart({ REQUESTS_PER_CLIENT: QUOTA });
    const answers = await burst(`/${Bucket}/public/a`, newClient());
    expect(statusesOf(answers)).toEqual([200, 503]);
    const refused = answers.find(({ status }) => status === 503);
    expect(refused?.headers.get('retry-after')).toBe('10');
    expect(await refused?.text()).toContain('<Code>SlowDown</Code>');
    expect((await fetch(`${server.url}/${Bucket}/public/a`, { headers: newClient() })).status).toBe(200);
    // Without a client address, the limit of anonymous clients does not apply: a local server does not know the addresses.
    expect(statusesOf(await burst(`/${Bucket}/public/a`))).toEqual([200]);
  });

  it('limits an access key, whatever its clients and buckets, and no other key', async () => {
    await restart({ REQUESTS_PER_ACCESS_KEY: QUOTA });
    const other = await server.createAccessKey('other');
    const once = (key: typeof owner) =>
      new S3Client({
        endpoint: server.url,
        region: 'us-east-1',
        forcePathStyle: true,
        maxAttempts: 1,
        credentials: { accessKeyId: key.accessKeyId, secretAccessKey: key.secretAccessKey },
      });
    const put = (key: typeof owner, name: string) =>
      once(key)
        .send(new PutObjectCommand({ Bucket, Key: name, Body: name }))
        .then(
          () => 'stored',
          (error: Error) => error.name,
        );
    const outcomes = await Promise.all(Array.from({ length: BURST }, (_, n) => put(owner, `burst/${n}`)));
    expect([...new Set(outcomes)].sort()).toEqual(['SlowDown', 'stored']);
    // This request must be refused for missing rights, not for its rate.
    expect(await put(other, 'foreign')).toBe('AccessDenied');
  });

  it('counts neither forged signatures against a key nor denied callers against a bucket', async () => {
    await restart({ REQUESTS_PER_ACCESS_KEY: QUOTA, REQUESTS_PER_BUCKET: QUOTA });
    const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const forged = {
      authorization: `AWS4-HMAC-SHA256 Credential=${owner.accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${'0'.repeat(64)}`,
      'x-amz-date': date,
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
    };
    expect(statusesOf(await burst(`/${Bucket}/public/a`, forged))).toEqual([403]);
    expect(statusesOf(await burst(`/${Bucket}/private`))).toEqual([403]);
    const s3 = createSdkClient(server.url, owner);
    await s3.send(new PutObjectCommand({ Bucket, Key: 'mine', Body: 'x' }));
    expect(statusesOf(await burst(`/${Bucket}/public/a`))).toEqual([200, 503]);
  });

  it.skipIf(!hasClient('/usr/bin/python3'))('boto3 retries until every object is stored', async () => {
    await restart({ REQUESTS_PER_ACCESS_KEY: QUOTA });
    const script = `
import boto3, os, sys
from botocore.client import Config
retries = {'mode': 'standard', 'max_attempts': 12}
s3 = boto3.client('s3', endpoint_url=os.environ['S3_URL'], config=Config(retries=retries))
answers = [s3.put_object(Bucket=sys.argv[1], Key='boto/%d' % n, Body=b'x') for n in range(7)]
print(sum(answer['ResponseMetadata']['RetryAttempts'] for answer in answers))
`;
    const retries = await createClients(server.url, owner).python(script, Bucket);
    expect(Number(retries)).toBeGreaterThan(0);
  });
});

it('public reads of the leaderboard are limited per client, with RateLimit fields that pages may read', async () => {
  await restart({ REQUESTS_PER_CLIENT: QUOTA });
  const answers = await burst('/v1/scores', newClient());
  expect(statusesOf(answers)).toEqual([200, 429]);
  // Each read must count only once.
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(Number(QUOTA));
  const admitted = answers.find(({ status }) => status === 200);
  expect(admitted?.headers.get('vary')).toBe('Accept');
  expect(admitted?.headers.get('ratelimit-policy')).toBe('"client";q=5;w=10');
  expect(admitted?.headers.has('ratelimit')).toBe(false);
  const refused = answers.find(({ status }) => status === 429);
  expect(Object.fromEntries(refused?.headers ?? [])).toMatchObject({
    'retry-after': '10',
    'ratelimit-policy': '"client";q=5;w=10',
    ratelimit: '"client";r=0;t=10',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('ratelimit'),
  });
  expect(await refused?.json()).toMatchObject({ code: 'rate_limited' });
  expect((await fetch(`${server.url}/v1/scores/nobody`, { headers: newClient() })).status).toBe(404);
});

it('JSON routes are limited per user; another user and root are not affected', async () => {
  const [greedy, modest] = [await registerUser(server, 'greedy'), await registerUser(server, 'modest')];
  await restart({ REQUESTS_PER_USER: QUOTA });
  const answers = await burst('/v1/folders', { authorization: `Bearer ${greedy.token}` });
  expect(statusesOf(answers)).toEqual([200, 429]);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers.get('retry-after')).toBe('10');
  expect(refused?.headers.get('ratelimit')).toBe('"user";r=0;t=10');
  const other = await server.call('GET', '/v1/folders', undefined, modest.token);
  expect([other.status, other.headers.get('ratelimit-policy')]).toEqual([200, '"user";q=5;w=10']);
  expect(statusesOf(await burst('/v1/iam/users', { authorization: `Bearer ${server.rootToken}` }))).toEqual([200]);
});

it('400 live connections of one client: no more than its limit are open, and closing one makes room', async () => {
  await restart({ LIVE_VIEWERS_PER_CLIENT: '3' });
  const streams: Response[] = [];
  const open = (headers: Record<string, string>) =>
    fetch(`${server.url}/v1/scores`, { headers: { accept: 'text/event-stream', ...headers } });
  const sockets: WebSocket[] = [];
  const openSocket = () =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/scores`);
      socket.addEventListener(
        'message',
        () => {
          sockets.push(socket);
          resolve('open');
        },
        { once: true },
      );
      socket.addEventListener('error', () => resolve('refused'), { once: true });
    });
  try {
    const outcomes: string[] = [];
    for (let n = 0; n < 40; n++) outcomes.push(...(await Promise.all(Array.from({ length: 10 }, openSocket))));
    expect(outcomes.filter((outcome) => outcome === 'open')).toHaveLength(3);
    const [first] = sockets;
    const closed = new Promise((resolve) => first?.addEventListener('close', resolve));
    first?.close();
    await closed;
    await expect.poll(openSocket, { timeout: 30_000 }).toBe('open');
    const client = newClient();
    for (let n = 0; n < 4; n++) streams.push(await open(client));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(streams[3]?.headers.get('retry-after')).toBe('10');
    expect(await streams[3]?.json()).toMatchObject({ code: 'rate_limited' });
    streams.push(await open(newClient()));
    expect(streams[4]?.status).toBe(200);
  } finally {
    for (const socket of sockets) socket.close();
    for (const stream of streams) await stream.body?.cancel().catch(() => {});
  }
});
