import { beforeEach, expect, test } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { getQuota, setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import { selectDueEvents } from '../../../workers/storage/engine/store/event-store.ts';
import { findJob, insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { isClaimed } from '../../../workers/storage/engine/store/journal-store.ts';
import { addUsage, measureBucket, NO_USAGE } from '../../../workers/storage/engine/store/usage-store.ts';
import { checkLocations, checkShard } from '../../../workers/storage/maintenance/fsck.ts';
import { emptyFsckReport } from '../../../workers/storage/maintenance/fsck-report.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import {
  expectContent,
  expectSound,
  failure,
  loseDatabase,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

test('a shard whose database is lost is rebuilt with every version', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const contents = new Map<string, Uint8Array>();
  const buckets = [await makeBucket(engine, 'enabled'), await makeBucket(engine, 'never')];
  const write = async (round: string, sizes: readonly number[]) => {
    for (const [b, bucket] of buckets.entries()) {
      for (const [i, size] of sizes.entries()) {
        const content = patternOf(size, i + round.length);
        const facts = await put(engine, bucket, `${b === 0 ? 'n' : round}${i}\u0000é`, content);
        contents.set(`${b} ${facts.versionId} ${facts.name}`, content);
      }
    }
  };
  await write('first', [5, 700, 16_000, 20_000, 400_000]);
  for (let shard = 0; shard < 3; shard++) while (await packVolume(context, shard, emptyPackReport()));
  await write('inline', [10, 20, 30]);
  const bucket = buckets[0] as NonNullable<(typeof buckets)[0]>;
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const parts = [];
  for (const partNumber of [1, 2])
    parts.push(
      value(
        await engine.putPart({
          bucket,
          name: 'm',
          uploadId,
          partNumber,
          body: patternOf(90_000, partNumber),
          size: 90_000,
        }),
      ),
    );
  const done = value(await engine.completeUpload({ bucket, name: 'm', uploadId, parts, partBytesMin: 0 }));
  contents.set(`0 ${done.versionId} m`, Buffer.concat([patternOf(90_000, 1), patternOf(90_000, 2)]));
  const marker = value(await engine.deleteObject(bucket, { name: 'n0\u0000é' }));
  for (let shard = 0; shard < 3; shard++) await snapshotShard(context, shard);
  // Write after the snapshot: large objects, and small ones that are packed into a volume.
  await write('after', [50_000, 60_000, 1_200_000]);
  await write('packed', [100, 200, 300]);
  for (let shard = 0; shard < 3; shard++) while (await packVolume(context, shard, emptyPackReport()));
  const list = async () =>
    Promise.all(
      buckets.map(
        async (one) =>
          value(await engine.listVersions({ bucket: one, prefix: '', delimiter: '', from: '', limit: 1000 })).entries,
      ),
    );
  const before = await list();
  expect(await rebuildShard(context, 1)).toEqual({ ok: false, error: { kind: 'not_empty' } });

  for (const shard of [1, 0]) {
    await loseDatabase(context, shard);
    // Rebuild one shard in a single call, and the other in requests of one step, which share no state except the databases.
    const isStepped = shard === 0;
    let outcome = await rebuildShard(context, shard, { mayContinue: () => !isStepped });
    const absent = Array.from({ length: 99 }, (_, i) => `absent ${i}`).find(
      (name) => bucket.placement.shards[slotOf(name)] === shard,
    ) as string;
    let refusals = 0;
    while (outcome.ok && !outcome.isDone) {
      // Until the rebuild ends, an absent name must be reported as unavailable, not as missing. Then a full snapshot is written.
      const kind = (await isClaimed(context, shard)) ? 'no_such_key' : 'unavailable';
      expect(failure(await engine.getVersion(bucket, absent)).kind).toBe(kind);
      if (kind === 'unavailable') {
        const request = { bucket, name: absent, body: patternOf(10), size: 10, metadata: METADATA };
        expect(failure(await engine.putObject(request)).kind).toBe('unavailable');
        const query = { bucket, prefix: '', delimiter: '', from: '', limit: 10 };
        expect(failure(await engine.listObjects(query)).kind).toBe('unavailable');
        refusals++;
      }
      const next = makeEngine({ shards: 3, limits: { bucketSpread: 3, checkPageRows: 3 } });
      outcome = await rebuildShard(next.context, shard, { mayContinue: () => false });
    }
    expect(outcome).toMatchObject({ ok: true, isDone: true, report: { versions_incomplete: 0 } });
    expect(refusals > 20).toBe(isStepped);
    if (outcome.ok) expect(outcome.report.versions_recovered).toBeGreaterThan(0);
  }

  expect(await list()).toEqual(before);
  for (const [key, content] of contents) {
    const [b, versionId, ...name] = key.split(' ');
    await expectContent(engine, buckets[Number(b)] as typeof bucket, name.join(' '), content, versionId);
  }
  expect(value(await engine.getVersion(bucket, 'n0\u0000é', { versionId: marker.versionId ?? '' })).isMarker).toBe(
    true,
  );
  await put(engine, bucket, 'x', 'the bucket takes writes again');
  const report = emptyFsckReport(true);
  for (let shard = 0; shard < 3; shard++) await checkShard(context, shard, report);
  await checkLocations(context, report);
  expect(report).toMatchObject({
    versions_incomplete: 0,
    extents_dangling: 0,
    extents_without_blob: 0,
    copies_missing: 0,
  });
});

test('a lost shard keeps locks, counts of quotas, rules and jobs, and loses the events that it had not sent', async () => {
  const DAY = 86_400_000;
  // The test's clock starts in the future, because no version gets a time before that of the database's clock.
  let now = (Math.floor(Date.now() / DAY) + 1.5) * DAY;
  const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 2 }, now: () => now });
  const made = await makeBucket(engine, 'enabled');
  const events = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*', 's3:LifecycleExpiration:*'];
  const rule = { id: 'all', target: { kind: 'queue' }, arn: '', events, prefix: null, suffix: null };
  value(await engine.setConfiguration(made, 'notification', JSON.stringify([rule])));
  const subject = { kind: 'bucket', subject: made.bucketId } as const;
  value(await setQuota(context, subject, { bytes: 100_000, objects: 100 }));
  const bucket = value(await engine.getBucket(made.name));
  const homeOf = (name: string) => bucket.placement.shards[slotOf(name)];
  const namesIn = (shard: number, prefix: string) =>
    Array.from({ length: 99 }, (_, i) => `${prefix}${i}`).filter((name) => homeOf(name) === shard);
  const held = { mode: null, retainUntilMs: null, isHeld: true };
  const [locked = '', stays = '', expires = '', counted = ''] = ['lock', 'kept', 'old/', 'job/'].flatMap((prefix) =>
    namesIn(0, prefix).slice(0, 1),
  );
  const other = namesIn(1, 'job/')[0] ?? '';
  const { versionId } = await put(engine, bucket, locked, 'locked', { lock: held });
  await put(engine, bucket, stays, 'stays');
  await snapshotShard(context, 0);
  for (const name of [expires, counted, other]) await put(engine, bucket, name, patternOf(500));
  const rules = [{ id: 'old', isEnabled: true, filter: { prefix: 'old/' }, form: 'one', expiration: { days: 1 } }];
  value(await engine.setConfiguration(bucket, 'lifecycle', JSON.stringify({ rules, minimumSize: '' })));
  const start = async (jobId: string, kind: 'count' | 'delete') => {
    const target = { type: 'bucket', id: bucket.bucketId } as const;
    const audit = toSystemAuditRow({ at: now, id: jobId, action: 'storage_job.start', target, details: {} });
    const request = { bucketId: bucket.bucketId, userId: null, order: { kind, prefix: 'job/' }, isDryRun: false };
    expect(await insertJob(context, { ...request, jobId, scopes: null }, audit)).toBe(true);
  };
  const jobs = ['count', 'delete'] as const;
  now += 60_000;
  for (const kind of jobs) await start(kind, kind);
  const stateOf = async (kind: string) => (await findJob(context, kind, null))?.state;
  const counts = async () => value(await getQuota(context, subject))?.used;
  const before = await counts();
  const [, last = ''] = (await selectDueEvents(context, 0, 99)).map(({ sequencer }) => sequencer).slice(-2);
  await writeJournal(context, 0);
  await loseDatabase(context, 0);

  // The empty database must not be treated as an empty bucket.
  for (const kind of jobs) expect([await runJob(context, kind), await stateOf(kind)]).toEqual([false, 'running']);
  expect(failure(await measureBucket(context, 0, bucket.bucketId)).kind).toBe('unavailable');
  expect(failure(await getQuota(context, subject)).kind).toBe('unavailable');
  expect(await maintainShard(context, 0)).toBe(false);

  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, isDone: true });
  expect(await counts()).toEqual(before);
  expect(failure(await engine.deleteObject(bucket, { name: locked, versionId }))).toEqual({ kind: 'object_locked' });
  expect(await selectDueEvents(context, 0, 99)).toEqual([]);
  // Advance the clock, so that the leases of the jobs have expired.
  now += 60_000;
  for (const kind of jobs) expect([await runJob(context, kind), await stateOf(kind)]).toEqual([false, 'done']);
  expect((await findJob(context, 'count', null))?.report.counts).toMatchObject({ objects: 2, bytes: 1_000 });
  now += 3 * DAY;
  for (let shard = 0; shard < 2; shard++) {
    expect(await isLifecycleDue(context, shard)).toBe(true);
    while (await runLifecycle(context, shard));
  }
  const found = value(await engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 99 })).entries;
  expect(found.map((entry) => entry.kind === 'item' && entry.item.name)).toEqual([stays, locked].sort());
  const sent = await selectDueEvents(context, 0, 99);
  expect(sent.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    `ObjectRemoved:DeleteMarkerCreated ${counted}`,
    `LifecycleExpiration:DeleteMarkerCreated ${expires}`,
  ]);
  for (const { sequencer } of sent) expect(sequencer > last).toBe(true);
  let usage = NO_USAGE;
  for (let shard = 0; shard < 2; shard++)
    usage = addUsage(usage, value(await measureBucket(context, shard, bucket.bucketId)));
  expect(await counts()).toEqual({ bytes: usage.bytes, objects: usage.objects });
  await expectSound(context);
});
