/** Tests that a job has the rights of the user who started it, and that only that user, the bucket's owner and operators see it. */
import {
  CreateBucketCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOperator } from '../../support/operators.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createJobClient } from '../../support/storage/jobs.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function createUser() {
  const key = await server.createAccessKey(`user-${crypto.randomUUID()}`);
  return { ...key, s3: createSdkClient(server.url, key), jobs: createJobClient(server, key) };
}
type User = Awaited<ReturnType<typeof createUser>>;

async function makeBucket({ s3 }: User, ...statements: object[]): Promise<string> {
  const Bucket = `jobs-${crypto.randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  for (const Key of ['open/1', 'open/2', 'closed/1']) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  const Statement = statements.map((statement) => ({ Effect: 'Allow', ...statement }));
  const named = JSON.stringify({ Version: '2012-10-17', Statement }).replaceAll('BUCKET', Bucket);
  if (statements.length > 0) await s3.send(new PutBucketPolicyCommand({ Bucket, Policy: named }));
  return Bucket;
}

const namesIn = async ({ s3 }: User, Bucket: string) =>
  ((await s3.send(new ListObjectsV2Command({ Bucket }))).Contents ?? []).map(({ Key }) => Key);

it('a stranger starts, sees and cancels nothing', async () => {
  const [owner, stranger] = [await createUser(), await createUser()];
  const Bucket = await makeBucket(owner);
  for (const kind of ['empty', 'delete', 'count']) {
    const refused = await stranger.jobs.call('POST', '', { kind, bucket: Bucket });
    expect([kind, refused.status, refused.body.code]).toEqual([kind, 403, 'access_denied']);
  }
  const { job_id } = await owner.jobs.run({ kind: 'count', bucket: Bucket });
  for (const [method, path] of [
    ['GET', `/${job_id}`],
    ['POST', `/${job_id}/cancel`],
  ] as const) {
    expect((await stranger.jobs.call(method, path)).status).toBe(404);
    expect((await server.call(method, `/v1/storage/jobs${path}`, undefined, null)).status).toBe(401);
  }
  expect((await stranger.jobs.call('GET')).body.data).toEqual([]);
  expect((await owner.jobs.call('GET', `/${job_id}`)).status).toBe(200);
  const body = { kind: 'copy', bucket: Bucket, target: { bucket: await makeBucket(stranger), prefix: '' } };
  expect((await owner.jobs.call('POST', '', body)).status).toBe(403);
  expect((await server.call('POST', '/v1/storage/jobs', { kind: 'count', bucket: Bucket }, null)).status).toBe(401);
  expect(await namesIn(owner, Bucket)).toHaveLength(3);
});

it('a user with a policy deletes what the policy allows, and the rest is reported', async () => {
  const [owner, guest] = [await createUser(), await createUser()];
  const Principal = { AWS: guest.userId };
  const Bucket = await makeBucket(
    owner,
    { Principal, Action: 's3:ListBucket', Resource: 'arn:aws:s3:::BUCKET' },
    { Principal, Action: 's3:DeleteObject', Resource: 'arn:aws:s3:::BUCKET/open/*' },
  );
  const job = await guest.jobs.run({ kind: 'delete', bucket: Bucket });
  expect([job.state, job.counts.objects_deleted, job.counts.denied]).toEqual(['done', 2, 1]);
  expect(job.obstacles).toEqual([{ key: 'closed/1', reason: 'denied' }]);
  expect(await namesIn(owner, Bucket)).toEqual(['closed/1']);
  // The owner of the bucket must see jobs that others started.
  expect((await owner.jobs.call('GET', `/${job.job_id}`)).body.state).toBe('done');
});

it('a pull writes what its user may write, and others see neither its source nor its secret', async () => {
  const [owner, guest, third] = [await createUser(), await createUser(), await createUser()];
  const source = await makeBucket(third);
  await third.s3.send(new PutObjectCommand({ Bucket: source, Key: 'open/2', Body: 'x', Tagging: 'a=b' }));
  const Bucket = `jobs-${crypto.randomUUID()}`;
  await owner.s3.send(new CreateBucketCommand({ Bucket }));
  const statements = [
    {
      Effect: 'Allow',
      Principal: { AWS: guest.userId },
      Action: 's3:ListBucketVersions',
      Resource: `arn:aws:s3:::${Bucket}`,
    },
    {
      Effect: 'Allow',
      Principal: { AWS: guest.userId },
      Action: 's3:PutObject',
      Resource: `arn:aws:s3:::${Bucket}/open/*`,
    },
  ];
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: statements });
  await owner.s3.send(new PutBucketPolicyCommand({ Bucket, Policy }));
  const { accessKeyId: access_key_id, secretAccessKey: secret_access_key } = third;
  const address = { endpoint: server.url, bucket: source, access_key_id, secret_access_key };
  const job = await guest.jobs.run({ kind: 'pull', bucket: Bucket, source: address });
  expect([job.state, job.counts.versions_pulled, job.counts.denied]).toEqual(['done', 1, 2]);
  expect(await namesIn(owner, Bucket)).toEqual(['open/1']);
  expect(job.source).toEqual({ endpoint: server.url, bucket: source, prefix: '' });
  const seen = await owner.jobs.call('GET', `/${job.job_id}`);
  expect([seen.status, seen.body.source]).toEqual([200, null]);
  expect(JSON.stringify([job, seen])).not.toContain(secret_access_key);
  const refused = await third.jobs.call('POST', '', { kind: 'pull', bucket: Bucket, source: address });
  expect([refused.status, refused.body.code]).toEqual([403, 'access_denied']);
});

it('a token does no more than its scopes', async () => {
  const owner = await createUser();
  const Bucket = await makeBucket(owner);
  const create = async (body: object) =>
    (await server.call('POST', '/v1/iam/tokens', { name: 't', ...body })).body.token;
  const readOnly = await create({ user_id: owner.userId, scopes: ['objects:read'] });
  const both = await create({ user_id: owner.userId, scopes: ['objects:read', 'objects:write'] });
  const body = { kind: 'delete', bucket: Bucket };
  const send = (token: string) => server.call('POST', '/v1/storage/jobs', body, token);
  expect((await send(readOnly)).status).toBe(403);
  expect((await server.call('GET', '/v1/storage/jobs', undefined, readOnly)).status).toBe(200);
  expect((await send(both)).status).toBe(202);
});

/** Starts a job over so many objects that it cannot end before the next request. */
async function makeWideBucket({ s3 }: User, ...policy: object[]): Promise<string> {
  const Bucket = `jobs-${crypto.randomUUID()}`;
  await s3.send(new CreateBucketCommand({ Bucket }));
  const names = Array.from({ length: WIDE }, (_, at) => `k${at}`);
  const work = async () => {
    for (let Key = names.pop(); Key !== undefined; Key = names.pop())
      await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  };
  await Promise.all(Array.from({ length: 12 }, work));
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: policy }).replaceAll('BUCKET', Bucket);
  if (policy.length > 0) await s3.send(new PutBucketPolicyCommand({ Bucket, Policy }));
  return Bucket;
}
/** Number of objects of a job that takes several steps: a step copies 50. */
const WIDE = 260;

it('a job ends with the access key that started it', async () => {
  const owner = await createUser();
  const second = await server.call('POST', `/v1/iam/users/${owner.userId}/access-keys`, {});
  const key = { accessKeyId: second.body.access_key_id, secretAccessKey: second.body.secret_access_key };
  const Bucket = await makeWideBucket(owner);
  const jobs = createJobClient(server, key);
  const started = await jobs.call('POST', '', {
    kind: 'copy',
    bucket: Bucket,
    target: { bucket: Bucket, prefix: 'copy/' },
  });
  expect(started.status).toBe(202);
  expect((await server.call('DELETE', `/v1/iam/access-keys/${key.accessKeyId}`)).status).toBe(204);
  const job = await owner.jobs.end(started.body.job_id);
  expect([job.state, job.error]).toEqual(['failed', 'credential_revoked']);
  expect(job.counts.objects_copied).toBeLessThan(WIDE);
});

it('a job ends with the token that started it', async () => {
  const owner = await createUser();
  const Bucket = await makeWideBucket(owner);
  const scopes = ['objects:read', 'objects:write'];
  const { body: token } = await server.call('POST', '/v1/iam/tokens', { name: 't', user_id: owner.userId, scopes });
  const order = { kind: 'copy', bucket: Bucket, target: { bucket: Bucket, prefix: 'copy/' } };
  const started = await server.call('POST', '/v1/storage/jobs', order, token.token);
  expect(started.status).toBe(202);
  expect((await server.call('DELETE', `/v1/iam/tokens/${token.token_id}`)).status).toBe(204);
  const job = await owner.jobs.end(started.body.job_id);
  expect([job.state, job.error]).toEqual(['failed', 'credential_revoked']);
});

it('a job of an operator ends when the operator is deleted', async () => {
  const owner = await createUser();
  const Bucket = await makeWideBucket(owner);
  const operator = await createOperator(server, 'admin');
  const order = { kind: 'copy', bucket: Bucket, target: { bucket: Bucket, prefix: 'copy/' } };
  const started = await server.call('POST', '/v1/storage/jobs', order, operator.token);
  expect(started.status).toBe(202);
  expect((await server.call('DELETE', `/v1/operators/${operator.operatorId}`)).status).toBe(204);
  const job = await owner.jobs.end(started.body.job_id);
  expect([job.state, job.error]).toEqual(['failed', 'credential_revoked']);
});

it.each([
  ['the address', { IpAddress: { 'aws:SourceIp': '203.0.113.0/24' } }, { 'cf-connecting-ip': '203.0.113.9' }],
  ['plain HTTP', { Bool: { 'aws:SecureTransport': 'false' } }, {}],
  ['the program', { StringLike: { 'aws:UserAgent': 'bad/*' } }, { 'user-agent': 'bad/1' }],
  ['the kind of signature', { StringEquals: { 's3:authType': 'REST-HEADER' } }, {}],
] as const)('a Deny by %s of the request that starts a job refuses the job too', async (_, Condition, headers) => {
  const [owner, reader] = [await createUser(), await createUser()];
  const Resource = ['arn:aws:s3:::BUCKET', 'arn:aws:s3:::BUCKET/*'];
  const allow = { Principal: { AWS: reader.userId }, Action: ['s3:GetObject', 's3:ListBucket'], Resource };
  // The list is allowed, so that the job starts and each of its steps is asked.
  const deny = { Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource, Condition };
  const Bucket = await makeBucket(owner, allow, deny);
  const own = await makeBucket(reader);
  const order = { kind: 'copy', bucket: Bucket, target: { bucket: own, prefix: 'stolen/' } };
  const job = await createJobClient(server, reader, headers).run(order);
  expect([job.state, job.counts.denied, job.counts.objects_copied]).toEqual(['done', 3, 0]);
  expect(await namesIn(reader, own)).toHaveLength(3);
  const listed = await makeBucket(owner, allow, { ...deny, Action: 's3:ListBucket' });
  const refused = await createJobClient(server, reader, headers).call('POST', '', { ...order, bucket: listed });
  expect([refused.status, refused.body.code]).toEqual([403, 'access_denied']);
});

it('the owner of the source does not read the target of a copy that belongs to somebody else', async () => {
  const [owner, reader] = [await createUser(), await createUser()];
  const Resource = ['arn:aws:s3:::BUCKET', 'arn:aws:s3:::BUCKET/*'];
  const allow = { Principal: { AWS: reader.userId }, Action: ['s3:GetObject', 's3:ListBucket'], Resource };
  const [Bucket, own] = [await makeBucket(owner, allow), await makeBucket(reader)];
  const target = { bucket: own, prefix: 'private/' };
  const { job_id } = await reader.jobs.run({ kind: 'copy', bucket: Bucket, target });
  expect((await reader.jobs.call('GET', `/${job_id}`)).body.target).toEqual(target);
  expect((await owner.jobs.call('GET', `/${job_id}`)).body.target).toBeNull();
  expect((await owner.jobs.call('GET')).body.data[0].target).toBeNull();
  expect((await server.call('GET', `/v1/storage/jobs/${job_id}`)).body.target).toEqual(target);
});

it('a signature covers the body of the request', async () => {
  const owner = await createUser();
  const Bucket = await makeBucket(owner);
  const { jobs } = owner;
  expect((await jobs.call('POST', '', { kind: 'count', bucket: Bucket })).status).toBe(202);
  const wrong = createJobClient(server, { ...owner, secretAccessKey: 'wrong' });
  expect((await wrong.call('POST', '', { kind: 'count', bucket: Bucket })).status).toBe(401);
  const realFetch = globalThis.fetch;
  globalThis.fetch = (input, init) =>
    realFetch(input, { ...init, body: JSON.stringify({ kind: 'empty', bucket: Bucket }) });
  try {
    expect((await jobs.call('POST', '', { kind: 'count', bucket: Bucket })).status).toBe(401);
  } finally {
    globalThis.fetch = realFetch;
  }
  expect(await namesIn(owner, Bucket)).toHaveLength(3);
});

it('requests are checked', async () => {
  const { jobs, ...owner } = await createUser();
  const bucket = await makeBucket({ ...owner, jobs });
  for (const body of [
    {},
    { kind: 'explode', bucket },
    { kind: 'restore', bucket },
    { kind: 'restore', bucket, at: 'yesterday' },
    { kind: 'delete', bucket, at: '2026-01-01T00:00:00Z' },
    { kind: 'copy', bucket },
    { kind: 'count', bucket, more: 1 },
  ]) {
    expect([body, (await jobs.call('POST', '', body)).status]).toEqual([body, 400]);
  }
  const versions = await jobs.call('POST', '', { kind: 'restore', bucket, at: '2026-01-01T00:00:00Z' });
  expect([versions.status, versions.body.code]).toEqual([409, 'not_versioned']);
  expect((await jobs.call('POST', '', { kind: 'count', bucket: 'no-such-bucket' })).status).toBe(404);
});
