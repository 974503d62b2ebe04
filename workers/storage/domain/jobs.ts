/**
 * Jobs over a bucket or a prefix: their orders, progress and reports. Pure.
 *
 * A job changes nothing that was written after it began, so a step that was interrupted can be repeated.
 */

import { count } from './counting.ts';

export type JobOrder =
  /** A job that removes every version, every delete marker and every open upload below the prefix. */
  | { readonly kind: 'empty'; readonly prefix: string }
  /** A job that deletes objects by name, so that a versioned bucket gets delete markers. */
  | { readonly kind: 'delete'; readonly prefix: string }
  | { readonly kind: 'restore'; readonly prefix: string; readonly atMs: number }
  | { readonly kind: 'copy'; readonly prefix: string; readonly targetId: string; readonly targetPrefix: string }
  | { readonly kind: 'count'; readonly prefix: string };
export type JobKind = JobOrder['kind'];

/** The facts of the request that started a job, on which conditions of policies depend. */
export interface JobOrigin {
  /** Headers of the request that conditions read, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isSecure: boolean;
  /** TLS version of the connection, such as `1.3`; null over plain HTTP, and if the server does not know it. */
  readonly tlsVersion: string | null;
  readonly via: 'header' | 'bearer';
  /** Version of the signature, as `s3:signatureversion` has it; null without a signature. */
  readonly signature: 'AWS' | 'AWS4-HMAC-SHA256' | null;
}

export const JOB_KINDS = ['empty', 'delete', 'restore', 'copy', 'count'] as const satisfies readonly JobKind[];
export const JOB_STATES = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Progress of a job: the phase and the position in it. */
export type JobCursor =
  | { readonly phase: 'uploads'; readonly from: string; readonly after: string | null }
  | { readonly phase: 'names'; readonly from: string; readonly after: string | null }
  | {
      readonly phase: 'shard';
      readonly shard: number;
      readonly last: { readonly name: string; readonly ord: string } | null;
    };

export const COUNTED = [
  /** Number of names or versions that the job has read. */
  'examined',
  'objects_deleted',
  'versions_removed',
  'uploads_aborted',
  'objects_restored',
  'objects_copied',
  /** Total size of the objects and versions that the counters above count. */
  'bytes',
  'unchanged',
  /** Number of versions that stay because Object Lock protects them. */
  'locked',
  /** Number of objects and versions that the user's rights do not let the job change. */
  'denied',
  /** Number of objects that were skipped for another reason; `obstacles` lists the first ones. */
  'skipped',
  /** The counters from here on are those of jobs of the kind `count`. */
  'objects',
  'versions',
  'uploads',
] as const;
export type JobCount = (typeof COUNTED)[number];

export type JobAction = 'delete' | 'remove_version' | 'abort_upload' | 'restore' | 'copy';
export type JobObstacle =
  | 'locked'
  | 'denied'
  | 'taken_down'
  | 'data_lost'
  | 'changed'
  | 'too_long'
  | 'too_large'
  | 'encrypted';

export interface JobReport {
  readonly counts: Partial<Record<JobCount, number>>;
  /** The first changes that a dry run would make. */
  readonly changes: { readonly key: string; readonly action: JobAction; readonly version_id?: string }[];
  /** The first objects that the job could not change, each with the reason. */
  readonly obstacles: { readonly key: string; readonly reason: JobObstacle; readonly version_id?: string }[];
}

export const emptyReport = (): JobReport => ({ counts: {}, changes: [], obstacles: [] });

export const LISTED_MAX = 20;

export function addTo({ counts }: JobReport, name: JobCount, by = 1): void {
  count(counts, { [name]: by });
}

/** Appends the item unless the list is full. The list thus keeps the first items only. */
export function note<T>(list: T[], item: T): void {
  if (list.length < LISTED_MAX) list.push(item);
}

/** The change that restores a name to an earlier state. @param name the name with its present and its earlier state. */
export function decideRestore(
  name: {
    readonly isMarker: boolean;
    readonly modifiedAt: number;
    readonly earlier: { readonly isSame: boolean } | null;
  },
  startedAt: number,
): 'nothing' | 'changed' | 'delete' | 'copy' {
  const isNeeded = name.earlier === null ? !name.isMarker : !name.earlier.isSame || name.isMarker;
  if (!isNeeded) return 'nothing';
  if (name.modifiedAt > startedAt) return 'changed';
  return name.earlier === null ? 'delete' : 'copy';
}
