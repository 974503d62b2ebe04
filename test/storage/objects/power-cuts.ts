/**
 * Cuts the power of background work at one chosen call of a store, before or after the call takes effect. The rest of the
 * run fails. Afterwards every version must be readable, the next run must finish the work, and nothing of the interrupted
 * run may remain.
 */
import { expect } from 'vitest';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { BLOB_PREFIX } from '../../../workers/storage/engine/blobs/locations.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { type FaultPlan, faultyBuckets, faultyDatabases } from './faults.ts';
import {
  expectSound,
  loseDatabase,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  readAll,
  value,
} from './harness.ts';

const SHARDS = 2;
const NAME = 'packed 1';

interface Work {
  /** Creates the state that the tested work needs. */
  readonly prepare?: (context: EngineContext, bucket: Bucket) => Promise<unknown>;
  readonly run: (context: EngineContext, bucket: Bucket) => Promise<unknown>;
  /** Milliseconds between the preparation and the work. */
  readonly offsetMs?: number;
}

const homeOf = (bucket: Bucket, name = NAME): number => bucket.placement.shards[slotOf(name)] ?? 0;

/** Lists a bucket as a client sees it: versions with bytes, and uploads with parts. */
async function listContents(engine: Engine, name: string): Promise<string[]> {
  const bucket = value(await engine.getBucket(name));
  const query = { bucket, prefix: '', delimiter: '', from: '', limit: 1000 };
  const seen: string[] = [];
  for (const entry of value(await engine.listVersions(query)).entries) {
    if (entry.kind !== 'item') continue;
    const { name: key, versionId, isMarker, isLatest } = entry.item;
    const version = value(await engine.getVersion(bucket, key, { versionId }));
    const bytes = isMarker ? 'a marker' : (await readAll(engine, version)).toString('base64');
    seen.push(JSON.stringify([key, versionId, isLatest, version.tags, bytes]));
  }
  for (const entry of value(await engine.listUploads(query)).entries) {
    if (entry.kind !== 'item') continue;
    const { name: key, uploadId } = entry.item;
    seen.push(JSON.stringify([key, value(await engine.listParts(bucket, key, uploadId, { after: 0, limit: 100 }))]));
  }
  return seen;
}

async function fill(engine: Engine, context: EngineContext, bucket: Bucket): Promise<void> {
  for (let i = 0; i < 4; i++) await put(engine, bucket, `packed ${i}`, patternOf(2000 + i, i));
  await packVolume(context, homeOf(bucket), emptyPackReport());
  for (const i of [0, 2, 3]) {
    const { versionId } = value(await engine.getVersion(bucket, `packed ${i}`));
    value(await engine.deleteObject(bucket, { name: `packed ${i}`, versionId }));
  }
  await put(engine, bucket, NAME, patternOf(900, 7));
  await put(engine, bucket, 'a blob', patternOf(40_000, 8));
  value(await engine.deleteObject(bucket, { name: 'a blob' }));
  value(await engine.setTags(value(await engine.getVersion(bucket, NAME)), { a: 'tag' }));
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const size = 20_000;
  value(await engine.putPart({ bucket, name: 'm', uploadId, partNumber: 1, body: patternOf(size, 9), size }));
}

/** Damages one copy of each blob, in alternating locations, and deletes one copy. */
async function damage(context: EngineContext): Promise<void> {
  const [first] = context.locations;
  const keys = ((await first?.list({ prefix: BLOB_PREFIX }))?.objects ?? []).map((object) => object.key);
  for (const [i, key] of keys.entries()) {
    const location = context.locations[i % 2] as R2Bucket;
    if (i === 0) await location.delete(key);
    else await location.put(key, patternOf(100, i));
  }
}

export const WORKS: Readonly<Record<string, Work>> = {
  packing: { run: (context, bucket) => packVolume(context, homeOf(bucket), emptyPackReport()) },
  'reclamation and compaction': {
    offsetMs: 7_200_000,
    run: async (context, bucket) => {
      await collectUploads(context, homeOf(bucket), emptyCollectReport());
      while (await collectBlobs(context, homeOf(bucket), emptyCollectReport()));
      await walkOrphans(context, emptyCollectReport());
    },
  },
  'the repair of copies': {
    prepare: damage,
    run: (context, bucket) => scrubStep(context, homeOf(bucket), 1e9, emptyScrubReport(), { restart: true }),
  },
  'the move of a slot': {
    run: async (context, bucket) => {
      const outcome = await moveSlot(context, bucket.bucketId, slotOf(NAME), 1 - homeOf(bucket));
      if (!outcome.ok) throw new Error(outcome.error.kind);
    },
  },
  'a journal and a snapshot': {
    run: async (context, bucket) => {
      await writeJournal(context, homeOf(bucket));
      await snapshotShard(context, homeOf(bucket));
    },
  },
  'a rebuild': {
    prepare: async (context, bucket) => {
      await writeJournal(context, homeOf(bucket));
      await loseDatabase(context, homeOf(bucket));
    },
    run: async (context, bucket) => {
      const outcome = await rebuildShard(context, homeOf(bucket));
      // If the run died after its last step, the shard is already rebuilt and the result is `not_empty`.
      if (!outcome.ok && outcome.error.kind !== 'not_empty') throw new Error(outcome.error.kind);
    },
  },
};

/** Cuts the power at one call of the work. @returns false if the work ends before call `at`. */
export async function runWithPowerCut(name: string, how: 'cut before' | 'cut after', at: number): Promise<boolean> {
  const work = WORKS[name] as Work;
  const offsetMs = work.offsetMs ?? 0;
  const { engine, context } = makeEngine({ shards: SHARDS, limits: { bucketSpread: 1 } });
  const bucket = await makeBucket(engine, 'enabled');
  await fill(engine, context, bucket);
  const before = await listContents(engine, bucket.name);
  await work.prepare?.(context, bucket);
  const plan: FaultPlan = { at: null, how, calls: 0, hit: null };
  const interrupted = makeEngine({
    shards: SHARDS,
    now: () => Date.now() + offsetMs,
    bindings: { ...faultyDatabases(plan), ...faultyBuckets(plan) },
  });
  plan.at = at;
  await work.run(interrupted.context, bucket).catch(() => {});
  await interrupted.settle();
  const where = `${name}, ${how} call ${at} (${plan.hit})`;
  // Reads must succeed right after the cut. Only a slot in a move or a database in a rebuild may report that it is unavailable.
  const seen = await listContents(engine, bucket.name).catch((error: Error) => error.message);
  const mayRefuse = name === 'a rebuild' || name === 'the move of a slot';
  if (mayRefuse && typeof seen === 'string') expect(seen, `${where}, at once`).toContain('unavailable');
  else expect(seen, `${where}, at once`).toEqual(before);
  // Use a later clock, at which the lease of the interrupted run has expired.
  const after = makeEngine({ shards: SHARDS, now: () => Date.now() + offsetMs + 660_000 });
  await work.run(after.context, bucket).catch((error: unknown) => {
    throw new Error(`${where}, repeated: ${error}`);
  });
  expect(await listContents(after.engine, bucket.name), `${where}, repeated`).toEqual(before);
  await put(after.engine, value(await after.engine.getBucket(bucket.name)), 'late', 'and it takes writes');
  // Collect on several days: two rounds a day apart remove an orphan from the first location, and the second location follows a day
  // later. Then only referenced blobs may remain.
  for (const hours of [3, 28, 53, 78]) {
    const later = makeEngine({ shards: SHARDS, now: () => Date.now() + offsetMs + hours * 3_600_000 }).context;
    for (let shard = 0; shard < SHARDS; shard++) while (await collectBlobs(later, shard, emptyCollectReport()));
    while (await walkOrphans(later, emptyCollectReport()));
    const report = await expectSound(later);
    if (hours < 78) continue;
    expect({ orphans: report.orphans, wrong: report.copies_of_wrong_size, where }).toEqual({
      orphans: 0,
      wrong: 0,
      where,
    });
  }
  return plan.hit !== null;
}
