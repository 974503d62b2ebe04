/**
 * Runs background work with one fault at one chosen call of a store: the call fails before or after it takes effect, is silent,
 * breaks off or takes effect late, the power goes, or the lease ends and a second worker does the work while the first one waits.
 * Clients may change the same buckets just before that call, and always do afterwards.
 *
 * Then the work runs again, collectors run for three days, and the databases are lost and rebuilt. What clients were told is stored
 * must be there to the last byte, what they deleted must stay away, each location must have each copy, and no orphan may stay.
 */
import { env } from 'cloudflare:test';
import { expect } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { makeMarkedCopies } from '../../../workers/shared/collectors/marked-copies.ts';
import { refillLocations } from '../../../workers/shared/collectors/refill.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { BLOB_PREFIX } from '../../../workers/storage/engine/blobs/locations.ts';
import { journalPrefix } from '../../../workers/storage/engine/blobs/metadata-keys.ts';
import { type EngineContext, toLocations } from '../../../workers/storage/engine/model/context.ts';
import { insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { copyMissing } from '../../../workers/storage/maintenance/missing-copies.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import {
  adoptRefused,
  changeAsClients,
  forgetOld,
  makeScene,
  NAME,
  OLD,
  readContents,
  type Scene,
  SHARDS,
} from './background-scene.ts';
import { type Fault, type FaultPlan, faultyBuckets, faultyDatabases, runInterrupted } from './faults.ts';
import { expectSound, loseDatabase, makeEngine, patternOf, value } from './harness.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Work {
  /** Creates the state that the tested work needs. */
  readonly prepare?: (context: EngineContext, scene: Scene) => Promise<unknown>;
  readonly run: (context: EngineContext, scene: Scene) => Promise<unknown>;
  /** Milliseconds between the preparation and the work. */
  readonly waitsMs?: number;
  /** Whether reads may be refused until the work has run again. */
  readonly mayRefuse?: boolean;
  /** Whether a write that was refused during the work may come back with it, because its bytes are in the locations. */
  readonly mayReturn?: boolean;
  /** Whether the work removes the old names. */
  readonly removesOld?: boolean;
}

const keysOf = async (bucket: R2Bucket | undefined, prefix: string): Promise<string[]> =>
  ((await bucket?.list({ prefix }))?.objects ?? []).map(({ key }) => key);

/** Damages one copy of each blob, in alternating locations, and deletes one copy. */
async function damage(context: EngineContext): Promise<void> {
  for (const [i, key] of (await keysOf(context.locations[0], BLOB_PREFIX)).entries()) {
    const location = context.locations[i % 2] as R2Bucket;
    if (i === 0) await location.delete(key);
    else await location.put(key, patternOf(100, i));
  }
}

/** Removes the copies in the second location, as if it had been down when they were written. */
async function forgetCopies(context: EngineContext, { home }: Scene): Promise<void> {
  const second = context.locations[1] as R2Bucket;
  await second.delete(await keysOf(second, BLOB_PREFIX));
  await context.shards[home]?.prepare('UPDATE blob SET locations = 1, missing = 2').run();
}

async function forgetPages(context: EngineContext, { home }: Scene): Promise<void> {
  const [first, second] = context.locations as [R2Bucket, R2Bucket];
  for (const key of await keysOf(second, journalPrefix(home))) {
    await second.delete(key);
    await first.put(`missing/1/${key}`, '');
  }
}

const JOB_ID = 'the job';

async function startJob(context: EngineContext, { plain }: Scene): Promise<void> {
  const { bucketId } = plain;
  const audit = { at: context.now(), id: crypto.randomUUID(), action: 'storage_job.start' } as const;
  const entry = { ...audit, target: { type: 'bucket', id: bucketId }, details: {} } as const;
  const order = { kind: 'delete', prefix: OLD } as const;
  const request = { jobId: JOB_ID, bucketId, userId: null, order, isDryRun: false, scopes: null };
  // A job leaves newer versions alone, and no version gets a time before that of the database's clock, which may be ahead of `now`.
  const later = { ...context, now: () => Math.max(context.now(), Date.now()) };
  expect(await insertJob(later, request, toSystemAuditRow(entry))).toBe(true);
}

const EXPIRY = { id: 'old', isEnabled: true, filter: { prefix: OLD }, form: 'one', expiration: { days: 1 } };

async function setRules(context: EngineContext, { plain }: Scene): Promise<void> {
  const { engine } = makeEngine({ shards: SHARDS, now: context.now });
  value(await engine.setConfiguration(plain, 'lifecycle', JSON.stringify({ rules: [EXPIRY], minimumSize: '' })));
}

export const WORKS: Readonly<Record<string, Work>> = {
  packing: { run: (context, { home }) => packVolume(context, home, emptyPackReport()) },
  'reclamation and compaction': {
    waitsMs: 2 * HOUR,
    run: async (context, { home }) => {
      await collectUploads(context, home, emptyCollectReport());
      while (await collectBlobs(context, home, emptyCollectReport()));
      await walkOrphans(context, emptyCollectReport());
    },
  },
  'the repair of copies': {
    prepare: damage,
    run: (context, { home }) => scrubStep(context, home, 1e9, emptyScrubReport(), { restart: true }),
  },
  'missing copies': { prepare: forgetCopies, run: (context, { home }) => copyMissing(context, home) },
  'marked copies': { prepare: forgetPages, run: (context) => makeMarkedCopies(toLocations(context), () => true) },
  'a refill': {
    prepare: async (context) => {
      for (const [n, location] of context.locations.entries()) {
        const keys = await keysOf(location, '');
        await location.delete(keys.filter((_, at) => at % 4 === n));
      }
    },
    run: (context) => {
      const [BLOBS, BLOBS_2] = context.locations;
      return refillLocations({ ...env, BLOBS, BLOBS_2 } as unknown as Env, '', () => true);
    },
  },
  'the move of a slot': {
    mayRefuse: true,
    run: async (context, { versioned, home }) => {
      const outcome = await moveSlot(context, versioned.bucketId, slotOf(NAME), 1 - home);
      if (!outcome.ok) throw new Error(outcome.error.kind);
    },
  },
  'a journal': { run: (context, { home }) => writeJournal(context, home) },
  'a snapshot': { run: (context, { home }) => snapshotShard(context, home) },
  'a rebuild': {
    mayRefuse: true,
    mayReturn: true,
    prepare: async (context, { home }) => {
      await writeJournal(context, home);
      await loseDatabase(context, home);
    },
    run: async (context, { home }) => {
      const outcome = await rebuildShard(context, home);
      // If the run died after its last step, the shard is already rebuilt and the result is `not_empty`.
      if (!outcome.ok && outcome.error.kind !== 'not_empty') throw new Error(outcome.error.kind);
    },
  },
  'lifecycle rules': {
    prepare: setRules,
    waitsMs: 3 * DAY,
    removesOld: true,
    run: async (context, { home }) => {
      if (await isLifecycleDue(context, home)) while (await runLifecycle(context, home));
    },
  },
  'a job that deletes': {
    prepare: startJob,
    waitsMs: MINUTE,
    removesOld: true,
    run: async (context) => {
      while (await runJob(context, JOB_ID));
    },
  },
};

export const BACKGROUND_FAULTS: readonly Fault[] = [
  'cut before',
  'cut after',
  'before',
  'after',
  'hang before',
  'hang after',
  'late',
  'half',
  'meanwhile',
  'overtaken before',
  'overtaken after',
];

/** By then, the lease of an interrupted run has ended. */
const LEASE_MS = 11 * MINUTE;

/** Longest time that the tested work waits for one call. */
const TIMEOUT_MS = 1_000;
const TICK_MS = 300;

export interface RingCase {
  readonly work: string;
  readonly how: Fault;
  readonly at: number;
  /** Whether clients change the buckets just before the fault. */
  readonly hasClients: boolean;
}

/** Runs one case. @returns the number of calls that the work made, and whether the fault struck. */
export async function runBackgroundCase(ring: RingCase): Promise<{ readonly calls: number; readonly isHit: boolean }> {
  const work = WORKS[ring.work] as Work;
  const isOvertaken = ring.how.startsWith('overtaken');
  // R2 knows only the real time of a write. A rebuild reads blobs of up to 15 minutes before its snapshot, so the clock begins early.
  let now = Date.now() - (isOvertaken ? LEASE_MS : 0);
  // The first worker waits for the second one. It must not take that for silence.
  const timeouts = isOvertaken ? {} : { databaseTimeoutMs: TIMEOUT_MS, locationTimeoutMs: TIMEOUT_MS };
  const made = (plan?: FaultPlan) =>
    makeEngine({
      shards: SHARDS,
      limits: { bucketSpread: 1, ...(plan ? timeouts : {}) },
      now: () => now,
      ...(plan ? { bindings: { ...faultyDatabases(plan), ...faultyBuckets(plan) } } : {}),
    });
  const scene = await makeScene(() => ++now);
  const { engine, context } = made();
  await work.prepare?.(context, scene);
  now += work.waitsMs ?? 0;
  let takeEffect = () => {};
  const lateness = new Promise<void>((resolve) => {
    takeEffect = resolve;
  });
  const meanwhile = async () => void (ring.hasClients && (await changeAsClients(engine, scene, 1)));
  const overtake = async () => {
    now += LEASE_MS;
    await work.run(context, scene);
  };
  const plan: FaultPlan = { at: ring.at, how: ring.how, calls: 0, hit: null, meanwhile, overtake, lateness };
  const interrupted = made(plan);
  await runInterrupted(plan, TICK_MS, () => work.run(interrupted.context, scene));
  plan.isOver = true;
  const where = `${ring.work}, ${ring.how} call ${ring.at} (${plan.hit})${ring.hasClients ? ', with clients' : ''}`;
  await expectReadable(engine, scene, work, `${where}, at once`);
  await changeAsClients(engine, scene, 2);
  takeEffect();
  await plan.late;
  now += LEASE_MS;
  await work.run(context, scene).catch((error: unknown) => {
    throw new Error(`${where}, repeated: ${error}`);
  });
  if (work.removesOld) forgetOld(scene);
  const expectSame = async (when: string) => {
    const seen = await readContents(engine, scene);
    if (work.mayReturn) adoptRefused(scene, seen);
    expect(seen, `${where}, ${when}`).toEqual(scene.expected);
  };
  await expectSame('repeated');
  await changeAsClients(engine, scene, 3);
  for (const shard of context.shards.keys()) await writeJournal(context, shard);
  const collect = async () => {
    // Two rounds a day apart remove an orphan from the first location, and the second location follows a day later.
    for (const hours of [3, 25, 25, 25]) {
      now += hours * HOUR;
      await collectAll(context);
    }
    await expectSame('collected');
  };
  const rebuild = async () => {
    await loseAndRebuild(context);
    await expectSame('rebuilt');
  };
  for (const step of ring.at % 2 === 0 ? [rebuild, collect] : [collect, rebuild]) await step();
  const { orphans, copies_of_wrong_size } = await expectSound(context);
  expect({ orphans, copies_of_wrong_size }, where).toEqual({ orphans: 0, copies_of_wrong_size: 0 });
  return { calls: plan.calls, isHit: plan.hit !== null };
}

/** Expects every byte to be readable, unless the work may refuse. What it removes may be there or not. */
async function expectReadable(
  engine: ReturnType<typeof makeEngine>['engine'],
  scene: Scene,
  work: Work,
  where: string,
) {
  const seen = await readContents(engine, scene).catch((error: Error) => error.message);
  if (typeof seen === 'string') {
    expect(work.mayRefuse && seen, where).toContain('unavailable');
    return;
  }
  if (work.mayReturn) adoptRefused(scene, seen);
  const without = (contents: ReadonlyMap<string, string>) =>
    new Map([...contents].filter(([key]) => !work.removesOld || !key.includes(`/${OLD}`)));
  expect(without(seen), where).toEqual(without(scene.expected));
}

async function collectAll(context: EngineContext): Promise<void> {
  for (const shard of context.shards.keys()) {
    while (await copyMissing(context, shard));
    while (await collectBlobs(context, shard, emptyCollectReport()));
  }
  while (await walkOrphans(context, emptyCollectReport()));
}

async function loseAndRebuild(context: EngineContext): Promise<void> {
  for (const shard of context.shards.keys()) {
    await loseDatabase(context, shard);
    expect(await rebuildShard(context, shard)).toMatchObject({ ok: true, isDone: true });
  }
}
