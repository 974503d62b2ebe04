/** Tests Object Lock in the engine: the guard of every delete, and locks that survive a lost database and a slot move. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { LockChange, ObjectLock } from '../../../workers/storage/engine/model/contract.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { loseDatabase, METADATA, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

beforeEach(wipe);

const NOW = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const HELD: ObjectLock = { mode: null, retainUntilMs: null, isHeld: true };
const retained = (mode: 'GOVERNANCE' | 'COMPLIANCE', days: number): ObjectLock => ({
  mode,
  retainUntilMs: NOW + days * DAY,
  isHeld: false,
});

async function setUp() {
  let now = NOW;
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const add = async (name: string, lock: ObjectLock) =>
    value(await engine.putObject({ bucket, name, body: patternOf(9), size: 9, metadata: METADATA, lock })).versionId;
  const remove = async (name: string, versionId: string, bypassesGovernance = false) => {
    const outcome = await engine.deleteObject(bucket, { name, versionId, bypassesGovernance });
    return outcome.ok ? 'deleted' : outcome.error.kind;
  };
  const change = async (name: string, lock: LockChange) => {
    const set = await engine.setLock(value(await engine.getVersion(bucket, name)), lock);
    return set.ok ? 'set' : set.error.kind;
  };
  const lockOf = async (name: string) => value(await engine.getVersion(bucket, name)).lock;
  const setNow = (ms: number) => {
    now = ms;
  };
  return { engine, context, bucket, add, remove, change, lockOf, setNow };
}

describe('a locked version', () => {
  it('cannot be deleted before its time: in GOVERNANCE only with a bypass, under a legal hold never', async () => {
    const { add, remove, change, setNow } = await setUp();
    const [compliance, governance, held] = [
      await add('c', retained('COMPLIANCE', 1)),
      await add('g', retained('GOVERNANCE', 1)),
      await add('h', HELD),
    ];
    expect([await remove('c', compliance), await remove('c', compliance, true)]).toEqual(
      Array(2).fill('object_locked'),
    );
    expect([await remove('g', governance), await remove('g', governance, true)]).toEqual(['object_locked', 'deleted']);
    setNow(NOW + 2 * DAY);
    expect([await remove('c', compliance), await remove('h', held, true)]).toEqual(['deleted', 'object_locked']);
    expect([await change('h', { isHeld: false }), await remove('h', held)]).toEqual(['set', 'deleted']);
  });

  it('is the only one that fails in a delete of many', async () => {
    const { engine, bucket, add } = await setUp();
    const free = { mode: null, retainUntilMs: null, isHeld: false };
    const items = [];
    for (const [name, lock] of [
      ['a', free],
      ['b', HELD],
      ['c', retained('COMPLIANCE', 1)],
      ['d', free],
    ] as const) {
      items.push({ name, versionId: await add(name, lock) });
    }
    const outcomes = await engine.deleteObjects(bucket, items);
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.value.existed : outcome.error.kind))).toEqual([
      true,
      'object_locked',
      'object_locked',
      true,
    ]);
  });

  it('can be hidden by a marker, prevents the delete of its bucket, and allows new versions', async () => {
    const { engine, bucket, add } = await setUp();
    const locked = await add('k', retained('COMPLIANCE', 1));
    expect(value(await engine.deleteObject(bucket, { name: 'k' })).isMarker).toBe(true);
    await put(engine, bucket, 'k', 'newer');
    const found = value(await engine.getVersion(bucket, 'k', { versionId: locked }));
    expect(value(await engine.readVersion(found))).toEqual(patternOf(9));
    expect(await engine.deleteBucket(bucket)).toEqual({ ok: false, error: { kind: 'bucket_not_empty' } });
  });

  it('can be retained longer, and shorter only in GOVERNANCE with a bypass', async () => {
    const { add, change, lockOf, setNow } = await setUp();
    const to = (mode: 'GOVERNANCE' | 'COMPLIANCE' | null, days: number | null, bypassesGovernance = false) => ({
      mode,
      retainUntilMs: days === null ? null : NOW + days * DAY,
      bypassesGovernance,
    });
    await add('c', retained('COMPLIANCE', 5));
    for (const wanted of [to('COMPLIANCE', 4, true), to('GOVERNANCE', 9, true), to(null, null, true)]) {
      expect([wanted, await change('c', wanted)]).toEqual([wanted, 'object_locked']);
    }
    expect([await change('c', to('COMPLIANCE', 6)), (await lockOf('c')).retainUntilMs]).toEqual(['set', NOW + 6 * DAY]);
    await add('g', retained('GOVERNANCE', 5));
    expect(await change('g', to('GOVERNANCE', 4))).toBe('object_locked');
    expect(await change('g', to('COMPLIANCE', 5))).toBe('object_locked');
    expect(await change('g', to('GOVERNANCE', 6))).toBe('set');
    expect(await change('g', to(null, null, true))).toBe('set');
    expect(await change('g', to('COMPLIANCE', 1))).toBe('set');
    setNow(NOW + 7 * DAY);
    expect(await change('c', to(null, null))).toBe('set');
  });

  it('is not deleted by a delete that races with its lock, unless the delete came first', async () => {
    const { engine, bucket, add, remove, change } = await setUp();
    for (let round = 0; round < 20; round++) {
      const name = `race ${round}`;
      const versionId = await add(name, { mode: null, retainUntilMs: null, isHeld: false });
      const [held, removed] = await Promise.all([change(name, { isHeld: true }), remove(name, versionId)]);
      const found = await engine.getVersion(bucket, name, { versionId });
      if (held === 'set') expect([removed, found.ok]).toEqual(['object_locked', true]);
      else expect([held, removed, found.ok]).toEqual(['no_such_version', 'deleted', false]);
    }
  });
});

it('locks survive a lost database, by snapshot, by journal, and with an upload that was not complete', async () => {
  const { engine, context, bucket, add, remove, change, lockOf } = await setUp();
  const compliance = await add('c', retained('COMPLIANCE', 9));
  await snapshotShard(context, 0);
  await add('h', { mode: null, retainUntilMs: null, isHeld: false });
  await change('h', { isHeld: true });
  const upload = value(
    await engine.createUpload({ bucket, name: 'm', metadata: METADATA, lock: retained('GOVERNANCE', 3) }),
  );
  await writeJournal(context, 0);
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, isDone: true });
  expect([await lockOf('c'), (await lockOf('h')).isHeld]).toEqual([retained('COMPLIANCE', 9), true]);
  expect(await remove('c', compliance, true)).toBe('object_locked');
  expect(value(await engine.getUpload(bucket, 'm', upload.uploadId)).lock).toEqual(retained('GOVERNANCE', 3));
});
