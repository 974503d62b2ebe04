/**
 * Applies the lifecycle rules of buckets. Each day adds a run for each bucket with rules to each of its shards. A run walks the
 * bucket's uploads and versions page by page and saves its position after each page, so an interrupted run repeats one page.
 *
 * The rules are read again for each page. Deletes go through the engine like those of clients, with the same guards, including
 * Object Lock. In addition the transaction checks that the version still matches what the rule selected.
 */

import { recordSystemAudit } from '../../shared/audit/audit.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { decideVersion, findAbort, type LifecycleRule } from '../domain/lifecycle.ts';
import { epochMsOf, fromVersionOrder } from '../domain/version-order.ts';
import { deleteObjects } from '../engine/actions/deleting.ts';
import { abortUpload } from '../engine/actions/uploads.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Bucket, DeleteItem } from '../engine/model/contract.ts';
import {
  type ExaminedRow,
  findBucketById,
  type RunRow,
  removeRun,
  saveRun,
  selectRuns,
  selectUploadsAfter,
  selectVersionsAfter,
  startRuns,
} from '../engine/store/lifecycle-store.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';
import { isTakenDown, lifecycleOf } from '../s3/access/bucket-configuration.ts';

/** Maximum number of pages per invocation. A page of versions takes about 20 queries, and D1 allows 1,000. */
const PAGES_MAX = 40;
const RUNS_MAX = 20;
const LISTED = 'lifecycle listed';
/** Number of lifecycle runs per day if tests have shortened the day. Objects of such a day may expire at any time of it. */
const RUNS_PER_SHORT_DAY = 10;
const DAY_MS = 86_400_000;

/** Counts of the changes of a lifecycle run, for its audit row. */
interface RunCounts {
  versions_examined: number;
  objects_expired: number;
  markers_removed: number;
  noncurrent_removed: number;
  uploads_aborted: number;
}

const NOTHING: RunCounts = {
  versions_examined: 0,
  objects_expired: 0,
  markers_removed: 0,
  noncurrent_removed: 0,
  uploads_aborted: 0,
};

/** Position of a lifecycle run: after an upload, or after a version. */
type Cursor =
  | { readonly phase: 'uploads'; readonly key: string; readonly uploadId: string }
  | {
      readonly phase: 'versions';
      readonly key: string;
      readonly ord: string;
      /** Number of noncurrent versions of this name with data that the run has kept so far. */
      readonly noncurrent: number;
    };

const START: Cursor = { phase: 'uploads', key: '', uploadId: '' };

/** Adds the lifecycle runs of a new day to a shard. @returns whether the shard has runs to do. */
export async function isLifecycleDue(context: EngineContext, shard: number): Promise<boolean> {
  const { lifecycleDayMs: dayMs } = context.limits;
  const day = Math.floor(context.now() / (dayMs === DAY_MS ? DAY_MS : dayMs / RUNS_PER_SHORT_DAY));
  if ((await readTask<number>(context, shard, LISTED)) !== day) {
    await startRuns(context, shard);
    await writeTask(context, shard, LISTED, day);
  }
  return (await selectRuns(context, shard, 1)).length > 0;
}

/** Continues the runs of a shard. @returns whether there is more to do now; a run that failed waits for the next cron. */
export async function runLifecycle(context: EngineContext, shard: number): Promise<boolean> {
  let [pages, hasFailed] = [0, false];
  const runs = await selectRuns(context, shard, RUNS_MAX);
  for (const run of runs) {
    try {
      let current: RunRow | null = run;
      while (current !== null && pages++ < PAGES_MAX) current = await runPage(context, shard, current);
    } catch (error) {
      logError('lifecycle_run_failed', error, { shard, bucket_id: run.bucket_id });
      hasFailed = true;
    }
    if (pages > PAGES_MAX) return true;
  }
  return runs.length === RUNS_MAX && !hasFailed;
}

/** Applies the lifecycle rules of a bucket to one page. @returns the run's state after the page; null at its end. */
async function runPage(context: EngineContext, shard: number, run: RunRow): Promise<RunRow | null> {
  const bucket = await findBucketById(context, run.bucket_id);
  const rules = bucket && !isTakenDown(bucket) ? (lifecycleOf(bucket)?.rules ?? []) : [];
  const counts: RunCounts = { ...NOTHING, ...JSON.parse(run.counts) };
  const cursor = run.cursor === null ? START : (JSON.parse(run.cursor) as Cursor);
  const next =
    bucket === null || !rules.some(({ isEnabled }) => isEnabled)
      ? null
      : cursor.phase === 'uploads'
        ? await abortUploads(context, shard, run.bucket, bucket, rules, cursor, counts)
        : await expireVersions(context, shard, run.bucket, bucket, rules, cursor, counts);
  if (next === null) {
    await recordRun(context, shard, run, counts);
    await removeRun(context, shard, run);
    return null;
  }
  const saved = { cursor: JSON.stringify(next), counts: JSON.stringify(counts) };
  await saveRun(context, shard, run, saved.cursor, saved.counts);
  return { ...run, ...saved };
}

/** Adds the audit row of a lifecycle run, unless the run changed nothing. */
async function recordRun(context: EngineContext, shard: number, run: RunRow, counts: RunCounts): Promise<void> {
  const { versions_examined: _, ...changes } = counts;
  if (Object.values(changes).every((count) => count === 0)) return;
  await recordSystemAudit(context.directory, {
    at: run.started_at,
    id: `lifecycle-${run.bucket_id}-${shard}`,
    action: 'bucket.lifecycle',
    target: { type: 'bucket', id: run.bucket_id },
    details: { shard, ...counts },
  });
}

async function abortUploads(
  context: EngineContext,
  shard: number,
  bucketN: number,
  bucket: Bucket,
  rules: readonly LifecycleRule[],
  { key, uploadId }: Extract<Cursor, { phase: 'uploads' }>,
  counts: RunCounts,
): Promise<Cursor> {
  const versions: Cursor = { phase: 'versions', key: '', ord: '', noncurrent: 0 };
  if (!rules.some((rule) => rule.isEnabled && rule.abortAfterDays !== undefined)) return versions;
  const uploads = await selectUploadsAfter(
    context,
    shard,
    bucketN,
    { key, uploadId },
    context.limits.lifecyclePageRows,
  );
  for (const upload of uploads) {
    const abort = findAbort(rules, upload.name, upload.initiated_at, context.limits.lifecycleDayMs);
    if (abort === null || abort.atMs > context.now()) continue;
    if ((await abortUpload(context, bucket, upload.name, upload.upload_id)).ok) counts.uploads_aborted++;
  }
  const last = uploads.at(-1);
  if (uploads.length < context.limits.lifecyclePageRows || last === undefined) return versions;
  return { phase: 'uploads', key: last.key, uploadId: last.upload_id };
}

const COUNTED = { current: 'objects_expired', alone: 'markers_removed', noncurrent: 'noncurrent_removed' } as const;

async function expireVersions(
  context: EngineContext,
  shard: number,
  bucketN: number,
  bucket: Bucket,
  rules: readonly LifecycleRule[],
  cursor: Extract<Cursor, { phase: 'versions' }>,
  counts: RunCounts,
): Promise<Cursor | null> {
  const rows = await selectVersionsAfter(context, shard, bucketN, cursor, context.limits.lifecyclePageRows);
  const items: DeleteItem[] = [];
  let before = cursor;
  for (const row of rows) {
    const isNewest = row.key !== before.key;
    const item = toItem(context, rules, row, isNewest ? null : before);
    if (item !== null) items.push(item);
    // A version that this page removes does not count as a newer version of the following one.
    const isKept = row.is_marker === 0 && item === null;
    const noncurrent = isNewest ? 0 : before.noncurrent + (isKept ? 1 : 0);
    before = { phase: 'versions', key: row.key, ord: row.ord, noncurrent };
  }
  const outcomes = items.length === 0 ? [] : await deleteObjects(context, bucket, items);
  for (const [index, outcome] of outcomes.entries()) {
    const kind = items[index]?.due?.kind;
    if (outcome.ok && kind) counts[COUNTED[kind]]++;
    else if (!outcome.ok && outcome.error.kind === 'unavailable') throw new Error(outcome.error.reason);
  }
  counts.versions_examined += rows.length;
  return rows.length < context.limits.lifecyclePageRows ? null : before;
}

/** Decides whether a version is deleted. @param newer the next newer version of the name; null for the newest. */
function toItem(
  context: EngineContext,
  rules: readonly LifecycleRule[],
  row: ExaminedRow,
  newer: { readonly ord: string; readonly noncurrent: number } | null,
): DeleteItem | null {
  const versionId = fromVersionOrder(row.ord);
  const subject = {
    name: row.name,
    size: row.size,
    tags: row.tags === null ? null : (JSON.parse(row.tags) as Record<string, string>),
    isMarker: row.is_marker === 1,
    modifiedAt: epochMsOf(versionId),
    noncurrentSince: newer && epochMsOf(fromVersionOrder(newer.ord)),
    newerNoncurrent: newer?.noncurrent ?? 0,
    isAlone: newer === null && row.is_last === 1,
  };
  const decision = decideVersion(rules, subject, context.now(), context.limits.lifecycleDayMs);
  if (decision === null) return null;
  const { hasTags, ...due } = decision;
  const tags = hasTags && row.tags !== null ? { tags: row.tags } : {};
  // The current version is deleted by name, as a client does it: a versioned bucket gets a delete marker. Object Lock allows
  // that.
  if (due.kind === 'current') return { name: row.name, isLifecycle: true, due: { versionId, ...due, ...tags } };
  if (row.is_locked === 1) return null;
  return { name: row.name, versionId, isLifecycle: true, due: { versionId, ...due, ...tags } };
}
