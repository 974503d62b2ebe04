/** The steps of jobs. Each step handles one page and may be repeated, because it changes no version that is newer than the job. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { addTo, decideRestore, type JobCursor, note, type PullOrder } from '../domain/jobs.ts';
import { shardsOf } from '../domain/slots.ts';
import { deleteObjects } from '../engine/actions/deleting.ts';
import { listNamesAt, listObjects, listUploads, listVersions } from '../engine/actions/listing.ts';
import { abortUpload } from '../engine/actions/uploads.ts';
import type { DeleteItem, ListedVersion } from '../engine/model/contract.ts';
import type { Job } from '../engine/store/job-store.ts';
import { measurePage } from '../engine/store/usage-store.ts';
import { copyTo, restoreTo } from './job-copies.ts';
import { mayAbort, mayDelete, mayList } from './job-rights.ts';
import { type JobFailure, type JobScene, refuse, toFailure } from './job-scene.ts';
import { PULL_START, pullPage, QUERIES_PER_PULL } from './pull-step.ts';

/** A step's result: the cursor of the next step; null at the end of the job. */
type Step = Promise<Result<JobCursor | null, JobFailure>>;

const COPIES_AT_ONCE = 4;
/** Divisor of the page size in jobs that copy, because a copy takes more queries than a delete. */
const ROWS_PER_COPY = 4;

const names = (from: string, after: string | null = null): JobCursor => ({ phase: 'names', from, after });

export const startOf = ({ order }: Job): JobCursor => {
  if (order.kind === 'count') return { phase: 'shard', shard: 0, last: null };
  if (order.kind === 'pull') return PULL_START;
  return { phase: order.kind === 'empty' ? 'uploads' : 'names', from: order.prefix, after: null };
};

export async function runStep(scene: JobScene): Step {
  const { order } = scene.job;
  const cursor = scene.job.cursor ?? startOf(scene.job);
  const listing = order.kind === 'delete' || order.kind === 'copy' ? 'ListBucket' : 'ListBucketVersions';
  if (!mayList(scene.rights, scene.bucket, listing)) return err('access_denied');
  if (order.kind === 'pull' || cursor.phase === 'pull') throw new Error('a pull has steps of its own');
  if (cursor.phase === 'shard') return await countPage(scene, cursor);
  if (cursor.phase === 'uploads') return await abortPage(scene, cursor);
  switch (order.kind) {
    case 'empty':
      return await emptyPage(scene, cursor);
    case 'delete':
      return await deletePage(scene, cursor);
    case 'restore':
      return await restorePage(scene, cursor, order.atMs);
    default:
      return await copyPage(scene, cursor);
  }
}

/** Runs a step of a pull. @returns the next cursor, and the number of queries that the versions of the step took. */
export async function runPullStep(
  scene: JobScene,
  order: PullOrder,
): Promise<Result<{ readonly next: JobCursor | null; readonly queries: number }, JobFailure>> {
  if (!mayList(scene.rights, scene.bucket, 'ListBucketVersions')) return err('access_denied');
  const { cursor } = scene.job;
  const step = await pullPage(scene, order, cursor?.phase === 'pull' ? cursor : PULL_START);
  return step.ok ? ok({ next: step.value.next, queries: step.value.pulled * QUERIES_PER_PULL }) : step;
}

type Page = Extract<JobCursor, { from: string }>;

const requestOf = ({ context, job, bucket }: JobScene, { from }: Page, divisor = 1) => ({
  bucket,
  prefix: job.order.prefix,
  delimiter: '',
  from,
  limit: Math.ceil(context.limits.jobPageRows / divisor),
});

/** Whether a version existed when the job was created. Newer versions are not changed by the job. */
const isOlder = ({ job }: JobScene, { modifiedAt }: { readonly modifiedAt: number }): boolean =>
  modifiedAt <= job.createdAt;

const itemsOf = <T>(entries: readonly ({ readonly kind: 'item'; readonly item: T } | { readonly kind: 'prefix' })[]) =>
  entries.flatMap((entry) => (entry.kind === 'item' ? [entry.item] : []));

async function abortPage(scene: JobScene, cursor: Page): Step {
  const { context, bucket, job, rights } = scene;
  const page = await listUploads(context, {
    ...requestOf(scene, cursor, ROWS_PER_COPY),
    ...(cursor.after === null ? {} : { uploadsAfter: cursor.after }),
  });
  if (!page.ok) return err(toFailure(page.error));
  for (const { name, uploadId, initiatedAt } of itemsOf(page.value.entries)) {
    addTo(job.report, 'examined');
    if (initiatedAt > job.createdAt) continue;
    if (!mayAbort(rights, bucket, name)) {
      refuse(scene, name, 'denied');
      continue;
    }
    if (job.isDryRun) note(job.report.changes, { key: name, action: 'abort_upload' });
    const aborted = job.isDryRun ? ok(null) : await abortUpload(context, bucket, name, uploadId);
    if (aborted.ok) addTo(job.report, 'uploads_aborted');
    else if (aborted.error.kind !== 'no_such_upload') return err(toFailure(aborted.error));
  }
  const { next, nextUpload } = page.value;
  return ok(next === null ? names(job.order.prefix) : { phase: 'uploads', from: next, after: nextUpload });
}

const isLockedNow = ({ lock }: ListedVersion, now: number): boolean =>
  lock.isHeld === true || (lock.retainUntilMs !== null && lock.retainUntilMs > now);

interface Doomed {
  readonly item: DeleteItem;
  readonly size: number;
}

async function emptyPage(scene: JobScene, cursor: Page): Step {
  const { context, bucket, job, rights } = scene;
  const page = await listVersions(context, {
    ...requestOf(scene, cursor),
    ...(cursor.after === null ? {} : { versionsAfter: cursor.after }),
  });
  if (!page.ok) return err(toFailure(page.error));
  const doomed: Doomed[] = [];
  for (const version of itemsOf(page.value.entries)) {
    const { name, versionId, size } = version;
    addTo(job.report, 'examined');
    if (!isOlder(scene, version)) continue;
    if (!mayDelete(rights, bucket, name, true)) refuse(scene, name, 'denied', versionId);
    else if (isLockedNow(version, context.now())) refuse(scene, name, 'locked', versionId);
    else doomed.push({ item: { name, versionId }, size });
  }
  const failure = await remove(scene, doomed);
  if (failure) return err(failure);
  const { next, nextVersion } = page.value;
  return ok(next === null ? null : names(next, nextVersion));
}

async function deletePage(scene: JobScene, cursor: Page): Step {
  const { context, bucket, job, rights } = scene;
  const page = await listObjects(context, requestOf(scene, cursor));
  if (!page.ok) return err(toFailure(page.error));
  const doomed: Doomed[] = [];
  for (const version of itemsOf(page.value.entries)) {
    addTo(job.report, 'examined');
    if (!isOlder(scene, version)) continue;
    if (!mayDelete(rights, bucket, version.name, false)) refuse(scene, version.name, 'denied');
    else doomed.push(toDoomed(version));
  }
  const failure = await remove(scene, doomed);
  return failure ? err(failure) : ok(page.value.next === null ? null : names(page.value.next));
}

/** A delete by name, on the condition that this version is still the newest. */
const toDoomed = ({ name, versionId, size }: { name: string; versionId: string; size: number }): Doomed => ({
  item: { name, due: { versionId, kind: 'current' } },
  size,
});

async function remove(scene: JobScene, doomed: readonly Doomed[]): Promise<JobFailure | null> {
  const { context, bucket, job } = scene;
  const { report, isDryRun } = job;
  const items = doomed.map(({ item }) => item);
  const outcomes = isDryRun || items.length === 0 ? [] : await deleteObjects(context, bucket, items);
  for (const [index, { item, size }] of doomed.entries()) {
    const { name, versionId } = item;
    const outcome = outcomes[index];
    if (outcome && !outcome.ok) {
      const { error } = outcome;
      if (error.kind === 'object_locked') refuse(scene, name, 'locked', versionId);
      else if (error.kind === 'precondition_failed' || error.kind === 'no_such_key') refuse(scene, name, 'changed');
      else return toFailure(error);
      continue;
    }
    // The version is gone: an interrupted first try of this step may have removed and counted it.
    if (outcome?.ok && !outcome.value.existed && versionId !== undefined) continue;
    addTo(report, versionId === undefined ? 'objects_deleted' : 'versions_removed');
    addTo(report, 'bytes', size);
    if (!isDryRun) continue;
    const change =
      versionId === undefined
        ? ({ action: 'delete' } as const)
        : ({ action: 'remove_version', version_id: versionId } as const);
    note(report.changes, { key: name, ...change });
  }
  return null;
}

async function restorePage(scene: JobScene, cursor: Page, atMs: number): Step {
  const { context, bucket, job, rights } = scene;
  const page = await listNamesAt(context, { ...requestOf(scene, cursor, ROWS_PER_COPY), atMs });
  if (!page.ok) return err(toFailure(page.error));
  const doomed: Doomed[] = [];
  const failure = await inParallel(page.value.names, async (name) => {
    addTo(job.report, 'examined');
    const decision = decideRestore(name, job.createdAt);
    if (decision === 'nothing') addTo(job.report, 'unchanged');
    else if (decision === 'changed') refuse(scene, name.name, 'changed');
    else if (decision === 'copy' && name.earlier) return await restoreTo(scene, name, name.earlier.versionId);
    else if (!mayDelete(rights, bucket, name.name, false)) refuse(scene, name.name, 'denied');
    else doomed.push(toDoomed(name));
    return null;
  });
  const stopped = failure ?? (await remove(scene, doomed));
  return stopped ? err(stopped) : ok(page.value.next === null ? null : names(page.value.next));
}

async function copyPage(scene: JobScene, cursor: Page): Step {
  const { context, job } = scene;
  const page = await listObjects(context, requestOf(scene, cursor, ROWS_PER_COPY));
  if (!page.ok) return err(toFailure(page.error));
  const failure = await inParallel(itemsOf(page.value.entries), async (object) => {
    addTo(job.report, 'examined');
    return isOlder(scene, object) ? await copyTo(scene, object.name) : null;
  });
  return failure ? err(failure) : ok(page.value.next === null ? null : names(page.value.next));
}

/** Runs work on items in parallel. Work that has begun is finished even after a failure. @returns the first failure. */
async function inParallel<T>(
  all: readonly T[],
  work: (one: T) => Promise<JobFailure | null>,
): Promise<JobFailure | null> {
  let next = 0;
  let failure: JobFailure | null = null;
  const worker = async (): Promise<void> => {
    while (failure === null && next < all.length) failure = (await work(all[next++] as T)) ?? failure;
  };
  const workers = await Promise.allSettled(Array.from({ length: COPIES_AT_ONCE }, worker));
  for (const one of workers) if (one.status === 'rejected') throw one.reason;
  return failure;
}

async function countPage({ context, job, bucket }: JobScene, cursor: Extract<JobCursor, { phase: 'shard' }>): Step {
  const shard = shardsOf(bucket.placement.shards)[cursor.shard];
  if (shard === undefined) return ok(null);
  const { bucketId } = bucket;
  const page = await measurePage(context, shard, { bucketId, prefix: job.order.prefix }, cursor.last);
  if (!page.ok) return err(toFailure(page.error));
  addTo(job.report, 'examined', page.value.seen);
  for (const [name, value] of Object.entries(page.value.usage)) addTo(job.report, name as 'bytes', value);
  const { next } = page.value;
  return ok(next === null ? { phase: 'shard', shard: cursor.shard + 1, last: null } : { ...cursor, last: next });
}
