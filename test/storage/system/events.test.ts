/**
 * Tests event notifications end to end: signed webhooks that a receiver verifies, through kills of the server, and a Cloudflare
 * Queue.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetBucketNotificationConfigurationCommand,
  PutBucketNotificationConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildAll } from '../../../dev/local/build.ts';
import { startLocalServer } from '../../../dev/local/local-server.ts';
import { until } from '../../support/mail/mail.ts';
import { freePort, startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';
import { expectOrdered, type Received, recordsOf, WebhookReceiver } from '../../support/webhook-receiver.ts';

/** Sets the destination of a bucket. @returns the secret of its webhooks, or null. */
async function notify(s3: S3Client, Bucket: string, NotificationConfiguration: object): Promise<string | null> {
  let secret: string | null = null;
  const command = new PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration });
  command.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const { headers } = result.response as { headers: Record<string, string> };
      secret = headers['x-tessera-webhook-secret'] ?? null;
      return result;
    },
    { step: 'deserialize', name: 'capture', priority: 'low' },
  );
  await s3.send(command);
  return secret;
}

function expectSigned({ headers, body }: Received, secret: string): void {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
}

describe('webhooks', () => {
  let server: TestServer;
  let userId: string;
  let s3: S3Client;
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    // Make cron run every second. It sends events whose hints were lost.
    server = await startServer({ vars: { LIFECYCLE_DAY_SECONDS: '10' } });
    const key = await server.createAccessKey(`events-${randomUUID()}`);
    userId = key.userId;
    s3 = createSdkClient(server.url, key);
    receiver = await WebhookReceiver.start();
  });
  afterAll(async () => {
    await receiver.stop();
    await server[Symbol.asyncDispose]();
  });

  const makeBucket = async (): Promise<{ Bucket: string; secret: string }> => {
    const Bucket = `events-${randomUUID()}`;
    await s3.send(new CreateBucketCommand({ Bucket }));
    await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }));
    const rule = {
      Id: 'to my hook',
      TopicArn: `arn:aws:sns:::${receiver.url}`,
      Events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'],
      Filter: { Key: { FilterRules: [{ Name: 'prefix', Value: 'in/' }] } },
    };
    const secret = await notify(s3, Bucket, { TopicConfigurations: [rule] });
    const { TopicConfigurations } = await s3.send(new GetBucketNotificationConfigurationCommand({ Bucket }));
    expect(TopicConfigurations).toEqual([rule]);
    return { Bucket, secret: secret ?? '' };
  };

  it('are sent for each change that the rule selects, signed, with the facts of the change', async () => {
    const { Bucket, secret } = await makeBucket();
    await s3.send(new PutObjectCommand({ Bucket, Key: 'out/a', Body: 'x' }));
    const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'in/a b', Body: 'four' }));
    const removed = await s3.send(new DeleteObjectCommand({ Bucket, Key: 'in/a b' }));
    const ofBucket = () => recordsOf(receiver).filter((record) => record.s3.bucket.name === Bucket);
    await until('two events', async () => (ofBucket().length >= 2 ? true : undefined));
    const [created, marker] = ofBucket();
    expect(created).toMatchObject({
      eventName: 'ObjectCreated:Put',
      s3: {
        configurationId: 'to my hook',
        object: { key: 'in/a+b', size: 4, eTag: put.ETag?.replaceAll('"', ''), versionId: put.VersionId },
      },
    });
    expect(marker).toMatchObject({
      eventName: 'ObjectRemoved:DeleteMarkerCreated',
      s3: { object: { key: 'in/a+b', versionId: removed.VersionId } },
    });
    for (const one of receiver.received) expectSigned(one, secret);
  });

  it('arrive at least once and in the order of each key, through an outage of the receiver and kills of the server', async () => {
    const { Bucket } = await makeBucket();
    // Use a bearer token: the SDK signs with this machine's time, but the server's clock is moved.
    const scopes = ['objects:write'];
    const token = await server.call('POST', '/v1/iam/tokens', { name: Bucket, user_id: userId, scopes });
    const acknowledged: string[] = [];
    const write = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const key = `in/${i % 3}`;
        const headers = { authorization: `Bearer ${token.body.token}` };
        const put = await fetch(`${server.url}/${Bucket}/${key}`, { method: 'PUT', headers, body: `${i}` });
        expect(put.status).toBe(200);
        acknowledged.push(`${key} ${put.headers.get('x-amz-version-id')}`);
      }
    };
    for (let round = 0; round < 3; round++) {
      receiver.status = 503;
      await write(6);
      receiver.status = 200;
      await write(6);
      await server.kill9();
      // Move the clock past the leases of the killed server and the wait after a failure.
      await server.start({ CLOCK_OFFSET_SECONDS: String(3_700 * (round + 1)) });
    }
    const arrived = () =>
      recordsOf(receiver)
        .filter((record) => record.s3.bucket.name === Bucket)
        .map(({ s3: { object } }) => `${object.key} ${object.versionId}`);
    await until('every event', async () => (acknowledged.every((one) => arrived().includes(one)) ? true : undefined));
    expectOrdered(recordsOf(receiver));
  });
});

it('a queue gets the events of a bucket', async () => {
  const receiver = await WebhookReceiver.start();
  const directory = mkdtempSync(join(tmpdir(), 'tessera-events-'));
  const rootToken = `root-${randomUUID()}`;
  buildAll();
  const consumer = {
    name: 'events-consumer',
    modules: true,
    script: `export default { async queue(batch, env) {
      for (const { body } of batch.messages) await fetch(env.RECEIVER, { method: 'POST', body: JSON.stringify(body) });
    } };`,
    compatibilityDate: '2026-01-01',
    bindings: { RECEIVER: receiver.url },
    queueConsumers: { 'tessera-storage-events': { maxBatchTimeout: 1 } },
  };
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: await freePort(),
    stateDirectory: directory,
    vars: { ROOT_TOKEN: rootToken, MASTER_KEY: Buffer.alloc(32, 7).toString('base64') },
    beside: [consumer],
  });
  try {
    const call = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' };
      const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, string>;
    };
    const user = await call('/v1/iam/users', { name: 'queue' });
    const key = await call(`/v1/iam/users/${user.user_id}/access-keys`, {});
    const s3 = createSdkClient(server.url, {
      accessKeyId: key.access_key_id ?? '',
      secretAccessKey: key.secret_access_key ?? '',
    });
    const Bucket = `queue-${randomUUID()}`;
    await s3.send(new CreateBucketCommand({ Bucket }));
    const QueueArn = 'arn:aws:sqs:us-east-1:000000000000:storage-events';
    const Events = ['s3:ObjectCreated:Put'];
    expect(await notify(s3, Bucket, { QueueConfigurations: [{ QueueArn, Events }] })).toBeNull();
    await s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x' }));
    await until('the event', async () => (recordsOf(receiver).length > 0 ? true : undefined));
    expect(recordsOf(receiver)[0]).toMatchObject({
      eventName: 'ObjectCreated:Put',
      s3: { object: { key: 'k', size: 1 } },
    });
  } finally {
    await server.stop();
    await receiver.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
