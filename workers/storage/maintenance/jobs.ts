/**
 * Runs jobs over buckets and prefixes. A worker takes a job by a lease, runs steps until its budget of queries is used, and saves
 * the position after each step. Then a queue message continues the job. Cron continues it if the message is lost or a worker dies.
 *
 * A step that was interrupted is repeated. Its report may then lack the changes of the first try, but never counts them twice.
 */
import { toSystemAuditRow } from '../../shared/audit/audit.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { shardsOf } from '../domain/slots.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { endJob, JOB_LEASE_MS, type Job, releaseJob, renewLease, saveJob, takeJob } from '../engine/store/job-store.ts';
import { findBucketById } from '../engine/store/lifecycle-store.ts';
import { isTakenDown } from '../s3/access/bucket-configuration.ts';
import { findRights } from './job-rights.ts';
import type { JobFailure } from './job-scene.ts';
import { runPullStep, runStep } from './job-steps.ts';

/** Maximum number of queries of one invocation, below D1's limit of 1,000. */
const QUERIES_MAX = 900;
const QUERIES_PER_SHARD = 20;
const QUERIES_PER_COPY = 14;

/** Runs steps of a job until the budget is used. @returns whether the job has more to do now. */
export async function runJob(context: EngineContext, jobId: string): Promise<boolean> {
  const holder = crypto.randomUUID();
  let job = await takeJob(context, jobId, holder);
  if (job === null) return false;
  // Renews the lease of the job while a step runs, because a step may copy large objects.
  const renewal = setInterval(() => {
    context.waitUntil(
      renewLease(context, jobId, holder).catch((error: unknown) =>
        logError('job_lease_lost', error, { job_id: jobId }),
      ),
    );
  }, JOB_LEASE_MS / 3);
  try {
    for (let [queries, cost] = [0, 0]; queries + cost <= QUERIES_MAX; queries += cost) {
      const step: StepOutcome = await stepOf(context, job);
      if (typeof step === 'string' || step.next === null) {
        await finish(context, job, holder, typeof step === 'string' ? step : null);
        return false;
      }
      job = { ...job, cursor: step.next };
      if (!(await saveJob(context, job, holder))) return false;
      // The lease stays, so that cron asks a source again that does not answer.
      if (step.next.phase === 'pull' && step.next.failures > 0) return false;
      cost = step.queries;
    }
    await releaseJob(context, jobId, holder);
    return true;
  } catch (error) {
    // Cron runs the job again after the lease has expired.
    logError('job_failed', error, { job_id: jobId, kind: job.order.kind });
    return false;
  } finally {
    clearInterval(renewal);
  }
}

type StepOutcome = JobFailure | { readonly next: Job['cursor']; readonly queries: number };

/** Runs the next step of a job, which adds its counts to the job's report. */
async function stepOf(context: EngineContext, job: Job): Promise<StepOutcome> {
  const { order } = job;
  const [bucket, target, rights] = await Promise.all([
    findBucketById(context, job.bucketId),
    order.kind === 'copy' ? findBucketById(context, order.targetId) : null,
    findRights(context, job),
  ]);
  if (bucket === null || (order.kind === 'copy' && target === null)) return 'no_such_bucket';
  if (isTakenDown(bucket) || (target !== null && isTakenDown(target))) return 'taken_down';
  if (!rights.ok) return rights.error;
  const shards = shardsOf(bucket.placement.shards).length;
  const scene = { context, job, bucket, target, rights: rights.value };
  if (order.kind === 'pull') {
    const step = await runPullStep(scene, order);
    return step.ok ? { next: step.value.next, queries: shards * QUERIES_PER_SHARD + step.value.queries } : step.error;
  }
  const next = await runStep(scene);
  if (!next.ok) return next.error;
  const isCopying = order.kind === 'copy' || order.kind === 'restore';
  const copies = isCopying ? (context.limits.jobPageRows / 4) * QUERIES_PER_COPY : 0;
  return { next: next.value, queries: shards * QUERIES_PER_SHARD + copies };
}

async function finish(context: EngineContext, job: Job, holder: string, error: JobFailure | null): Promise<void> {
  const audit = toSystemAuditRow({
    at: Math.trunc(context.now()),
    id: `job-${job.jobId}`,
    action: 'storage_job.end',
    target: { type: 'bucket', id: job.bucketId },
    details: { job_id: job.jobId, kind: job.order.kind, error: error ?? undefined, ...job.report.counts },
  });
  await endJob(context, job, holder, error, audit);
}
