/** Tests runs of lifecycle rules over the stores: what they remove, what they keep, and how they recover from an interruption. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineLimits } from '../../../workers/storage/engine/model/context.ts';
import type { Bucket, Engine, ObjectLock } from '../../../workers/storage/engine/model/contract.ts';
import { selectRuns } from '../../../workers/storage/engine/store/lifecycle-store.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { parseLifecycle } from '../../../workers/storage/s3/documents/lifecycle-document.ts';
import { countRows, expectSound, METADATA, makeBucket, makeEngine, put, value, wipe } from './harness.ts';

beforeEach(wipe);

const DAY = 86_400_000;
/** Start of the test's clock: noon of a future day, because no version gets a time before that of the database's clock. */
const NOW = (Math.floor(Date.now() / DAY) + 1.5) * DAY;
const EXPIRE = '<Expiration><Days>1</Days></Expiration>';
const NONCURRENT = '<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>';

async function setUp(versioning: 'never' | 'enabled' | 'suspended', shards = 1, more: Partial<EngineLimits> = {}) {
  let now = NOW;
  const { engine, context } = makeEngine({ now: () => now, shards, limits: { bucketSpread: shards, ...more } });
  const bucket = await makeBucket(engine, versioning);
  const setRules = async (...rules: string[]) => {
    const text = `<LifecycleConfiguration>${rules
      .map((inner) => `<Rule><Status>Enabled</Status>${inner.includes('<Filter') ? '' : '<Filter/>'}${inner}</Rule>`)
      .join('')}</LifecycleConfiguration>`;
    const document = JSON.stringify({ rules: value(parseLifecycle(text, () => crypto.randomUUID())), minimumSize: '' });
    value(await engine.setConfiguration(bucket, 'lifecycle', document));
  };
  /** Runs the rules until they are done, as cron does on a day that many days later. */
  const runAfter = async (days: number) => {
    now += days * DAY;
    for (let shard = 0; shard < shards; shard++) {
      if (await isLifecycleDue(context, shard)) while (await runLifecycle(context, shard));
    }
  };
  const setNow = (ms: number) => {
    now = ms;
  };
  return { engine, context, bucket, setRules, runAfter, setNow };
}

/** Lists names with the kinds of their versions, newest first: `v` data, `m` a delete marker. */
async function versionsOf(engine: Engine, bucket: Bucket): Promise<Record<string, string>> {
  const page = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 1_000 }));
  const found: Record<string, string> = {};
  for (const entry of page.entries) {
    if (entry.kind !== 'item') continue;
    found[entry.item.name] = (found[entry.item.name] ?? '') + (entry.item.isMarker ? 'm' : 'v');
  }
  return found;
}

const audits = async (directory: D1Database, bucket: Bucket) =>
  (
    await directory
      .prepare("SELECT details FROM audit_entry WHERE action = 'bucket.lifecycle' AND target_id = ?1")
      .bind(bucket.bucketId)
      .all<{ details: string }>()
  ).results.map(({ details }) => JSON.parse(details));

describe('a run of lifecycle rules', () => {
  it('deletes objects of an unversioned bucket in every shard, and records one entry for each', async () => {
    const { engine, context, bucket, setRules, runAfter } = await setUp('never', 3);
    await setRules(`<Filter><Prefix>tmp/</Prefix></Filter>${EXPIRE}`);
    for (let i = 0; i < 12; i++) await put(engine, bucket, `tmp/${i}`, 'x');
    await put(engine, bucket, 'kept', 'x');
    await runAfter(1);
    expect(Object.keys(await versionsOf(engine, bucket))).toHaveLength(13);
    await runAfter(1);
    expect(await versionsOf(engine, bucket)).toEqual({ kept: 'v' });
    const details = await audits(context.directory, bucket);
    expect(details.reduce((sum, one) => sum + one.objects_expired, 0)).toBe(12);
    expect(details.length).toBeLessThanOrEqual(3);
    await runAfter(1);
    expect(await audits(context.directory, bucket)).toHaveLength(details.length);
    await expectSound(context);
  });

  it('hides current versions by markers, removes noncurrent ones later, and then the markers', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('enabled');
    await setRules(EXPIRE, NONCURRENT);
    await put(engine, bucket, 'k', '1');
    await put(engine, bucket, 'k', '2');
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'mv' });
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'm' });
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({});
  });

  it('replaces the null version of a suspended bucket by a null marker', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('suspended');
    await setRules(EXPIRE);
    await put(engine, bucket, 'k', '1');
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'm' });
  });

  it('keeps the newest noncurrent versions with data', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('enabled');
    const newer = '<NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>';
    await setRules(NONCURRENT.replace('</NoncurrentVersionExpiration>', newer));
    for (let i = 0; i < 3; i++) await put(engine, bucket, 'k', `${i}`);
    value(await engine.deleteObject(bucket, { name: 'k' }));
    for (let i = 3; i < 6; i++) await put(engine, bucket, 'k', `${i}`);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'vvvmvvv' });
    await runAfter(3);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'vvv' });
  });

  it('walks more versions of a name, and more names, than one page has', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('enabled', 1, { lifecyclePageRows: 3 });
    const newer = '<NewerNoncurrentVersions>4</NewerNoncurrentVersions></NoncurrentVersionExpiration>';
    await setRules(NONCURRENT.replace('</NoncurrentVersionExpiration>', newer));
    for (let i = 0; i < 11; i++) await put(engine, bucket, 'deep', `${i}`);
    for (let i = 0; i < 60; i++) await put(engine, bucket, `wide/${i}`, 'x');
    await runAfter(3);
    const found = await versionsOf(engine, bucket);
    expect([found.deep, Object.keys(found).length]).toEqual(['vvvvv', 61]);
  });

  it('never removes a locked version, and hides it by a marker', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('enabled');
    await setRules(EXPIRE, NONCURRENT);
    const lock: ObjectLock = { mode: 'COMPLIANCE', retainUntilMs: NOW + 9 * DAY, isHeld: false };
    for (const name of ['old', 'current']) {
      value(await engine.putObject({ bucket, name, body: new Uint8Array(1), size: 1, metadata: METADATA, lock }));
    }
    await put(engine, bucket, 'old', 'newer');
    for (let i = 0; i < 3; i++) await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({ old: 'mv', current: 'mv' });
    await runAfter(4);
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({});
  });

  it('aborts incomplete uploads by prefix', async () => {
    const { engine, bucket, setRules, runAfter } = await setUp('never');
    const abort =
      '<AbortIncompleteMultipartUpload><DaysAfterInitiation>2</DaysAfterInitiation></AbortIncompleteMultipartUpload>';
    await setRules(`<Filter><Prefix>a</Prefix></Filter>${abort}`);
    for (const name of ['a1', 'a2', 'b']) value(await engine.createUpload({ bucket, name, metadata: METADATA }));
    const names = async () =>
      value(await engine.listUploads({ bucket, prefix: '', delimiter: '', from: '', limit: 9 })).entries.map((entry) =>
        entry.kind === 'item' ? entry.item.name : '',
      );
    await runAfter(2);
    expect(await names()).toEqual(['a1', 'a2', 'b']);
    await runAfter(1);
    expect(await names()).toEqual(['b']);
  });

  it('changes nothing in a bucket that is taken down or deleted, or whose rules were removed', async () => {
    const { engine, context, bucket, setRules, runAfter } = await setUp('never');
    await put(engine, bucket, 'k', 'x');
    await setRules(EXPIRE);
    value(await engine.setConfiguration(bucket, 'takeDown', '{}'));
    await runAfter(3);
    value(await engine.setConfiguration(bucket, 'takeDown', null));
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'v' });
    value(await engine.setConfiguration(bucket, 'lifecycle', null));
    await runAfter(1);
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'v' });
    expect(await countRows(context, 'lifecycle')).toBe(0);
  });

  it('runs once a day', async () => {
    const { engine, context, bucket, setRules, runAfter } = await setUp('never');
    await setRules(EXPIRE);
    await runAfter(2);
    await put(engine, bucket, 'k', 'x');
    expect(await isLifecycleDue(context, 0)).toBe(false);
    await runAfter(2);
    expect(await versionsOf(engine, bucket)).toEqual({});
  });
});

describe('a delete by a rule', () => {
  it('keeps a version that changed after the rule selected it', async () => {
    const { engine, bucket } = await setUp('enabled');
    const first = await put(engine, bucket, 'k', '1', { tags: { a: 'b' } });
    const due = { versionId: first.versionId, kind: 'current', tags: '{"a":"b"}' } as const;
    const expire = async () => {
      const outcome = await engine.deleteObject(bucket, { name: 'k', due });
      return outcome.ok ? 'deleted' : outcome.error.kind;
    };
    value(await engine.setTags(value(await engine.getVersion(bucket, 'k')), { a: 'c' }));
    expect(await expire()).toBe('precondition_failed');
    value(await engine.setTags(value(await engine.getVersion(bucket, 'k')), { a: 'b' }));
    await put(engine, bucket, 'k', '2');
    expect(await expire()).toBe('precondition_failed');
    expect(await versionsOf(engine, bucket)).toEqual({ k: 'vv' });
  });

  it('is refused without the other deletes of its batch', async () => {
    const { engine, bucket } = await setUp('never');
    const [a, b] = [await put(engine, bucket, 'a', '1'), await put(engine, bucket, 'b', '1')];
    await put(engine, bucket, 'a', '2');
    const outcomes = await engine.deleteObjects(bucket, [
      { name: 'a', due: { versionId: a.versionId, kind: 'current' } },
      { name: 'b', due: { versionId: b.versionId, kind: 'current' } },
    ]);
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value.existed : outcome.error.kind))).toEqual([
      'precondition_failed',
      true,
    ]);
    expect(await versionsOf(engine, bucket)).toEqual({ a: 'v' });
  });

  it('of a noncurrent version depends on the newer versions', async () => {
    const { engine, bucket } = await setUp('enabled');
    const old = await put(engine, bucket, 'k', '1');
    const middle = await put(engine, bucket, 'k', '2');
    await put(engine, bucket, 'k', '3');
    const remove = async (since: number, newerVersions: number) => {
      const due = { versionId: old.versionId, kind: 'noncurrent', since, newerVersions } as const;
      const outcome = await engine.deleteObject(bucket, { name: 'k', versionId: old.versionId, due });
      return outcome.ok ? 'deleted' : outcome.error.kind;
    };
    expect(await remove(NOW - 1, 0)).toBe('precondition_failed');
    expect(await remove(NOW + 1, 2)).toBe('precondition_failed');
    value(await engine.deleteObject(bucket, { name: 'k', versionId: middle.versionId }));
    expect(await remove(NOW + 1, 1)).toBe('precondition_failed');
    expect(await remove(NOW + 1, 0)).toBe('deleted');
  });
});

it('an interrupted run continues where it was, and one that ended is recorded once', async () => {
  const { engine, context, bucket, setRules, runAfter, setNow } = await setUp('never');
  await setRules(EXPIRE);
  for (let i = 0; i < 30; i++) await put(engine, bucket, `k${i}`, 'x');
  setNow(NOW + 3 * DAY);
  expect(await isLifecycleDue(context, 0)).toBe(true);
  const [run] = await selectRuns(context, 0, 1);
  // Make the state after a kill between the audit entry and the end of the run.
  await runLifecycle(context, 0);
  const before = await audits(context.directory, bucket);
  await context.shards[0]
    ?.prepare('INSERT INTO lifecycle(bucket, started_at, counts) VALUES (?1, ?2, ?3)')
    .bind(run?.bucket, run?.started_at, JSON.stringify({ objects_expired: 30 }))
    .run();
  await runAfter(0);
  while (await runLifecycle(context, 0));
  expect(await audits(context.directory, bucket)).toEqual(before);
  expect([before.length, await versionsOf(engine, bucket)]).toEqual([1, {}]);
});
