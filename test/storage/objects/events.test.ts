/**
 * Tests the outbox of event notifications: which changes write an event, in the same transaction, and in which order they are sent.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import type { JobOrder } from '../../../workers/storage/domain/jobs.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/model/contract.ts';
import { selectDueEvents, settleEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { sendEvents } from '../../../workers/storage/maintenance/events.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { parseNotification } from '../../../workers/storage/s3/documents/notification-document.ts';
import { countRows, expectSound, METADATA, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

beforeEach(wipe);

const ALL = [
  's3:ObjectCreated:*',
  's3:ObjectRemoved:*',
  's3:LifecycleExpiration:*',
  's3:ObjectTagging:*',
  's3:ObjectAcl:Put',
];

async function setNotification(
  engine: Engine,
  bucket: Bucket,
  events: readonly string[],
  filter = '',
): Promise<Bucket> {
  const text = `<NotificationConfiguration><QueueConfiguration><Id>all</Id><Queue>arn:aws:sqs:::storage-events</Queue>
    ${events.map((event) => `<Event>${event}</Event>`).join('')}${filter}</QueueConfiguration></NotificationConfiguration>`;
  const rules = value(
    parseNotification(
      text,
      () => 'minted',
      () => true,
    ),
  );
  value(await engine.setConfiguration(bucket, 'notification', JSON.stringify(rules)));
  return value(await engine.getBucket(bucket.name));
}

async function setUp(versioning: 'never' | 'enabled' | 'suspended', filter = '') {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await setNotification(engine, await makeBucket(engine, versioning), ALL, filter);
  const pass = (ms: number) => {
    now += ms;
  };
  const due = async () => selectDueEvents(context, 0, 1_000);
  const kinds = async () => (await due()).map(({ kind, name }) => `${kind} ${name}`);
  return { engine, context, bucket, due, kinds, pass };
}

describe('an event', () => {
  it('is written for a change of tags or ACL, with the version, and not if the version is gone', async () => {
    const { engine, bucket, due } = await setUp('enabled');
    const { versionId, etag } = await put(engine, bucket, 'k', '1');
    const version = value(await engine.getVersion(bucket, 'k'));
    value(await engine.setTags(version, { a: 'b' }, bucket));
    value(await engine.setTags(version, null, bucket));
    value(await engine.setAcl(version, '<acl/>', bucket));
    value(await engine.deleteObject(bucket, { name: 'k', versionId }));
    expect((await engine.setTags(version, { a: 'c' }, bucket)).ok).toBe(false);
    const events = await due();
    expect(events.map(({ kind }) => kind)).toEqual([
      'ObjectCreated:Put',
      'ObjectTagging:Put',
      'ObjectTagging:Delete',
      'ObjectAcl:Put',
      'ObjectRemoved:Delete',
    ]);
    for (const { facts } of events.slice(1, 4)) expect([facts.versionId, facts.etag]).toEqual([versionId, etag]);
  });

  it('is written for each object that a job removes, hides, restores or copies', async () => {
    const { engine, context, bucket, kinds, pass } = await setUp('enabled');
    const target = await setNotification(engine, await makeBucket(engine), ALL);
    pass(60_000);
    await put(engine, bucket, 'k', '1');
    const atMs = context.now();
    pass(60_000);
    await put(engine, bucket, 'k', '2');
    const run = async (order: JobOrder) => {
      const jobId = crypto.randomUUID();
      const entry = { at: context.now(), id: jobId, action: 'storage_job.start', details: {} } as const;
      const audit = toSystemAuditRow({ ...entry, target: { type: 'bucket', id: bucket.bucketId } });
      const request = { order, isDryRun: false, scopes: null, userId: null };
      await insertJob(context, { ...request, jobId, bucketId: bucket.bucketId }, audit);
      pass(60_000);
      while (await runJob(context, jobId));
    };
    await run({ kind: 'restore', prefix: '', atMs });
    await run({ kind: 'copy', prefix: '', targetId: target.bucketId, targetPrefix: 'to ' });
    await run({ kind: 'delete', prefix: '' });
    await run({ kind: 'empty', prefix: '' });
    expect((await kinds()).slice(2)).toEqual([
      'ObjectCreated:Copy k',
      'ObjectCreated:Copy to k',
      'ObjectRemoved:DeleteMarkerCreated k',
      ...Array(4).fill('ObjectRemoved:Delete k'),
    ]);
  });

  it('is written for each way to create and remove an object, with its facts', async () => {
    const { engine, context, bucket, due, kinds } = await setUp('never');
    const written = await put(engine, bucket, 'a', 'four');
    const source = value(await engine.getVersion(bucket, 'a'));
    value(await engine.copyObject({ bucket, name: 'b', source, metadata: METADATA, tags: null, acl: null }));
    const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
    const part = value(
      await engine.putPart({ bucket, name: 'm', uploadId, partNumber: 1, body: patternOf(30), size: 30 }),
    );
    const parts = [{ partNumber: 1, etag: part.etag }];
    const completion = { bucket, name: 'm', uploadId, parts, partBytesMin: 0 };
    value(await engine.completeUpload(completion));
    value(await engine.completeUpload(completion));
    value(await engine.deleteObject(bucket, { name: 'a' }));
    value(await engine.deleteObject(bucket, { name: 'never there' }));
    expect(await kinds()).toEqual([
      'ObjectCreated:Put a',
      'ObjectCreated:Copy b',
      'ObjectCreated:CompleteMultipartUpload m',
      'ObjectRemoved:Delete a',
    ]);
    const [first, , , last] = await due();
    expect(first?.facts).toMatchObject({ size: 4, etag: written.etag, ownerId: 'u1', versionId: null });
    expect(first?.facts.routes).toEqual([{ id: 'all', target: { kind: 'queue' } }]);
    expect((last?.sequencer ?? '') > (first?.sequencer ?? '')).toBe(true);
    await expectSound(context);
  });

  it('tells markers and removed versions of a versioned bucket apart, and deletes by rules from those of clients', async () => {
    const { engine, bucket, due, kinds } = await setUp('enabled');
    const { versionId } = await put(engine, bucket, 'k', '1');
    const marker = value(await engine.deleteObject(bucket, { name: 'k' }));
    const newest = await put(engine, bucket, 'k', '2');
    const outcomes = await engine.deleteObjects(bucket, [
      { name: 'k', versionId },
      { name: 'k', isLifecycle: true, due: { versionId: newest.versionId, kind: 'current' } },
      { name: 'k', versionId: crypto.randomUUID() },
    ]);
    expect(new Set(outcomes.map((outcome) => outcome.ok))).toEqual(new Set([true]));
    expect(await kinds()).toEqual([
      'ObjectCreated:Put k',
      'ObjectRemoved:DeleteMarkerCreated k',
      'ObjectCreated:Put k',
      'ObjectRemoved:Delete k',
      'LifecycleExpiration:DeleteMarkerCreated k',
    ]);
    const versions = (await due()).map(({ facts }) => facts.versionId);
    expect(versions.slice(0, 4)).toEqual([versionId, marker.versionId, newest.versionId, versionId]);
  });

  it('is not written for names outside the filter, for refused writes, or without a configuration', async () => {
    const filter = '<Filter><S3Key><FilterRule><Name>suffix</Name><Value>.jpg</Value></FilterRule></S3Key></Filter>';
    const { engine, context, bucket, kinds } = await setUp('never', filter);
    await put(engine, bucket, 'a.png', 'x');
    await put(engine, bucket, 'a.jpg', 'x');
    const refused = await engine.putObject({
      bucket,
      name: 'a.jpg',
      body: new Uint8Array(1),
      size: 1,
      metadata: METADATA,
      condition: { absent: true },
    });
    expect(refused.ok).toBe(false);
    expect(await kinds()).toEqual(['ObjectCreated:Put a.jpg']);
    await put(engine, await makeBucket(engine), 'a.jpg', 'x');
    expect(await countRows(context, 'event')).toBe(1);
  });
});

describe('the outbox', () => {
  it('keeps the events of a name in order: later ones wait for one that failed', async () => {
    const { engine, context, bucket, due, pass } = await setUp('never');
    for (const name of ['a', 'b', 'a', 'b']) await put(engine, bucket, name, 'x');
    const [a1, b1, a2] = await due();
    const nowMs = context.now();
    await settleEvents(context, 0, [b1?.id ?? 0], [[a1?.id ?? 0, nowMs + 30_000]]);
    expect((await due()).map(({ name }) => name)).toEqual(['b']);
    pass(30_000);
    expect((await due()).map(({ id, attempts }) => [id, attempts])).toEqual([
      [a1?.id, 1],
      [a2?.id, 0],
      [expect.any(Number), 0],
    ]);
  });

  it('never reuses a number, even after it was empty', async () => {
    const { engine, context, bucket, due } = await setUp('never');
    const seen: string[] = [];
    for (let i = 0; i < 5; i++) {
      await put(engine, bucket, 'k', `${i}`);
      const events = await due();
      seen.push(...events.map(({ sequencer }) => sequencer));
      await settleEvents(
        context,
        0,
        events.map(({ id }) => id),
        [],
      );
    }
    expect(seen).toEqual([...seen].sort());
    expect(new Set(seen).size).toBe(5);
  });

  it('keeps an event that no destination accepts, and drops it after three days', async () => {
    const { engine, context, bucket, pass } = await setUp('never');
    await put(engine, bucket, 'k', 'x');
    // A deployment without a queue must keep the event.
    expect(await sendEvents({ ...context, events: { ...context.events, queue: null } }, 0)).toBe(false);
    expect(await countRows(context, 'event')).toBe(1);
    pass(3 * 86_400_000 + 60_000);
    await sendEvents({ ...context, events: { ...context.events, queue: null } }, 0);
    expect(await countRows(context, 'event')).toBe(0);
  });
});
