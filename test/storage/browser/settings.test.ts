/** Tests the tab Settings of a bucket: one test per card. */
import {
  GetBucketLifecycleConfigurationCommand,
  GetBucketNotificationConfigurationCommand,
  GetObjectLockConfigurationCommand,
  PutBucketLifecycleConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

describe.skipIf(!hasChromium)('the settings of a bucket', () => {
  const stage = useStage();
  let key: StorageKey;
  let store: Store;
  let client: S3Client;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`settings-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
    client = new S3Client({ endpoint: stage.server.url, region: 'us-east-1', forcePathStyle: true, credentials: key });
  });
  afterAll(() => client?.destroy());
  const open = (bucket: string) => openConsole(stage.browser, stage.server, key, `#/b/${bucket}/settings`);
  const readLifecycle = async (Bucket: string) =>
    (await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules;

  it('writes lifecycle rules, says in words what they do, and removes them', async () => {
    const bucket = await store.createBucket(true);
    const { page, troubles } = await open(bucket);
    const card = page.getByRole('region', { name: 'Lifecycle rules' });
    await card.getByText('No rules: everything is kept').waitFor();
    await card.getByRole('button', { name: 'Add a rule' }).click();
    await card.getByLabel('Names that begin with').fill('logs/');
    await card.getByLabel('Delete objects').selectOption('days');
    await card.getByLabel('Days', { exact: true }).fill('90');
    await card.getByLabel('but keep the newest (versions)').fill('3');
    await card
      .getByText(
        'Under logs/: objects are deleted after 90 days; old versions are deleted after 30 days, except the newest 3; unfinished uploads are aborted after 7 days.',
      )
      .waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await readLifecycle(bucket)).toMatchObject([
      {
        Status: 'Enabled',
        Filter: { Prefix: 'logs/' },
        Expiration: { Days: 90 },
        NoncurrentVersionExpiration: { NoncurrentDays: 30, NewerNoncurrentVersions: 3 },
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
      },
    ]);
    await page.reload();
    await eventually(() => card.getByLabel('Days', { exact: true }).inputValue()).toBe('90');
    await card.getByRole('button', { name: 'Remove rule 1' }).click();
    await card.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await expect(readLifecycle(bucket)).rejects.toThrow('does not exist');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps every part of lifecycle rules that another tool wrote', async () => {
    const bucket = await store.createBucket(true);
    const rules = [
      {
        ID: 'tagged',
        Status: 'Disabled' as const,
        Filter: {
          And: {
            Prefix: 'a/',
            Tags: [{ Key: 'kind', Value: 'x=y z' }],
            ObjectSizeGreaterThan: 10,
            ObjectSizeLessThan: 99,
          },
        },
        Expiration: { Date: new Date('2030-01-01T00:00:00Z') },
      },
      {
        ID: 'markers',
        Status: 'Enabled' as const,
        Filter: { Prefix: '' },
        Expiration: { ExpiredObjectDeleteMarker: true },
      },
    ];
    const LifecycleConfiguration = { Rules: rules };
    await client.send(new PutBucketLifecycleConfigurationCommand({ Bucket: bucket, LifecycleConfiguration }));
    const { page } = await open(bucket);
    const card = page.getByRole('region', { name: 'Lifecycle rules' });
    const second = card.getByRole('group', { name: 'Rule 2' });
    await second.getByLabel('Names that begin with').fill('b/');
    await card.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await readLifecycle(bucket)).toEqual([rules[0], { ...rules[1], Filter: { Prefix: 'b/' } }]);
    await page.context().close();
  });

  it('sends events to a webhook and to the queue, and shows the secret of the webhook', async () => {
    const bucket = await store.createBucket();
    const { page, troubles } = await open(bucket);
    const card = page.getByRole('region', { name: 'Event notifications' });
    await card.getByText('No rules: nothing is sent.').waitFor();
    await card.getByRole('button', { name: 'Add a rule' }).click();
    await card.getByLabel('Address').fill('https://hooks.example.com/photos');
    await card.getByLabel('Names that end with').fill('.jpg');
    await card.getByRole('button', { name: 'Add a rule' }).click();
    const second = card.getByRole('group', { name: 'Rule 2' });
    await second.getByLabel('Send to').selectOption('queue');
    for (const kind of ['uploaded', 'uploaded by a form', 'copied here', 'uploaded in parts'])
      await second.getByLabel(kind, { exact: true }).uncheck();
    await second.getByLabel('deleted', { exact: true }).check();
    await card.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await card.getByText(/^whsec_/).waitFor();
    await expectAccessible(page);
    const { TopicConfigurations, QueueConfigurations } = await client.send(
      new GetBucketNotificationConfigurationCommand({ Bucket: bucket }),
    );
    expect(TopicConfigurations).toMatchObject([
      {
        TopicArn: 'arn:aws:sns:::https://hooks.example.com/photos',
        Events: ['s3:ObjectCreated:*'],
        Filter: { Key: { FilterRules: [{ Name: 'suffix', Value: '.jpg' }] } },
      },
    ]);
    expect(QueueConfigurations).toMatchObject([
      { QueueArn: 'arn:aws:sqs:::storage-events', Events: ['s3:ObjectRemoved:Delete'] },
    ]);
    await page.reload();
    await eventually(() => card.getByLabel('Address').inputValue()).toBe('https://hooks.example.com/photos');
    await eventually(() => second.getByLabel('deleted', { exact: true }).isChecked()).toBe(true);
    expect(await second.getByLabel('uploaded', { exact: true }).isChecked()).toBe(false);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows the quota of a bucket and what is used of it', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'a.txt', 'x'.repeat(2000));
    const path = `/v1/storage/quotas/buckets/${bucket}`;
    const first = await open(bucket);
    await first.page.getByText('This bucket has no quota of its own.').waitFor();
    await first.page.context().close();
    expect((await stage.server.call('PUT', path, { bytes: 1_000_000, objects: 10 })).status).toBe(200);
    const { page } = await open(bucket);
    const card = page.getByRole('region', { name: 'Quota' });
    await card.getByText('2.0 KB of 1.0 MB').waitFor();
    await card.getByText('1 of 10').waitFor();
    await card.getByRole('link', { name: 'Change as operator' }).waitFor();
    // Callers without the right to list, or who do not own the bucket, must not see the figures in headers.
    const anonymous = await fetch(`${stage.server.url}/${bucket}?quota`, { method: 'HEAD' });
    expect(anonymous.status).toBe(403);
    expect(anonymous.headers.has('x-tessera-used-bytes')).toBe(false);
    await page.context().close();
  });

  it('sets the default of Object Lock in days or years, and says how objects are encrypted', async () => {
    const bucket = await store.createBucket(true);
    const { page } = await open(bucket);
    await page.getByText('encrypted at rest with AES-256').waitFor();
    const lock = page.getByRole('region', { name: 'Object Lock' });
    await lock.getByRole('button', { name: 'Turn on Object Lock' }).click();
    await lock.getByLabel('Mode of new versions').selectOption('COMPLIANCE');
    await lock.getByLabel('Period').fill('2');
    await lock.getByLabel('Unit').selectOption('Years');
    await lock.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const { ObjectLockConfiguration } = await client.send(new GetObjectLockConfigurationCommand({ Bucket: bucket }));
    expect(ObjectLockConfiguration?.Rule?.DefaultRetention).toEqual({ Mode: 'COMPLIANCE', Years: 2 });
    await expectAccessible(page);
    await page.context().close();
  });
});
