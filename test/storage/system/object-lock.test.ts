/** Tests Object Lock over HTTP: permissions, headers, and a backup that survives a thief with its key. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectLegalHoldCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectLockConfigurationCommand,
  PutObjectRetentionCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createClients, createSdkClient, mustRun } from '../../support/storage/s3-client.ts';

let server: TestServer;
let key: Awaited<ReturnType<TestServer['createAccessKey']>>;
let owner: S3Client;

beforeAll(async () => {
  server = await startServer();
  key = await server.createAccessKey('owner');
  owner = createSdkClient(server.url, key);
});
afterAll(() => server[Symbol.asyncDispose]());

async function makeBucket(Bucket: string, Mode: 'GOVERNANCE' | 'COMPLIANCE', Days: number): Promise<void> {
  await owner.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }));
  await owner.send(
    new PutObjectLockConfigurationCommand({
      Bucket,
      ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled', Rule: { DefaultRetention: { Mode, Days } } },
    }),
  );
}
const nameOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => error.name,
  );

describe('Object Lock', () => {
  it('needs the permissions for bypass, retention and hold, beside those for the object', async () => {
    await makeBucket('guarded', 'GOVERNANCE', 1);
    const helperKey = await server.createAccessKey('helper');
    const helper = createSdkClient(server.url, helperKey);
    const allow = (...actions: string[]) =>
      owner.send(
        new PutBucketPolicyCommand({
          Bucket: 'guarded',
          Policy: JSON.stringify({
            Version: '2012-10-17',
            Statement: [
              {
                Effect: 'Allow',
                Principal: { AWS: helperKey.userId },
                Action: actions,
                Resource: ['arn:aws:s3:::guarded', 'arn:aws:s3:::guarded/*'],
              },
            ],
          }),
        }),
      );
    const some = { Bucket: 'guarded', Key: 'k', Body: 'x' };
    const { VersionId } = await owner.send(new PutObjectCommand(some));
    const bypass = { Bucket: 'guarded', Key: 'k', VersionId, BypassGovernanceRetention: true };
    await allow('s3:DeleteObjectVersion', 's3:PutObject', 's3:GetObject');
    expect(await nameOf(helper.send(new DeleteObjectCommand(bypass)))).toBe('AccessDenied');
    expect(await nameOf(helper.send(new PutObjectCommand({ ...some, ObjectLockLegalHoldStatus: 'ON' })))).toBe(
      'AccessDenied',
    );
    // Only callers with the right to read the lock may see it.
    expect((await helper.send(new HeadObjectCommand({ Bucket: 'guarded', Key: 'k' }))).ObjectLockMode).toBeUndefined();
    await allow('s3:DeleteObjectVersion', 's3:GetObject', 's3:GetObjectRetention', 's3:BypassGovernanceRetention');
    expect((await helper.send(new HeadObjectCommand({ Bucket: 'guarded', Key: 'k' }))).ObjectLockMode).toBe(
      'GOVERNANCE',
    );
    expect(await nameOf(helper.send(new DeleteObjectCommand({ ...bypass, BypassGovernanceRetention: false })))).toBe(
      'AccessDenied',
    );
    expect(await nameOf(helper.send(new DeleteObjectCommand(bypass)))).toBe('done');
  });

  it('has no legal hold until one is set, then ON or OFF', async () => {
    await makeBucket('held', 'GOVERNANCE', 1);
    const target = { Bucket: 'held', Key: 'k' };
    await owner.send(new PutObjectCommand({ ...target, Body: 'x' }));
    const hold = () => owner.send(new GetObjectLegalHoldCommand(target)).then(({ LegalHold }) => LegalHold?.Status);
    expect(await nameOf(hold())).toBe('NoSuchObjectLockConfiguration');
    for (const Status of ['ON', 'OFF'] as const) {
      await owner.send(new PutObjectLegalHoldCommand({ ...target, LegalHold: { Status } }));
      expect(await hold()).toBe(Status);
      expect((await owner.send(new HeadObjectCommand(target))).ObjectLockLegalHoldStatus).toBe(Status);
    }
  });

  it('in the mode COMPLIANCE holds against owner and operator, and a copy gets the default of its bucket', async () => {
    await makeBucket('vault', 'COMPLIANCE', 1);
    const { VersionId } = await owner.send(new PutObjectCommand({ Bucket: 'vault', Key: 'k', Body: 'x' }));
    const target = { Bucket: 'vault', Key: 'k', VersionId, BypassGovernanceRetention: true };
    expect(await nameOf(owner.send(new DeleteObjectCommand(target)))).toBe('AccessDenied');
    const sooner = { Mode: 'COMPLIANCE' as const, RetainUntilDate: new Date(Date.now() + 3_600_000) };
    expect(await nameOf(owner.send(new PutObjectRetentionCommand({ ...target, Retention: sooner })))).toBe(
      'AccessDenied',
    );
    expect((await server.call('DELETE', `/v1/iam/users/${key.userId}`)).status).toBe(409);
    await owner.send(new CreateBucketCommand({ Bucket: 'plain' }));
    await owner.send(new CopyObjectCommand({ Bucket: 'plain', Key: 'k', CopySource: 'vault/k' }));
    expect((await owner.send(new HeadObjectCommand({ Bucket: 'plain', Key: 'k' }))).ObjectLockMode).toBeUndefined();
    await owner.send(new CopyObjectCommand({ Bucket: 'vault', Key: 'copy', CopySource: 'plain/k' }));
    expect((await owner.send(new HeadObjectCommand({ Bucket: 'vault', Key: 'copy' }))).ObjectLockMode).toBe(
      'COMPLIANCE',
    );
  });

  it.skipIf(!hasClient('restic'))('keeps a restic repository through a thief with its key', async () => {
    await makeBucket('backup', 'COMPLIANCE', 30);
    const { home } = createClients(server.url, key);
    const file = (name: string) => join(home, name);
    mkdirSync(file('data'));
    for (const name of ['a', 'b']) writeFileSync(file(`data/${name}`), randomBytes(200_000));
    const environment = {
      HOME: home,
      AWS_ACCESS_KEY_ID: key.accessKeyId,
      AWS_SECRET_ACCESS_KEY: key.secretAccessKey,
      RESTIC_REPOSITORY: `s3:${server.url}/backup/repository`,
      RESTIC_PASSWORD: 'a password of the backup',
      RESTIC_CACHE_DIR: file('cache'),
    };
    const restic = (...args: string[]) => mustRun('restic', args, environment);
    await restic('init');
    await restic('backup', file('data'));
    // Simulate the thief: it forgets every snapshot, and then deletes all versions that it can.
    await restic('forget', '--prune', 'latest');
    const list = async () => owner.send(new ListObjectVersionsCommand({ Bucket: 'backup' }));
    const { Versions = [] } = await list();
    const Objects = Versions.map(({ Key, VersionId }) => ({ Key, VersionId }));
    const theft = { Bucket: 'backup', Delete: { Objects }, BypassGovernanceRetention: true };
    const { Errors = [], Deleted = [] } = await owner.send(new DeleteObjectsCommand(theft));
    expect([Errors.length, Deleted.length]).toEqual([Versions.length, 0]);
    // The owner undoes the deletion by deleting the delete markers.
    const { DeleteMarkers = [] } = await list();
    expect(DeleteMarkers.length).toBeGreaterThan(0);
    for (const { Key, VersionId } of DeleteMarkers) {
      await owner.send(new DeleteObjectCommand({ Bucket: 'backup', Key, VersionId }));
    }
    await restic('--no-lock', 'restore', 'latest', '--target', file('restored'));
    for (const name of ['a', 'b']) {
      const [before, after] = [`data/${name}`, join('restored', file(`data/${name}`))].map((path) =>
        readFileSync(file(path)),
      );
      expect(after?.equals(before ?? Buffer.alloc(0))).toBe(true);
    }
  });
});
