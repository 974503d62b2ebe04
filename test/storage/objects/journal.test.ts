import { beforeEach, expect, test } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import { listDirectoryTables } from '../../../workers/storage/engine/store/directory-store.ts';
import { insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { rebuildDirectory } from '../../../workers/storage/maintenance/directory-rebuild.ts';
import { snapshotDirectory } from '../../../workers/storage/maintenance/directory-snapshot.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { maintainShard } from '../../../workers/storage/maintenance/schedule.ts';
import { snapshotShard, snapshotStep } from '../../../workers/storage/maintenance/snapshot.ts';
import {
  expectSound,
  failure,
  loseDatabase,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

/** A lock whose retention has ended, so the version can be deleted. */
const EXPIRED = { mode: 'COMPLIANCE', retainUntilMs: 1000, isHeld: false } as const;
const HELD = { mode: 'COMPLIANCE', retainUntilMs: 1995359379360, isHeld: true } as const;

/** Lists a bucket as a client sees it: versions in order with bytes and tags, and uploads with parts. */
async function listContents(engine: Engine, bucket: Bucket, prefix = ''): Promise<string[]> {
  const { entries } = value(await engine.listVersions({ bucket, prefix, delimiter: '', from: '', limit: 1000 }));
  const seen: string[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'item') continue;
    const { name, versionId, isMarker, isLatest, isNull } = entry.item;
    const version = value(await engine.getVersion(bucket, name, { versionId }));
    const bytes = isMarker ? null : (await readAll(engine, version)).toString('base64').slice(0, 60);
    seen.push(
      JSON.stringify([
        name,
        versionId,
        isMarker,
        isLatest,
        isNull,
        version.size,
        version.etag,
        version.tags,
        version.acl,
        version.lock,
        bytes,
      ]),
    );
  }
  const uploads = value(await engine.listUploads({ bucket, prefix: '', delimiter: '', from: '', limit: 1000 }));
  for (const entry of uploads.entries) {
    if (entry.kind !== 'item') continue;
    const { name, uploadId } = entry.item;
    const { parts } = value(await engine.listParts(bucket, name, uploadId, { after: 0, limit: 1000 }));
    seen.push(JSON.stringify([name, uploadId, parts]));
  }
  return seen;
}

const putParts = async (engine: Engine, bucket: Bucket, name: string, count: number, size: number) => {
  const { uploadId } = value(await engine.createUpload({ bucket, name, metadata: METADATA, tags: { up: 'load' } }));
  const parts = [];
  for (let partNumber = 1; partNumber <= count; partNumber++) {
    const body = patternOf(size, partNumber);
    parts.push(value(await engine.putPart({ bucket, name, uploadId, partNumber, body, size })));
  }
  return { uploadId, parts };
};

test('a rebuild restores changes since the snapshot: inline bytes, deletes, markers, tags, copies, uploads, completions', async () => {
  const clock = { offsetMs: 0 };
  const tested = makeEngine({ now: () => Date.now() + clock.offsetMs });
  const { engine, context } = tested;
  const plain = await makeBucket(engine, 'never');
  const versioned = await makeBucket(engine, 'enabled');
  const suspended = await makeBucket(engine, 'suspended');
  for (const bucket of [plain, versioned, suspended]) {
    for (let i = 0; i < 12; i++) await put(engine, bucket, `old${i}`, patternOf(i % 3 === 0 ? 40_000 : 900 + i, i));
  }
  await packVolume(context, 0, emptyPackReport());
  const early = await putParts(engine, plain, 'early', 2, 30_000);
  await snapshotShard(context, 0);
  await put(engine, plain, 'made since', 'inline');
  for (const bucket of [plain, versioned, suspended]) {
    for (const name of ['old0', 'old1', 'old2']) value(await engine.deleteObject(bucket, { name }));
    await put(engine, bucket, 'old3', 'replaced', {
      lock: { mode: 'GOVERNANCE', retainUntilMs: 1795359379360, isHeld: false },
    });
    await put(engine, bucket, 'old4', patternOf(50_000, 9), { lock: EXPIRED });
    await put(engine, bucket, 'old9', patternOf(70, 9), { lock: HELD });
    const source = value(await engine.getVersion(bucket, 'old5'));
    value(await engine.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: { a: 'b' }, acl: 'mine' }));
    value(await engine.setTags(value(await engine.getVersion(bucket, 'old6')), { colour: 'blue' }));
  }
  await writeJournal(context, 0);
  // Delete these objects again while their blobs still exist. The rebuild must not restore them.
  for (const bucket of [plain, versioned, suspended]) {
    const { versionId } = value(await engine.getVersion(bucket, 'old4'));
    value(await engine.deleteObject(bucket, { name: 'old4', versionId }));
    await put(engine, bucket, 'old3', 'replaced again');
  }
  // Pack objects and compact their volume, so that their bytes move after the snapshot.
  for (const name of ['old7', 'old8', 'old10']) value(await engine.deleteObject(plain, { name }));
  await packVolume(context, 0, emptyPackReport());
  clock.offsetMs += 7_200_000;
  const collected = emptyCollectReport();
  while (await collectUploads(context, 0, collected));
  while (await collectBlobs(context, 0, collected));
  clock.offsetMs += 7_200_000;
  while (await collectBlobs(context, 0, collected));
  expect(collected.blobs_removed).toBeGreaterThan(0);
  value(await engine.completeUpload({ bucket: plain, name: 'early', ...early, partBytesMin: 0 }));
  const late = await putParts(engine, versioned, 'late', 3, 20_000);
  const source = value(await engine.getVersion(versioned, 'old9'));
  value(await engine.copyPart({ bucket: versioned, name: 'late', uploadId: late.uploadId, partNumber: 9, source }));
  const aborted = await putParts(engine, versioned, 'aborted', 1, 20_000);
  value(await engine.abortUpload(versioned, 'aborted', aborted.uploadId));
  const fresh = await makeBucket(engine, 'enabled');
  await put(engine, fresh, 'in a new bucket', '');
  await put(engine, fresh, 'in a new bucket', 'again');
  const buckets = [plain, versioned, suspended, fresh];
  const before = await Promise.all(buckets.map((bucket) => listContents(engine, bucket)));
  await writeJournal(context, 0);

  await loseDatabase(context, 0);
  const outcome = await rebuildShard(context, 0);
  expect(outcome).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  for (const [i, bucket] of buckets.entries()) expect(await listContents(engine, bucket)).toEqual(before[i]);
  await expectSound(tested.context);
  // It must be possible to lose a rebuilt database and rebuild it again immediately.
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  for (const [i, bucket] of buckets.entries()) expect(await listContents(engine, bucket)).toEqual(before[i]);
  value(await engine.completeUpload({ bucket: versioned, name: 'late', ...late, partBytesMin: 0 }));
});

test.each([
  ['inline', 'small', 'and packed'],
  ['inline', 'small', ''],
  ['a blob', patternOf(20_000), ''],
] as const)(
  'a name overwritten (%s) and deleted between two journal writes stays deleted',
  async (_, content, packed) => {
    for (const versioning of ['never', 'suspended'] as const) {
      const { engine, context } = makeEngine();
      const bucket = await makeBucket(engine, versioning);
      await put(engine, bucket, 'x', 'as the journal has it');
      await put(engine, bucket, 'y', 'stays');
      await writeJournal(context, 0);
      await put(engine, bucket, 'x', content);
      if (packed) await packVolume(context, 0, emptyPackReport());
      value(await engine.deleteObject(bucket, { name: 'x' }));
      const before = await listContents(engine, bucket);
      await writeJournal(context, 0);
      await loseDatabase(context, 0);
      expect(await rebuildShard(context, 0)).toMatchObject({ ok: true });
      expect(await listContents(engine, bucket)).toEqual(before);
    }
  },
);

test('a deleted version stays deleted although its id differs from the id of its blob', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const ahead = makeEngine({ now: () => Date.now() + 30_000 }).engine;
  await put(ahead, bucket, 'x', 'from a clock that is fast');
  const { versionId } = await put(engine, bucket, 'x', patternOf(20_000));
  value(await engine.deleteObject(bucket, { name: 'x', versionId }));
  const before = await listContents(engine, bucket);
  await writeJournal(context, 0);
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true });
  expect(await listContents(engine, bucket)).toEqual(before);
});

test('a version deleted while its slot was in another database stays deleted when the slot returns', async () => {
  const { engine, context } = makeEngine({ shards: 2 });
  const bucket = await makeBucket(engine, 'enabled');
  const slot = slotOf('x');
  const home = bucket.placement.shards[slot] ?? 0;
  const { versionId } = await put(engine, bucket, 'x', patternOf(20_000));
  await put(engine, bucket, 'x', patternOf(30_000));
  await snapshotShard(context, home);
  expect(await moveSlot(context, bucket.bucketId, slot, 1 - home)).toMatchObject({ ok: true });
  value(await engine.deleteObject(value(await engine.getBucket(bucket.name)), { name: 'x', versionId }));
  expect(await moveSlot(context, bucket.bucketId, slot, home)).toMatchObject({ ok: true });
  const before = await listContents(engine, value(await engine.getBucket(bucket.name)));
  await writeJournal(context, home);
  await loseDatabase(context, home);
  expect(await rebuildShard(context, home)).toMatchObject({ ok: true });
  expect(await listContents(engine, value(await engine.getBucket(bucket.name)))).toEqual(before);
});

test('a slot that was moved away leaves no rows in the rebuilt database', async () => {
  const { engine, context } = makeEngine({ shards: 2 });
  const bucket = await makeBucket(engine);
  const slot = slotOf('x');
  const home = bucket.placement.shards[slot] ?? 0;
  await snapshotShard(context, home);
  await put(engine, bucket, 'x', patternOf(20_000));
  await writeJournal(context, home);
  expect(await moveSlot(context, bucket.bucketId, slot, 1 - home)).toMatchObject({ ok: true });
  await loseDatabase(context, home);
  expect(await rebuildShard(context, home)).toMatchObject({ ok: true });
  const left = await context.shards[home]?.prepare('SELECT count(*) AS n FROM version').first<number>('n');
  expect(left).toBe(0);
  const moved = value(await engine.getBucket(bucket.name));
  value(await engine.deleteObject(moved, { name: 'x' }));
  value(await engine.deleteBucket(moved));
});

test('a bucket created and deleted since the snapshot does not block the rebuild of its database', async () => {
  const { engine, context } = makeEngine();
  const kept = await makeBucket(engine);
  await put(engine, kept, 'kept', 'here');
  await snapshotShard(context, 0);
  const gone = await makeBucket(engine);
  await put(engine, gone, 'x', 'small');
  await putParts(engine, gone, 'm', 1, 20_000);
  await writeJournal(context, 0);
  value(await engine.deleteObject(gone, { name: 'x' }));
  value(await engine.deleteBucket(gone));
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true });
  expect((await readAll(engine, value(await engine.getVersion(kept, 'kept')))).toString()).toBe('here');
  await expectSound(context);
});

test('a delete during a paged snapshot leaves the previous version', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  await put(engine, bucket, 'a', '');
  await context.shards[0]
    ?.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1998)
       INSERT INTO version(bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, metadata)
       SELECT bucket, CAST('a' || i AS BLOB), ord, slot, 0, 0, object_id, 0, etag, metadata FROM version, n`,
    )
    .run();
  await put(engine, bucket, 'x', 'older');
  const { versionId } = await put(engine, bucket, 'x', 'newer');
  await writeJournal(context, 0);
  // Delete between two pages: the page of 2,000 versions ends between the two versions of `x`.
  let pages = 0;
  while ((await snapshotStep(context, 0, 1)) === null) {
    if (++pages === 3) value(await engine.deleteObject(bucket, { name: 'x', versionId }));
  }
  const before = await listContents(engine, bucket, 'x');
  await writeJournal(context, 0);
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true });
  expect(await listContents(engine, bucket, 'x')).toEqual(before);
});

test('an empty database in place of a lost one accepts no writes, reports no name as missing and creates no orphans', async () => {
  const { engine, context } = makeEngine({ now: () => Date.now() + 7_200_000 });
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', patternOf(50_000));
  await maintainShard(context, 0);
  await loseDatabase(context, 0);
  const lost = { kind: 'unavailable', reason: 'the database of shard 0 was lost and has not been rebuilt yet' };
  expect(failure(await engine.getVersion(bucket, 'x'))).toEqual(lost);
  expect(failure(await engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 10 }))).toEqual(lost);
  expect(failure(await engine.deleteBucket(bucket))).toEqual(lost);
  const body = patternOf(10);
  expect(failure(await engine.putObject({ bucket, name: 'y', body, size: 10, metadata: METADATA }))).toEqual(lost);
  const blobs = async () => (await context.locations[0]?.list({ prefix: 'blobs/' }))?.objects.length;
  const before = await blobs();
  expect(await walkOrphans(context, emptyCollectReport())).toBe(false);
  expect(await maintainShard(context, 0)).toBe(false);
  // No snapshot may be written: one of the empty database would replace those of the lost one, and would count as a claim.
  await expect(snapshotStep(context, 0, 1)).rejects.toThrow('lost');
  expect(await maintainShard(context, 0)).toBe(false);
  expect(await blobs()).toBe(before);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  expect(value(await engine.getVersion(bucket, 'x')).size).toBe(50_000);
  await put(engine, bucket, 'y', body);
});

test('a lost DIRECTORY is restored from its snapshot, with buckets and moves that only the shards know', async () => {
  const { engine, context } = makeEngine({ shards: 3 });
  const secret = { id: crypto.randomUUID(), name: 'ada "the first" ü' };
  const { directory } = context;
  await directory
    .prepare('INSERT INTO user(user_id, user_name, name, email, created_at) VALUES (?1, ?1, ?2, NULL, ?3)')
    .bind(secret.id, secret.name, 1_795_231_633_939)
    .run();
  await directory
    .prepare(
      "INSERT INTO access_key(access_key_id, user_id, secret_sealed, created_at) VALUES ('AKIAONE', ?1, 'sealed', 1)",
    )
    .bind(secret.id)
    .run();
  const [kept, deleted] = [await makeBucket(engine, 'enabled'), await makeBucket(engine)];
  value(await engine.setConfiguration(kept, 'policy', '{"Version":"2012-10-17"}'));
  await put(engine, kept, 'x', 'there');
  const { bucketId } = kept;
  const entry = { at: context.now(), id: crypto.randomUUID(), action: 'storage_job.start' } as const;
  const audit = toSystemAuditRow({ ...entry, target: { type: 'bucket', id: bucketId }, details: {} });
  const order = { kind: 'delete', prefix: '' } as const;
  const job = { jobId: 'a job', bucketId, userId: null, order, isDryRun: false, scopes: null };
  expect(await insertJob(context, job, audit)).toBe(true);
  await snapshotDirectory(context);
  value(await engine.deleteBucket(deleted));
  const since = await makeBucket(engine, 'suspended');
  await put(engine, since, 'y', 'made since');
  const from = kept.placement.shards[slotOf('x')] ?? 0;
  expect(await moveSlot(context, kept.bucketId, slotOf('x'), (from + 1) % 3)).toMatchObject({ ok: true });
  expect(await rebuildDirectory(context)).toEqual({ ok: false, error: { kind: 'not_empty' } });
  const tables = await listDirectoryTables(context);
  expect(tables.length).toBeGreaterThan(10);
  await directory.batch(tables.map((table) => directory.prepare(`DELETE FROM "${table}"`)));
  context.memory.placements.clear();

  // Delete a page of the snapshot, so that the rebuild stops after the users. It is then repeated.
  const pages = (await Promise.all(context.locations.map(async (each) => (await each.list()).objects))).flat();
  const lost = pages.map(({ key }) => key).find((key) => /^snapshots\/directory\/.*\/bucket\/000000/.test(key)) ?? '';
  const page = await (await context.locations[0]?.get(lost))?.arrayBuffer();
  await Promise.all(context.locations.map((each) => each.delete(lost)));
  await expect(rebuildDirectory(context)).rejects.toThrow('no location has');
  expect(await directory.prepare('SELECT count(*) AS users FROM user').first()).toEqual({ users: 1 });
  await expect(snapshotDirectory(context)).rejects.toThrow('another DIRECTORY');
  await context.locations[0]?.put(lost, page ?? '');
  expect(await rebuildDirectory(context)).toMatchObject({ ok: true, report: { buckets_recovered: 1 } });
  expect(await directory.prepare('SELECT access_key_id FROM access_key').first()).toEqual({ access_key_id: 'AKIAONE' });
  // The job may have been cancelled since the snapshot, so it does not go on.
  const ended = await directory.prepare('SELECT state, error FROM storage_job').first();
  expect(ended).toEqual({ state: 'failed', error: 'directory_rebuilt' });
  expect(await rebuildDirectory(context)).toEqual({ ok: false, error: { kind: 'not_empty' } });
  const user = await directory.prepare('SELECT * FROM user WHERE user_id = ?1').bind(secret.id).first();
  expect(user).toMatchObject({ name: secret.name, email: null, created_at: 1_795_231_633_939 });
  const bucket = value(await engine.getBucket(kept.name));
  expect(bucket).toMatchObject({ versioning: 'enabled', configuration: { policy: '{"Version":"2012-10-17"}' } });
  expect((await readAll(engine, value(await engine.getVersion(bucket, 'x')))).toString()).toBe('there');
  expect(failure(await engine.getBucket(deleted.name))).toEqual({ kind: 'no_such_bucket' });
  const found = value(await engine.getBucket(since.name));
  expect(found).toMatchObject({ bucketId: since.bucketId, ownerId: 'u1', versioning: 'suspended' });
  expect((await readAll(engine, value(await engine.getVersion(found, 'y')))).toString()).toBe('made since');
  await directory.prepare('DELETE FROM user').run();
});
