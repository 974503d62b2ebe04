/**
 * Finding 4 of the security review: the bucket's owner and the operator can repair a bucket policy, even one that denies all
 * actions.
 */
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteBucketPolicyCommand,
  DeletePublicAccessBlockCommand,
  GetBucketPolicyCommand,
  GetObjectCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutPublicAccessBlockCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

type Key = Awaited<ReturnType<TestServer['createAccessKey']>>;

let server: TestServer;
let alice: Key;
let mallory: Key;
let asAlice: S3Client;
let asMallory: S3Client;

beforeAll(async () => {
  server = await startServer();
  alice = await server.createAccessKey('alice');
  mallory = await server.createAccessKey('mallory');
  asAlice = createSdkClient(server.url, alice);
  asMallory = createSdkClient(server.url, mallory);
});
afterAll(() => server[Symbol.asyncDispose]());

const nameOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    (error: Error) => error.name,
  );
const toPolicy = (...Statement: object[]) => JSON.stringify({ Version: '2012-10-17', Statement });
const arnsOf = (Bucket: string) => [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`];
const denyAll = (Bucket: string) => ({ Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: arnsOf(Bucket) });

async function createBucket(Bucket: string, ...statements: object[]): Promise<void> {
  await asAlice.send(new CreateBucketCommand({ Bucket }));
  await asAlice.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'of alice' }));
  const Policy = toPolicy(...statements);
  if (statements.length > 0) await asAlice.send(new PutBucketPolicyCommand({ Bucket, Policy }));
}

describe('the owner of a bucket', () => {
  it('reads, replaces and deletes a policy that denies all actions to all callers', async () => {
    const Bucket = 'shut-out';
    await createBucket(Bucket, denyAll(Bucket));
    const statuses = await Promise.all([
      nameOf(asAlice.send(new GetObjectCommand({ Bucket, Key: 'k' }))),
      nameOf(asAlice.send(new ListObjectsV2Command({ Bucket }))),
    ]);
    expect(statuses).toEqual(['AccessDenied', 'AccessDenied']);
    expect((await asAlice.send(new GetBucketPolicyCommand({ Bucket }))).Policy).toBe(toPolicy(denyAll(Bucket)));
    const block = { BlockPublicPolicy: true };
    await asAlice.send(new PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: block }));
    expect(
      (await asAlice.send(new GetPublicAccessBlockCommand({ Bucket }))).PublicAccessBlockConfiguration,
    ).toMatchObject(block);
    await asAlice.send(new DeletePublicAccessBlockCommand({ Bucket }));
    const Policy = toPolicy({ ...denyAll(Bucket), Action: 's3:*BucketPolicy' });
    await asAlice.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    await asAlice.send(new DeleteBucketPolicyCommand({ Bucket }));
    expect(await nameOf(asAlice.send(new GetBucketPolicyCommand({ Bucket })))).toBe('NoSuchBucketPolicy');
    expect(await nameOf(asAlice.send(new GetObjectCommand({ Bucket, Key: 'k' })))).toBe('ok');
  });

  it('takes the bucket back from a user who may change the policy', async () => {
    const Bucket = 'vault';
    const Principal = { AWS: mallory.userId };
    const [Resource] = arnsOf(Bucket);
    await createBucket(Bucket, { Effect: 'Allow', Principal, Action: 's3:PutBucketPolicy', Resource });
    const Policy = toPolicy(
      { Effect: 'Allow', Principal, Action: 's3:*', Resource: arnsOf(Bucket) },
      { Effect: 'Deny', NotPrincipal: Principal, Action: 's3:*', Resource: arnsOf(Bucket) },
    );
    await asMallory.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    expect(await nameOf(asMallory.send(new GetObjectCommand({ Bucket, Key: 'k' })))).toBe('ok');
    await asAlice.send(new DeleteBucketPolicyCommand({ Bucket }));
    expect(await nameOf(asMallory.send(new GetObjectCommand({ Bucket, Key: 'k' })))).toBe('AccessDenied');
    expect(await nameOf(asAlice.send(new HeadBucketCommand({ Bucket })))).toBe('ok');
  });

  it('is the only exception: the policy still denies the same actions to others', async () => {
    const Bucket = 'of-one';
    const allow = { Effect: 'Allow', Principal: { AWS: mallory.userId }, Action: 's3:*', Resource: arnsOf(Bucket) };
    await createBucket(Bucket, allow, denyAll(Bucket));
    const answers = await Promise.all([
      nameOf(asMallory.send(new GetBucketPolicyCommand({ Bucket }))),
      nameOf(asMallory.send(new PutBucketPolicyCommand({ Bucket, Policy: toPolicy(allow) }))),
      nameOf(asMallory.send(new DeleteBucketPolicyCommand({ Bucket }))),
    ]);
    expect(answers).toEqual(['AccessDenied', 'AccessDenied', 'AccessDenied']);
  });

  it('is still bound by the IAM policies of its user', async () => {
    const Bucket = 'governed';
    await createBucket(Bucket, denyAll(Bucket));
    const path = `/v1/iam/users/${alice.userId}/policies/no-policies`;
    const deny = { Effect: 'Deny', Action: 's3:DeleteBucketPolicy', Resource: '*' };
    expect((await server.call('PUT', path, JSON.parse(toPolicy(deny)))).status).toBe(204);
    expect(await nameOf(asAlice.send(new DeleteBucketPolicyCommand({ Bucket })))).toBe('AccessDenied');
    await server.call('DELETE', path);
    expect(await nameOf(asAlice.send(new DeleteBucketPolicyCommand({ Bucket })))).toBe('ok');
  });
});

describe('a caller who would lose the permission to change the policy', () => {
  it('is refused until it confirms the loss', async () => {
    const Bucket = 'confirmed';
    const allow = { Effect: 'Allow', Principal: { AWS: mallory.userId }, Action: 's3:*', Resource: arnsOf(Bucket) };
    await createBucket(Bucket, allow);
    const denied = toPolicy(allow, { ...denyAll(Bucket), Action: 's3:PutBucketPolicy' });
    const without = toPolicy({ ...allow, Action: 's3:GetBucketPolicy' });
    for (const Policy of [denied, without]) {
      const refusal = await asMallory
        .send(new PutBucketPolicyCommand({ Bucket, Policy }))
        .catch((error: Error) => error);
      expect(refusal).toMatchObject({ name: 'AccessDenied', message: expect.stringContaining('x-amz-confirm-remove') });
    }
    expect((await asAlice.send(new GetBucketPolicyCommand({ Bucket }))).Policy).toBe(toPolicy(allow));
    const confirm = new PutBucketPolicyCommand({ Bucket, Policy: without, ConfirmRemoveSelfBucketAccess: true });
    await asMallory.send(confirm);
    expect((await asMallory.send(new GetBucketPolicyCommand({ Bucket }))).Policy).toBe(without);
    expect(await nameOf(asMallory.send(new PutBucketPolicyCommand({ Bucket, Policy: without })))).toBe('AccessDenied');
  });
});

describe('the operator', () => {
  const pathOf = (bucket: string) => `/v1/storage/buckets/${bucket}/policy`;

  it('deletes any policy, so that the bucket and its owner can be deleted', async () => {
    const Bucket = 'for-operator';
    await createBucket(Bucket, denyAll(Bucket));
    expect((await server.call('DELETE', pathOf(Bucket))).status).toBe(204);
    expect((await server.call('DELETE', pathOf(Bucket))).status).toBe(204);
    expect(await nameOf(asAlice.send(new GetBucketPolicyCommand({ Bucket })))).toBe('NoSuchBucketPolicy');
    expect(await nameOf(asAlice.send(new GetObjectCommand({ Bucket, Key: 'k' })))).toBe('ok');
    expect(await nameOf(asAlice.send(new DeleteBucketCommand({ Bucket })))).toBe('BucketNotEmpty');
  });

  it('gets 404 for an unknown bucket, and other callers are refused', async () => {
    const Bucket = 'not-for-others';
    await createBucket(Bucket, denyAll(Bucket));
    const { body: token } = await server.call('POST', '/v1/iam/tokens', {
      name: 'alice',
      user_id: alice.userId,
      scopes: ['objects:write'],
    });
    expect((await server.call('DELETE', pathOf('nowhere'))).body).toMatchObject({
      status: 404,
      code: 'no_such_bucket',
    });
    expect((await server.call('DELETE', pathOf(Bucket), undefined, null)).status).toBe(401);
    expect((await server.call('DELETE', pathOf(Bucket), undefined, token.token)).status).toBe(403);
    expect(await nameOf(asAlice.send(new GetBucketPolicyCommand({ Bucket })))).toBe('ok');
  });

  it('finds the call in the API document', async () => {
    const { body } = await server.call('GET', '/v1/openapi.json');
    expect(body.paths['/v1/storage/buckets/{bucket}/policy'].delete.responses).toHaveProperty('404');
  });
});
