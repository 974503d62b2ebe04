/** Copies that jobs make of objects. A copy is refused if the newest version of its target name has changed since it was read. */
import { keyRecordOf } from '../domain/customer-key.ts';
import { addTo, note } from '../domain/jobs.ts';
import { slotOf } from '../domain/slots.ts';
import { getVersion } from '../engine/actions/reading.ts';
import { copyObject } from '../engine/actions/writing.ts';
import type { Bucket, Condition, StoredVersion } from '../engine/model/contract.ts';
import { PUT_BYTES_MAX } from '../s3/protocol/engine-failures.ts';
import { lockOf, mayRead, mayWrite, metadataOf } from './job-rights.ts';
import { type JobFailure, type JobScene, refuse, toFailure } from './job-scene.ts';

const NAME_BYTES_MAX = 1024;

/** Copies an old version of a name so that it becomes the newest one again. */
export async function restoreTo(
  scene: JobScene,
  { name, versionId: newest }: { readonly name: string; readonly versionId: string },
  versionId: string,
): Promise<JobFailure | null> {
  const { context, bucket, job } = scene;
  const source = await getVersion(context, bucket, name, { versionId });
  if (!source.ok) return skipMissing(scene, name, source.error);
  const failure = await copy(scene, source.value, { bucket, name, condition: { newest }, isVersion: true });
  if (failure !== 'copied') return failure;
  addTo(job.report, 'objects_restored');
  if (job.isDryRun) note(job.report.changes, { key: name, action: 'restore', version_id: versionId });
  return null;
}

/** Copies a current object to its name below the target prefix. Skips a name that already has the same content. */
export async function copyTo(scene: JobScene, key: string): Promise<JobFailure | null> {
  const { context, bucket, target, job } = scene;
  if (target === null || job.order.kind !== 'copy') throw new Error('a copy has no target');
  const source = await getVersion(context, bucket, key);
  if (!source.ok) return skipMissing(scene, key, source.error);
  if (source.value.isMarker) return null;
  const name = job.order.targetPrefix + key.slice(job.order.prefix.length);
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    refuse(scene, key, 'too_long');
    return null;
  }
  const there = await getVersion(context, target, name);
  if (!there.ok && there.error.kind !== 'no_such_key') return skipMissing(scene, key, there.error);
  if (there.ok && !there.value.isMarker) {
    const isNewer = there.value.modifiedAt > job.createdAt;
    if (isSame(there.value, source.value) || (isNewer && there.value.size === source.value.size)) {
      addTo(job.report, 'unchanged');
      return null;
    }
    if (isNewer) {
      refuse(scene, key, 'changed');
      return null;
    }
  }
  const condition: Condition = there.ok ? { newest: there.value.versionId } : { absent: true };
  const failure = await copy(scene, source.value, { bucket: target, name, condition, isVersion: false });
  if (failure !== 'copied') return failure;
  addTo(job.report, 'objects_copied');
  if (job.isDryRun) note(job.report.changes, { key: name, action: 'copy' });
  return null;
}

const isSame = (a: StoredVersion, b: StoredVersion): boolean =>
  a.etag === b.etag &&
  a.size === b.size &&
  JSON.stringify([a.metadata.headers, a.metadata.user, a.tags]) ===
    JSON.stringify([b.metadata.headers, b.metadata.user, b.tags]);

/** Handles a source that cannot be read. A source that was removed since it was listed is reported as changed; it needs no copy. */
function skipMissing(
  scene: JobScene,
  key: string,
  error: Extract<Awaited<ReturnType<typeof getVersion>>, { ok: false }>['error'],
): JobFailure | null {
  if (error.kind === 'data_lost') refuse(scene, key, 'data_lost');
  else if (error.kind === 'no_such_key' || error.kind === 'no_such_version') refuse(scene, key, 'changed');
  else return toFailure(error);
  return null;
}

interface Target {
  readonly bucket: Bucket;
  readonly name: string;
  readonly condition: Condition;
  /** Whether the job reads the source by version id, which needs the right to read versions. */
  readonly isVersion: boolean;
}

/**
 * Copies a version unless there is an obstacle.
 * @returns `copied`; null if the object was skipped for a reason that is in the report; or the failure that ends the job.
 */
async function copy(
  scene: JobScene,
  source: StoredVersion,
  { bucket, name, condition, isVersion }: Target,
): Promise<JobFailure | 'copied' | null> {
  const { context, job, rights } = scene;
  const isFar = bucket.placement.shards[slotOf(name)] !== source.handle.shard;
  const obstacle = source.isTakenDown
    ? 'taken_down'
    : !mayRead(rights, scene.bucket, source, isVersion) || !mayWrite(rights, bucket, name, source.tags)
      ? 'denied'
      : isFar && source.size > PUT_BYTES_MAX
        ? 'too_large'
        : isFar && keyRecordOf(source.metadata) !== null
          ? 'encrypted'
          : null;
  if (obstacle !== null) {
    refuse(scene, source.name, obstacle);
    return null;
  }
  if (!job.isDryRun) {
    const copied = await copyObject(context, {
      bucket,
      name,
      source,
      metadata: metadataOf(rights, bucket, source.metadata),
      tags: source.tags,
      acl: null,
      condition,
      keepsParts: true,
      ...lockOf(bucket, context.now()),
    });
    if (!copied.ok) {
      const { error } = copied;
      if (error.kind === 'precondition_failed') refuse(scene, source.name, 'changed');
      else if (error.kind === 'body_failed' || error.kind === 'body_incomplete')
        refuse(scene, source.name, 'data_lost');
      else if (error.kind === 'refused') throw new Error('a copy was refused');
      else return skipMissing(scene, source.name, error);
      return null;
    }
  }
  addTo(job.report, 'bytes', source.size);
  return 'copied';
}
