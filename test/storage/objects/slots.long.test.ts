import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import type { VersionFacts } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { isClaimed } from '../../../workers/storage/engine/store/journal-store.ts';
import { collectBlobs, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { finishMoves, moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { type FaultPlan, faultyDatabase } from './faults.ts';
import {
  expectContent,
  expectSound,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

const SLOTS = Array.from({ length: 256 }, (_, slot) => slot);

async function expectClean(context: EngineContext): Promise<void> {
  expect((await expectSound(context)).orphans).toBe(0);
}

test('a slot that moves to a new database finds it claimed, so that its journal and its number begin at once', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine);
  await put(engine, bucket, 'x', 'x');
  const to = ((bucket.placement.shards[0] ?? 0) + 1) % 3;
  expect(await isClaimed(context, to)).toBe(false);
  expect(await moveSlot(context, bucket.bucketId, slotOf('x'), to)).toMatchObject({ ok: true });
  expect(await isClaimed(context, to)).toBe(true);
});

test('a slot does not move to an empty database whose shard was lost', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine);
  const to = ((bucket.placement.shards[0] ?? 0) + 1) % 3;
  await context.locations[0]?.put(`journal/${to}/000000000001/x`, 'x');
  expect(await moveSlot(context, bucket.bucketId, 0, to)).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
  expect(value(await engine.getBucket(bucket.name)).placement).toEqual(bucket.placement);
});

test('a bucket moves completely: versions, markers, volumes, blobs, copies and uploads in progress', async () => {
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine, 'enabled');
  const from = bucket.placement.shards[0] ?? 0;
  const to = (from + 1) % 3;
  const contents = new Map<string, Uint8Array>();
  for (let i = 0; i < 30; i++) {
    const name = `n${i}`;
    const content = patternOf(i % 3 === 0 ? 30_000 + i : 100 + i, i);
    if (i % 4 === 0) await put(engine, bucket, name, 'an older version');
    const facts = await put(engine, bucket, name, content);
    contents.set(`${name} ${facts.versionId}`, content);
    if (i % 5 === 0) value(await engine.deleteObject(bucket, { name }));
    if (i === 15) await packVolume(context, from, emptyPackReport());
  }
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'upload', metadata: METADATA }));
  const first = value(
    await engine.putPart({ bucket, name: 'upload', uploadId, partNumber: 1, body: patternOf(50_000), size: 50_000 }),
  );
  const listed = async () =>
    value(
      await engine.listVersions({
        bucket: value(await engine.getBucket(bucket.name)),
        prefix: '',
        delimiter: '',
        from: '',
        limit: 1000,
      }),
    ).entries;
  const before = await listed();
  for (const slot of SLOTS) {
    const outcome = await moveSlot(context, bucket.bucketId, slot, to);
    expect(outcome.ok).toBe(true);
  }
  expect(await listed()).toEqual(before);
  const moved = value(await engine.getBucket(bucket.name));
  expect([...moved.placement.shards]).toEqual(SLOTS.map(() => to));
  for (const [key, content] of contents) {
    const [name, versionId] = key.split(' ') as [string, string];
    // A caller whose `Bucket` was read before the move must still find its objects.
    await expectContent(engine, bucket, name, content, versionId);
  }
  const second = value(
    await engine.putPart({ bucket, name: 'upload', uploadId, partNumber: 2, body: patternOf(7), size: 7 }),
  );
  value(
    await engine.completeUpload({ bucket: moved, name: 'upload', uploadId, parts: [first, second], partBytesMin: 0 }),
  );
  await expectContent(engine, bucket, 'upload', Buffer.concat([patternOf(50_000), patternOf(7)]));
  expect(await (context.shards[from] as D1Database).prepare('SELECT count(*) AS n FROM version').first('n')).toBe(0);
  // The source must delete its rows. Blobs stay, because the target's rows refer to them.
  const later = makeEngine({ shards: 3, now: () => Date.now() + 7_200_000 }).context;
  for (let shard = 0; shard < 3; shard++) while (await collectBlobs(later, shard, emptyCollectReport()));
  while (await walkOrphans(later, emptyCollectReport()));
  for (const [key, content] of contents) {
    const [name, versionId] = key.split(' ') as [string, string];
    await expectContent(engine, bucket, name, content, versionId);
  }
  await expectClean(later);
});

test('while slots move under load, every acknowledged write exists, reads are correct and listings complete', async () => {
  const { context } = makeEngine({ shards: 3 });
  const engines = [0, 1, 2].map(() => makeEngine({ shards: 3, limits: { bucketSpread: 2 } }).engine);
  const [engine] = engines as [(typeof engines)[0] & object];
  const bucket = await makeBucket(engine, 'enabled');
  const acknowledged = new Map<string, VersionFacts[]>();
  const steady = Array.from({ length: 20 }, (_, i) => `steady ${i}`);
  for (const name of steady) await put(engine, bucket, name, name);
  let isMoving = true;
  let writes = 0;
  const write = async (worker: number) => {
    for (let i = 0; isMoving; i++) {
      const name = `w${worker} ${i % 7}`;
      const facts = await put(engines[worker] as typeof engine, bucket, name, `${worker} ${i}`);
      acknowledged.set(name, [...(acknowledged.get(name) ?? []), facts]);
      writes++;
    }
  };
  const read = async () => {
    let reads = 0;
    while (isMoving) {
      for (const name of steady) await expectContent(engine, bucket, name, name);
      const page = value(await engine.listObjects({ bucket, prefix: 'steady', delimiter: '', from: '', limit: 100 }));
      expect(page.entries.map((entry) => entry.kind === 'item' && entry.item.name)).toEqual([...steady].sort());
      reads++;
    }
    return reads;
  };
  const used = [
    ...new Set(
      [...steady, ...engines.flatMap((_, w) => Array.from({ length: 7 }, (__, i) => `w${w} ${i}`))].map(slotOf),
    ),
  ];
  const move = async () => {
    for (const slot of used) {
      const outcome = await moveSlot(context, bucket.bucketId, slot, slot % 3);
      expect(outcome).toMatchObject({ ok: true });
    }
    isMoving = false;
  };
  const [, , , reads] = await Promise.all(
    [write(0), write(1), write(2), read(), move()].map((work) =>
      work.catch((error) => {
        isMoving = false;
        throw error;
      }),
    ),
  );
  expect(writes).toBeGreaterThan(10);
  expect(reads).toBeGreaterThan(0);
  const fresh = value(await engine.getBucket(bucket.name));
  const { entries } = value(
    await engine.listVersions({ bucket: fresh, prefix: 'w', delimiter: '', from: '', limit: 100_000 }),
  );
  const held = new Set(entries.map((entry) => (entry.kind === 'item' ? entry.item.versionId : '')));
  for (const facts of [...acknowledged.values()].flat()) expect(held.has(facts.versionId)).toBe(true);
  expect(held.size).toBe(writes);
  await expectClean(context);
});

test('a move interrupted at any batch is finished later', async () => {
  const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine);
  const slot = slotOf('x');
  await put(engine, bucket, 'x', patternOf(40_000));
  let deaths = 0;
  // Cut the power after each shard batch. `npm run test:long -- background-ring` does so at every call, before and after it takes
  // effect.
  for (let calls = 0; ; calls++) {
    const from = value(await engine.getBucket(bucket.name)).placement.shards[slot] ?? 0;
    const outcome = await moveSlot(interruptedMover(context, calls), bucket.bucketId, slot, 1 - from).catch(String);
    await expectContent(engine, bucket, 'x', patternOf(40_000));
    if (typeof outcome !== 'string') break;
    expect(outcome).toContain('power cut');
    deaths++;
    await finishMoves(makeEngine({ shards: 2, now: () => Date.now() + 10_000 }).context, 0);
    await expectContent(engine, bucket, 'x', patternOf(40_000));
    await put(engine, bucket, 'x', patternOf(40_000));
  }
  expect(deaths).toBeGreaterThan(5);
  await expectClean(context);
});

test('listings are correct if a move died after the map was switched, even with later changes', async () => {
  for (const shardCalls of [0, 1]) {
    await wipe();
    const { engine, context } = makeEngine({ shards: 2, limits: { bucketSpread: 2 } });
    let bucket = await makeBucket(engine, 'enabled');
    const names = Array.from({ length: 16 }, (_, i) => `d${i % 4}/${i}`);
    for (const name of names) await put(engine, bucket, name, name);
    const moved = names.filter((name) => bucket.placement.shards[slotOf(name)] === 0);
    const gone = moved.filter((name) => name.startsWith('d1/') || name.startsWith('d2/'));
    value(await engine.createUpload({ bucket, name: moved[0] as string, metadata: METADATA }));
    for (const slot of new Set(moved.map(slotOf))) {
      const dying = interruptedMover(context, Number.POSITIVE_INFINITY, shardCalls);
      await expect(moveSlot(dying, bucket.bucketId, slot, 1)).rejects.toThrow('power cut');
    }
    bucket = value(await engine.getBucket(bucket.name));
    for (const name of gone) {
      const { versionId } = value(await engine.getVersion(bucket, name));
      value(await engine.deleteObject(bucket, { name, versionId }));
    }
    const again = await put(engine, bucket, moved[0] as string, 'again');
    const kept = names.filter((name) => !gone.includes(name)).sort();
    const list = async (delimiter: string, limit = 1000) => {
      const query = { bucket, prefix: '', delimiter, from: '', limit };
      const objects = value(await engine.listObjects(query)).entries;
      const versions = value(await engine.listVersions(query)).entries;
      const uploads = value(await engine.listUploads(query)).entries;
      return [objects, versions, uploads].map((entries) =>
        entries.map((entry) => (entry.kind === 'prefix' ? entry.prefix : entry.item.name)),
      );
    };
    const versions = [...kept, again.name].sort();
    expect(await list('')).toEqual([kept, versions, [again.name]]);
    expect(await list('', 5)).toEqual([kept.slice(0, 5), versions.slice(0, 5), [again.name]]);
    const folders = [...new Set(kept.map((name) => name.slice(0, 3)))];
    expect(await list('/')).toEqual([folders, folders, [again.name.slice(0, 3)]]);
    await finishMoves(makeEngine({ shards: 2, now: () => Date.now() + 120_000 }).context, 600_000);
    expect(await list('')).toEqual([kept, versions, [again.name]]);
    await expectClean(context);
  }
});

/**
 * Returns a context whose power is cut after `calls` batches of shards. Once the slot map was switched, the limit is
 * `callsAfterSwitch`.
 */
function interruptedMover(context: EngineContext, calls: number, callsAfterSwitch = calls): EngineContext {
  let left = calls;
  const watch = (database: D1Database, onCall: (key: string) => void) =>
    new Proxy(database, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          onCall(String(key));
          return member.apply(target, args);
        };
      },
    });
  return {
    ...context,
    directory: watch(context.directory, (key) => {
      if (key === 'batch') left = Math.min(left, callsAfterSwitch);
    }),
    shards: context.shards.map((database) =>
      watch(database, (key) => {
        if (left <= 0) throw new Error('power cut');
        if (key === 'batch') left--;
      }),
    ),
  };
}

test('a listing shows each name once if its bucket is versioned while a slot moves, whichever call that precedes', async () => {
  for (let at = 0; ; at++) {
    await wipe();
    const { engine, context } = makeEngine({ shards: 2, limits: { sealWaitMs: 50 } });
    const bucket = await makeBucket(engine, 'never');
    await put(engine, bucket, 'x', 'first');
    const slot = slotOf('x');
    const home = bucket.placement.shards[slot] ?? 0;
    const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null };
    plan.meanwhile = async () => {
      value(await engine.setVersioning(bucket, 'enabled'));
      // This write must be refused while the slot is sealed.
      await engine.putObject({ bucket, name: 'x', body: patternOf(9), size: 9, metadata: METADATA });
    };
    const bindings = {
      OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
      OBJECTS_1: faultyDatabase(context.shards[1] as D1Database, plan),
    };
    const mover = makeEngine({ shards: 2, bindings }).context;
    expect(await moveSlot(mover, bucket.bucketId, slot, 1 - home)).toMatchObject({ ok: true });
    const query = {
      bucket: value(await engine.getBucket(bucket.name)),
      prefix: '',
      delimiter: '',
      from: '',
      limit: 10,
    };
    const { entries } = value(await makeEngine({ shards: 2 }).engine.listObjects(query));
    expect(
      entries.map((entry) => (entry.kind === 'item' ? entry.item.name : entry)),
      `call ${at}: ${plan.hit}`,
    ).toEqual(['x']);
    if (plan.hit === null) break;
  }
});
