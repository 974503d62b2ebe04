/** Background work in the tests that compare the engine with a model: jobs, lifecycle rules, packing, collection and scrub. */
import { expect } from 'vitest';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { findJob, insertJob } from '../../../workers/storage/engine/store/job-store.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../../../workers/storage/maintenance/collect.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { isLifecycleDue, runLifecycle } from '../../../workers/storage/maintenance/lifecycle.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { scrubStep } from '../../../workers/storage/maintenance/scrub.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { value } from './harness.ts';
import { addEvent, addVersion, versionsOf, type World } from './model-state.ts';

const DAY_MS = 86_400_000;

export async function playJob(world: World, kind: 'empty' | 'delete', prefix: string): Promise<void> {
  const { context, model, clock, bucket } = world;
  // Advance the clock, because a job changes no version that is newer than the job.
  clock.offsetMs += 1_000;
  const { bucketId } = bucket;
  const jobId = crypto.randomUUID();
  const target = { type: 'bucket', id: bucketId } as const;
  const audit = toSystemAuditRow({ at: context.now(), id: jobId, action: 'storage_job.start', target, details: {} });
  const order = { kind, prefix };
  await insertJob(context, { jobId, bucketId, userId: null, order, isDryRun: false, scopes: null }, audit);
  clock.offsetMs += 1_000;
  while (await runJob(context, jobId));
  expect((await findJob(context, jobId, null))?.state).toBe('done');
  for (const [key, versions] of model) {
    if (!key.startsWith(prefix)) continue;
    if (kind === 'delete') await hide(world, key, 'ObjectRemoved');
    else {
      const kept = versions.filter(({ isHeld }) => isHeld);
      for (let i = kept.length; i < versions.length; i++) addEvent(world, key, 'ObjectRemoved:Delete');
      model.set(key, kept);
    }
  }
}

/**
 * Applies a rule that expires current objects below a prefix, and delete markers without other versions. All of them are old
 * enough.
 */
export async function playLifecycle(world: World, prefix: string): Promise<void> {
  const { engine, context, model, clock, bucket } = world;
  const rule = { id: 'old', isEnabled: true, filter: { prefix }, form: 'one', expiration: { days: 1 } };
  const rules = JSON.stringify({ rules: [rule], minimumSize: '' });
  value(await engine.setConfiguration(bucket, 'lifecycle', rules));
  clock.offsetMs += 3 * DAY_MS;
  for (let shard = 0; shard < context.shards.length; shard++) {
    if (await isLifecycleDue(context, shard)) while (await runLifecycle(context, shard));
  }
  value(await engine.setConfiguration(bucket, 'lifecycle', null));
  world.bucket = value(await engine.getBucket(bucket.name));
  for (const [key, versions] of model) {
    if (!key.startsWith(prefix)) continue;
    const isAlone = versions.length === 1 && versions[0]?.content === null;
    if (isAlone) {
      model.set(key, []);
      addEvent(world, key, 'LifecycleExpiration:Delete');
    } else await hide(world, key, 'LifecycleExpiration');
  }
}

/** Updates the model and the expected events of a name whose current object was deleted without a version id. */
async function hide(world: World, key: string, cause: 'ObjectRemoved' | 'LifecycleExpiration'): Promise<void> {
  const { engine, model, bucket } = world;
  if (!versionsOf(model, key)[0]?.content) return;
  if (bucket.versioning === 'never') {
    model.set(key, []);
    return addEvent(world, key, `${cause}:Delete`);
  }
  const { versionId, isNull, isMarker } = value(await engine.getVersion(bucket, key));
  expect(isMarker).toBe(true);
  addVersion(world, key, { id: versionId, isNull, content: null });
  addEvent(world, key, `${cause}:DeleteMarkerCreated`);
}

export async function maintain(
  context: EngineContext,
  kind: 'pack' | 'gc' | 'scrub',
  clock: { offsetMs: number },
): Promise<void> {
  for (let shard = 0; shard < context.shards.length; shard++) {
    if (kind === 'pack') await packVolume(context, shard, emptyPackReport());
    if (kind === 'scrub') {
      const report = emptyScrubReport();
      await scrubStep(context, shard, 1e9, report, { restart: true });
      expect(report).toMatchObject({ bad_copies: 0, missing_copies: 0, lost_blobs: 0, inline_damaged: 0 });
    }
    if (kind === 'gc') {
      clock.offsetMs += 3_700_000;
      while (await collectUploads(context, shard, emptyCollectReport()));
      while (await collectBlobs(context, shard, emptyCollectReport()));
    }
  }
  if (kind === 'gc') while (await walkOrphans(context, emptyCollectReport()));
}
