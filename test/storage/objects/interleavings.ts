/**
 * Changes names while a journal or a snapshot is written, or while small objects are packed. Many names change just before one
 * chosen call of a store. Then the database is lost. After the rebuild each name must have a state that it had since the work
 * began. If the journal is written once more before the loss, each name must have its last state.
 */

import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { type FaultPlan, faultyBuckets, faultyDatabase } from './faults.ts';
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

const NAMES_OF_A_BUCKET = 9;

const CHANGES = [
  'none',
  'inline',
  'inline',
  'blob',
  'empty',
  'delete',
  'delete version',
  'tag',
  'lock',
  'copy',
] as const;
type Change = (typeof CHANGES)[number];

export const WORK = {
  'the journal is written': async (context: EngineContext) => void (await writeJournal(context, 0)),
  'a snapshot is written': async (context: EngineContext) => {
    await snapshotShard(context, 0);
    await writeJournal(context, 0);
  },
  'small objects are packed': async (context: EngineContext) => {
    await packVolume(context, 0, emptyPackReport());
    await writeJournal(context, 0);
  },
} as const;

export function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Scene {
  readonly engine: Engine;
  readonly random: (below: number) => number;
  readonly buckets: readonly Bucket[];
  serial: number;
}

const listNames = (): string[] => Array.from({ length: NAMES_OF_A_BUCKET }, (_, i) => `x${i}`);

async function changeName(scene: Scene, bucket: Bucket, name: string, kind: Change): Promise<void> {
  const { engine } = scene;
  const newBytes = (size: number) => patternOf(size, ++scene.serial);
  // The retention ends at a time in the past, so the version can be deleted.
  const retainUntilMs = scene.random(1000);
  const lock = { mode: retainUntilMs % 2 === 0 ? 'GOVERNANCE' : 'COMPLIANCE', retainUntilMs, isHeld: false } as const;
  switch (kind) {
    case 'none':
      return;
    case 'inline':
      return void (await put(engine, bucket, name, newBytes(500), { lock }));
    case 'blob':
      return void (await put(engine, bucket, name, newBytes(17_000), { lock }));
    case 'empty':
      return void (await put(engine, bucket, name, ''));
    case 'delete':
      return void value(await engine.deleteObject(bucket, { name }));
    case 'copy': {
      const source = value(await engine.getVersion(bucket, 'source'));
      return void value(await engine.copyObject({ bucket, name, source, metadata: METADATA, tags: null, acl: null }));
    }
    default: {
      const version = await engine.getVersion(bucket, name);
      if (!version.ok || version.value.isMarker) return;
      // The retention ends in the past here too, so the version can still be deleted.
      if (kind === 'lock')
        return void value(
          await engine.setLock(version.value, { mode: 'GOVERNANCE', retainUntilMs, bypassesGovernance: false }),
        );
      if (kind === 'tag') return void value(await engine.setTags(version.value, { at: String(++scene.serial) }));
      const { versionId } = version.value;
      return void value(await engine.deleteObject(bucket, { name, versionId }));
    }
  }
}

/**
 * Changes each name of each bucket at random.
 * @param isSecond whether no journal was written since the last change. Versioned buckets then get only deletes.
 */
async function changeAll(scene: Scene, isSecond = false): Promise<void> {
  for (const bucket of scene.buckets) {
    for (const name of listNames()) {
      const kind = CHANGES[scene.random(CHANGES.length)] as Change;
      // Without a journal, the rebuild restores only versions that have blobs, so it may skip versions between them. Such changes
      // are not made.
      const isOrdered = bucket.versioning === 'never' || kind === 'delete';
      if (!isSecond || isOrdered) await changeName(scene, bucket, name, kind);
    }
  }
}

/** Lists all versions of each name as stored in the database. */
async function listVersionRows(context: EngineContext): Promise<Map<string, string>> {
  const { results } = await (context.shards[0] as D1Database)
    .prepare(
      `SELECT b.name AS bucket, CAST(v.name AS TEXT) AS name, hex(v.ord) AS ord, v.is_null, v.is_marker,
         hex(v.object_id) AS object_id, v.size, v.etag, v.tags,
         v.lock_mode, v.retain_until, v.legal_hold FROM version v JOIN bucket b ON b.n = v.bucket
       ORDER BY b.name, v.name, v.ord`,
    )
    .all<Record<string, unknown>>();
  const seen = new Map<string, string>();
  for (const { bucket, name, ...row } of results) {
    const key = `${bucket}/${name}`;
    seen.set(key, `${seen.get(key) ?? ''}${JSON.stringify(Object.values(row))}\n`);
  }
  return seen;
}

export async function playInterleaving(
  work: keyof typeof WORK,
  at: number,
  isWrittenAgain: boolean,
  seed: number,
): Promise<boolean> {
  const plan: FaultPlan = { at: null, how: 'meanwhile', calls: 0, hit: null };
  const { engine, context } = makeEngine();
  const watched = makeEngine({
    bindings: {
      OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
      ...faultyBuckets(plan),
    },
  });
  const buckets: Bucket[] = [];
  for (const versioning of ['never', 'suspended', 'enabled'] as const) {
    const bucket = await makeBucket(engine, 'never');
    // The suspended bucket has versions from before versioning was enabled, from while it was enabled, and from after.
    await put(engine, bucket, 'x0', 'the first');
    if (versioning !== 'never') value(await engine.setVersioning(bucket, 'enabled'));
    await put(engine, bucket, 'x1', 'the second');
    if (versioning === 'suspended') value(await engine.setVersioning(bucket, 'suspended'));
    await put(engine, bucket, 'source', patternOf(600));
    buckets.push(value(await engine.getBucket(bucket.name)));
  }
  const scene: Scene = { engine, random: makeRandom(seed), buckets, serial: 0 };
  for (const step of [snapshotShard, packNow, writeJournal]) {
    await changeAll(scene);
    await step(context, 0);
  }
  await changeAll(scene);
  await changeAll(scene);
  const states = [await listVersionRows(context)];
  plan.meanwhile = async () => {
    await changeAll(scene);
    states.push(await listVersionRows(context));
    await changeAll(scene, true);
    states.push(await listVersionRows(context));
  };
  plan.at = at;
  await WORK[work](watched.context);
  if (isWrittenAgain) await writeJournal(context, 0);
  await loseDatabase(context, 0);
  expect(await rebuildShard(context, 0)).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  const found = await listVersionRows(context);
  const allowed = isWrittenAgain ? states.slice(-1) : states;
  for (const key of new Set(states.flatMap((state) => [...state.keys()]))) {
    const where = `${key}: ${work}, changed before call ${at} (${plan.hit}), seed ${seed}`;
    expect(
      allowed.map((state) => state.get(key)),
      where,
    ).toContain(found.get(key));
  }
  for (const bucket of buckets) await expectBytes(engine, bucket);
  await expectSound(context);
  return plan.hit !== null;
}

const packNow = (context: EngineContext, shard: number) => packVolume(context, shard, emptyPackReport());

async function expectBytes(engine: Engine, bucket: Bucket): Promise<void> {
  const query = { bucket, prefix: '', delimiter: '', from: '', limit: 1000 };
  for (const entry of value(await engine.listVersions(query)).entries) {
    if (entry.kind !== 'item' || entry.item.isMarker) continue;
    const { name, versionId, etag } = entry.item;
    const bytes = await readAll(engine, value(await engine.getVersion(bucket, name, { versionId })));
    expect(createHash('md5').update(bytes).digest('hex'), `${name} ${versionId}`).toBe(etag);
  }
}
