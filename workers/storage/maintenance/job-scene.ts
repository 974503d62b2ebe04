/** Context that the steps of a job share. */
import { addTo, DIFFERENCES_LISTED_MAX, type JobObstacle, note } from '../domain/jobs.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Bucket, CommonError } from '../engine/model/contract.ts';
import type { Job } from '../engine/store/job-store.ts';
import type { JobRights } from './job-rights.ts';

/** Reason why a job ends before it is complete. */
export type JobFailure =
  | 'access_denied'
  | 'credential_revoked'
  | 'no_such_bucket'
  | 'quota_exceeded'
  | 'secret_unreadable'
  | 'source_denied'
  | 'source_not_found'
  | 'source_refused'
  | 'source_unavailable'
  | 'taken_down'
  | 'user_suspended';

/** The context of one step of a job. The step adds its counts to the job's report. */
export interface JobScene {
  readonly context: EngineContext;
  readonly job: Job;
  readonly bucket: Bucket;
  /** Target bucket of a copy job; null for other jobs. */
  readonly target: Bucket | null;
  readonly rights: JobRights;
}

/** Converts an error of the engine to the failure of a job. @throws if a store does not answer, so that the step is repeated. */
export function toFailure(error: CommonError): JobFailure {
  if (error.kind === 'unavailable') throw new Error(error.reason);
  return error.kind;
}

export function refuse({ job: { report } }: JobScene, key: string, reason: JobObstacle, versionId?: string): void {
  addTo(report, reason === 'locked' || reason === 'denied' ? reason : 'skipped');
  note(report.obstacles, { key, reason, ...(versionId === undefined ? {} : { version_id: versionId }) });
}

/** Reports a difference of a pull. @param isInPart whether the version was pulled nevertheless. */
export function differ({ job: { report } }: JobScene, key: string, reason: JobObstacle, of: Difference): void {
  addTo(report, of.isInPart ? 'pulled_in_part' : reason === 'denied' ? reason : 'skipped');
  const id = of.versionId === undefined ? {} : { version_id: of.versionId };
  note(report.obstacles, { key, reason, ...id }, DIFFERENCES_LISTED_MAX);
}

interface Difference {
  /** Version id at the source. */
  readonly versionId?: string;
  readonly isInPart?: true;
}
