/** Jobs in DIRECTORY. A worker holds a job by a lease; every change of a running job names its holder. */
import { drizzle } from 'drizzle-orm/d1';
import type { CredentialRef } from '../../../identity/index.ts';
import { type AuditRow, insertIfChanged } from '../../../shared/audit/audit-store.ts';
import { toStatement } from '../../../shared/stores/drizzle-statement.ts';
import { prepare, type RowOf, readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import {
  emptyReport,
  type JobCursor,
  type JobOrder,
  type JobOrigin,
  type JobReport,
  type JobState,
} from '../../domain/jobs.ts';
import type { EngineContext } from '../model/context.ts';
import type { storageJob } from './directory-schema.ts';

type JobRow = RowOf<typeof storageJob> & {
  readonly bucket: string | null;
  readonly target: string | null;
  readonly target_owner_id: string | null;
};

/** A job as its caller requests it. */
export interface JobRequest {
  readonly order: JobOrder;
  readonly isDryRun: boolean;
  /** Scopes of the token that requested the job; null if scopes do not limit it. */
  readonly scopes: readonly string[] | null;
  /** The credential that requested the job; absent in jobs of 0.2.0 and earlier. */
  readonly credential?: CredentialRef;
  /** The facts of the request, on which conditions of policies depend; absent in jobs of 0.2.0 and earlier. */
  readonly origin?: JobOrigin;
}

export interface Job extends JobRequest {
  readonly jobId: string;
  readonly bucketId: string;
  /** Names of the source and target buckets; null for a deleted bucket. */
  readonly bucket: string | null;
  readonly target: string | null;
  /** Owner of the target bucket; null without one. */
  readonly targetOwnerId: string | null;
  readonly userId: string | null;
  readonly state: JobState;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly cursor: JobCursor | null;
  readonly report: JobReport;
  readonly error: string | null;
}

const toJob = (row: JobRow): Job => ({
  ...(JSON.parse(row.job) as JobRequest),
  jobId: row.job_id,
  bucketId: row.bucket_id,
  bucket: row.bucket,
  target: row.target,
  targetOwnerId: row.target_owner_id,
  userId: row.user_id,
  state: row.state,
  createdAt: row.created_at,
  endedAt: row.ended_at,
  cursor: row.cursor === null ? null : (JSON.parse(row.cursor) as JobCursor),
  report: JSON.parse(row.report) as JobReport,
  error: row.error,
});

const JOBS = `SELECT j.*, b.name AS bucket, t.name AS target, t.owner_id AS target_owner_id FROM storage_job j LEFT JOIN bucket b ON b.bucket_id = j.bucket_id
  LEFT JOIN bucket t ON t.bucket_id = json_extract(j.job, '$.order.targetId')`;

/** SQL of a job's order without the secret of its source, which an ended job does not need. */
export const WITHOUT_SECRET = `json_remove(job, '$.order.sealed')`;

const RETENTION_MS = 30 * 86_400_000;
/** Maximum number of open jobs per user, and of all operators together. */
const OPEN_MAX = 20;

/**
 * What is added to the lease of a pull, in milliseconds. 0.2.0 takes every free job, does those that it does not know as copies, and
 * keeps their secret when they end. It sees a pull as held, at any time.
 */
const PULL_LEASE = 1_000_000_000_000_000;
/** SQL of the end of a job's lease, in milliseconds since 1970. */
const LEASE_END = `lease_until % ${PULL_LEASE}`;
/** SQL of what a job's lease is counted from: PULL_LEASE or 0. */
const LEASE_BASE = `lease_until - ${LEASE_END}`;

const insert = statement<{
  jobId: string;
  bucketId: string;
  userId: string | null;
  job: string;
  report: string;
  nowMs: number;
  lease: number;
}>(
  `INSERT INTO storage_job(job_id, bucket_id, user_id, job, state, created_at, report, lease_until)
   SELECT :jobId, :bucketId, :userId, :job, 'waiting', :nowMs, :report, :lease
   WHERE (SELECT count(*) FROM storage_job WHERE ended_at IS NULL AND user_id IS :userId) < ${OPEN_MAX}`,
);
const forgetEnded = statement<{ before: number }>('DELETE FROM storage_job WHERE ended_at < :before');

/** Prepares the audit row of a change, as the statement that follows the change in its batch. */
const prepareAudit = (directory: D1Database, row: AuditRow): D1PreparedStatement =>
  toStatement(directory, insertIfChanged(drizzle(directory), row));

/** Adds a job. Also removes the rows of jobs that ended long ago. @returns false if the caller has too many open jobs. */
export async function insertJob(
  context: EngineContext,
  { jobId, bucketId, userId, ...request }: JobRequest & Pick<Job, 'jobId' | 'bucketId' | 'userId'>,
  audit: AuditRow,
): Promise<boolean> {
  const nowMs = Math.trunc(context.now());
  const values = {
    jobId,
    bucketId,
    userId,
    job: JSON.stringify(request),
    report: JSON.stringify(emptyReport()),
    nowMs,
    lease: request.order.kind === 'pull' ? PULL_LEASE : 0,
  };
  const { directory } = context;
  const [inserted] = await directory.batch([
    prepare(directory, insert, values),
    prepareAudit(directory, audit),
    prepare(directory, forgetEnded, { before: nowMs - RETENTION_MS }),
  ]);
  return inserted?.meta.changes === 1;
}

/** SQL condition of the jobs that a user sees: the user's own jobs, and all jobs over the user's buckets. */
const IS_VISIBLE =
  '(:userId IS NULL OR j.user_id = :userId OR j.bucket_id IN (SELECT bucket_id FROM bucket WHERE owner_id = :userId))';

const find = statement<{ jobId: string; userId: string | null }, JobRow>(
  `${JOBS} WHERE j.job_id = :jobId AND ${IS_VISIBLE}`,
);

/** Finds a job that a user or operator may see. @param userId user who asks; null for an operator, who sees all jobs. */
export async function findJob(context: EngineContext, jobId: string, userId: string | null): Promise<Job | null> {
  const row = await readFirst(context.directory, find, { jobId, userId });
  return row && toJob(row);
}

const listNewest = statement<{ userId: string | null; bucketId: string | null; before: string; limit: number }, JobRow>(
  `${JOBS} WHERE (:before = '' OR j.job_id < :before) AND (:bucketId IS NULL OR j.bucket_id = :bucketId) AND ${IS_VISIBLE}
   ORDER BY j.job_id DESC LIMIT :limit`,
);

/** Lists jobs, newest first. @param before id of the last job of the previous page; '' at the start. */
export async function listJobs(
  context: EngineContext,
  query: {
    readonly userId: string | null;
    readonly bucketId: string | null;
    readonly before: string;
    readonly limit: number;
  },
): Promise<Job[]> {
  return (await readAll(context.directory, listNewest, query)).map(toJob);
}

const listRunnable = statement<{ nowMs: number; limit: number }, { job_id: string }>(
  `SELECT job_id FROM storage_job WHERE ended_at IS NULL AND ${LEASE_END} <= :nowMs ORDER BY job_id LIMIT :limit`,
);

/** Lists open jobs that no worker holds. */
export async function selectRunnable(context: EngineContext, limit: number): Promise<string[]> {
  const rows = await readAll(context.directory, listRunnable, { nowMs: Math.trunc(context.now()), limit });
  return rows.map((row) => row.job_id);
}

/** Duration of a worker's lease on a job. Afterwards another worker may take the job, because the first one probably died. */
export const JOB_LEASE_MS = 30_000;

type Held = { jobId: string; holder: string };
const IS_HELD = 'job_id = :jobId AND holder = :holder AND ended_at IS NULL';

const take = statement<Held & { nowMs: number; until: number }>(
  `UPDATE storage_job SET state = 'running', holder = :holder, lease_until = ${LEASE_BASE} + :until
   WHERE job_id = :jobId AND ended_at IS NULL AND ${LEASE_END} <= :nowMs`,
);

/** Takes the lease of a job. @returns the job, or null if another worker holds it or it has ended. */
export async function takeJob(context: EngineContext, jobId: string, holder: string): Promise<Job | null> {
  const nowMs = Math.trunc(context.now());
  const taken = await prepare(context.directory, take, { jobId, holder, nowMs, until: nowMs + JOB_LEASE_MS }).run();
  return taken.meta.changes === 1 ? await findJob(context, jobId, null) : null;
}

const renew = statement<Held & { until: number }>(
  `UPDATE storage_job SET lease_until = ${LEASE_BASE} + :until WHERE ${IS_HELD}`,
);
const release = statement<Held>(`UPDATE storage_job SET lease_until = ${LEASE_BASE} WHERE ${IS_HELD}`);

export async function renewLease(context: EngineContext, jobId: string, holder: string): Promise<void> {
  await prepare(context.directory, renew, { jobId, holder, until: Math.trunc(context.now()) + JOB_LEASE_MS }).run();
}

export async function releaseJob(context: EngineContext, jobId: string, holder: string): Promise<void> {
  await prepare(context.directory, release, { jobId, holder }).run();
}

const save = statement<Held & { cursor: string; report: string; until: number }>(
  `UPDATE storage_job SET cursor = :cursor, report = :report, lease_until = ${LEASE_BASE} + :until WHERE ${IS_HELD}`,
);

/** Stores a job's progress. @returns false if the job was cancelled or another worker holds it. */
export async function saveJob(context: EngineContext, job: Job, holder: string): Promise<boolean> {
  const values = { cursor: JSON.stringify(job.cursor), report: JSON.stringify(job.report) };
  const until = Math.trunc(context.now()) + JOB_LEASE_MS;
  const saved = await prepare(context.directory, save, { jobId: job.jobId, holder, until, ...values }).run();
  return saved.meta.changes === 1;
}

type End = { jobId: string; nowMs: number };
const end = statement<Held & End & { state: string; error: string | null; report: string }>(
  `UPDATE storage_job SET state = :state, error = :error, report = :report, ended_at = :nowMs, cursor = NULL, lease_until = 0,
   job = ${WITHOUT_SECRET} WHERE ${IS_HELD}`,
);
const cancel = statement<End>(
  `UPDATE storage_job SET state = 'cancelled', ended_at = :nowMs, lease_until = 0, job = ${WITHOUT_SECRET}
   WHERE job_id = :jobId AND ended_at IS NULL`,
);

/** Stores a job's end. @returns false if the job was cancelled or another worker holds it. */
export async function endJob(
  { directory, now }: EngineContext,
  job: Job,
  holder: string,
  error: string | null,
  audit: AuditRow,
): Promise<boolean> {
  const report = JSON.stringify(job.report);
  const state = error === null ? 'done' : 'failed';
  const values = { jobId: job.jobId, holder, nowMs: Math.trunc(now()), state, error, report };
  const [ended] = await directory.batch([prepare(directory, end, values), prepareAudit(directory, audit)]);
  return ended?.meta.changes === 1;
}

/** Cancels a job. @returns false if the job had already ended. */
export async function cancelJob({ directory, now }: EngineContext, jobId: string, audit: AuditRow): Promise<boolean> {
  const cancelled = prepare(directory, cancel, { jobId, nowMs: Math.trunc(now()) });
  const [done] = await directory.batch([cancelled, prepareAudit(directory, audit)]);
  return done?.meta.changes === 1;
}

const forget = statement<{ userId: string }>('DELETE FROM storage_job WHERE user_id = :userId');

/** Ends the open jobs of a user who is being deleted. */
export async function forgetJobs(context: EngineContext, userId: string): Promise<void> {
  await prepare(context.directory, forget, { userId }).run();
}
