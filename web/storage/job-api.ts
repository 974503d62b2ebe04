/** Jobs that the server runs over a bucket or a prefix: `/v1/storage/jobs`. Requests are signed with the access key. */
import { callJson, type Page } from '../shared/api.ts';
import type { Key } from './s3.ts';
import { sha256Hex, signHeaders } from './sigv4.ts';

export const JOB_KINDS = ['count', 'restore', 'delete', 'empty', 'copy', 'pull'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

export interface ServerJob {
  job_id: string;
  kind: JobKind;
  prefix: string;
  at: string | null;
  target: { bucket: string | null; prefix: string } | null;
  /** Source of a pull; null for other kinds and for other people's jobs. */
  source: { endpoint: string; bucket: string; prefix: string } | null;
  dry_run: boolean;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  error: string | null;
  created_at: string;
  ended_at: string | null;
  position: string | null;
  counts: Record<string, number>;
  changes: { key: string; action: string }[];
  obstacles: { key: string; reason: string }[];
}

export interface JobRequest {
  kind: JobKind;
  bucket: string;
  prefix: string;
  at?: string;
  target?: { bucket: string; prefix: string };
  source?: {
    endpoint: string;
    region: string;
    bucket: string;
    prefix: string;
    access_key_id: string;
    secret_access_key: string;
  };
  dry_run: boolean;
}

/** Calls a JSON API of storage, signed as for S3. */
export async function signedJson<T>(
  key: Key,
  method: string,
  path: string,
  query: Record<string, string>,
  body?: unknown,
) {
  const text = body === undefined ? '' : JSON.stringify(body);
  // Use this page's host: it has the JSON APIs, and S3 may be on another host.
  const target = { method, endpoint: location.origin, path, query };
  const headers = await signHeaders(key, target, {}, await sha256Hex(new TextEncoder().encode(text)));
  const search = new URLSearchParams(query).toString();
  return callJson<T>(path + (search && `?${search}`), {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { rawBody: text }),
  });
}

const JOBS = '/v1/storage/jobs';

/** Lists up to 50 jobs of a bucket, newest first. */
export const listJobs = async (key: Key, bucket: string): Promise<ServerJob[]> =>
  (await signedJson<Page<ServerJob>>(key, 'GET', JOBS, { bucket, limit: '50' })).data;

export const createJob = (key: Key, request: JobRequest): Promise<ServerJob> =>
  signedJson(key, 'POST', JOBS, {}, request);

export const cancelJob = (key: Key, id: string): Promise<ServerJob> =>
  signedJson(key, 'POST', `${JOBS}/${id}/cancel`, {});

export const isOpen = ({ state }: ServerJob): boolean => state === 'waiting' || state === 'running';
