/** `/v1/storage/jobs`: jobs that work over a whole bucket or a prefix, for users with their own rights and for operators. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { v7 as mintTimeOrderedId } from 'uuid';
import { authorizeFirst, type MasterKeys, sealSecret } from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { COUNTED, JOB_KINDS, JOB_STATES, type JobCursor, type JobOrder, type PullOrder } from '../domain/jobs.ts';
import { toPullContext } from '../domain/pulls.ts';
import { engineOf } from '../engine/index.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Bucket } from '../engine/model/contract.ts';
import { cancelJob, findJob, insertJob, type Job, listJobs } from '../engine/store/job-store.ts';
import { mayList, rightsOf } from '../maintenance/job-rights.ts';
import { isTakenDown } from '../s3/access/bucket-configuration.ts';
import { type JobCaller, requireJobCaller } from './job-caller.ts';
import { contextOf, count, NO_BUCKET, UNAVAILABLE } from './route.ts';

const ROUTE = { tags: ['storage'], security: [{ bearer: [] }], middleware: authorizeFirst(requireJobCaller) };

const bucketName = z.string().min(3).max(63);
const prefixText = z.string().max(1024);

const sourceSchema = z.strictObject({
  endpoint: z.url().max(1_000).openapi({ description: 'Base URL of the server: `https://…`, a public name' }),
  bucket: z.string().min(1).max(255),
  prefix: prefixText.default('').openapi({ description: 'Keys that begin with it. `prefix` of the job replaces it' }),
  region: z.string().min(1).max(64).default('us-east-1'),
  access_key_id: z.string().min(1).max(256),
  secret_access_key: z.string().min(1).max(1_024).openapi({ description: 'Kept encrypted until the job ends' }),
});
const rateSchema = z.strictObject({
  bytes_per_second: z.int().min(1_000).optional(),
  requests_per_second: z.int().min(1).max(10_000).optional(),
});

const requestSchema = z
  .strictObject({
    kind: z.enum(JOB_KINDS).openapi({
      description:
        '`empty`: remove all versions, delete markers and open uploads. `delete`: delete objects, as S3 does by name. ' +
        '`restore`: make objects what they were at a time. `copy`: copy current objects to another prefix or bucket. ' +
        '`count`: count objects, versions and bytes. `pull`: pull versions from a bucket of another S3 server.',
    }),
    bucket: bucketName,
    prefix: prefixText.default('').openapi({ description: 'Names that begin with it; empty: the whole bucket' }),
    at: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Of `restore`: the time' }),
    target: z.strictObject({ bucket: bucketName, prefix: prefixText }).optional().openapi({
      description: 'Of `copy`: where the copies go. Its prefix replaces that of the names',
    }),
    source: sourceSchema.optional().openapi({ description: 'Of `pull`: the bucket to pull from' }),
    rate: rateSchema.optional().openapi({ description: 'Of `pull`: limits of its speed' }),
    dry_run: z.boolean().default(false).openapi({ description: 'Change nothing, and report what would be changed' }),
  })
  .refine(({ kind, at }) => (kind === 'restore') === (at !== undefined), {
    path: ['at'],
    message: 'required for the kind "restore", and must not be sent for others',
  })
  .refine(({ kind, target }) => (kind === 'copy') === (target !== undefined), {
    path: ['target'],
    message: 'required for the kind "copy", and must not be sent for others',
  })
  .refine(({ kind, source }) => (kind === 'pull') === (source !== undefined), {
    path: ['source'],
    message: 'required for the kind "pull", and must not be sent for others',
  })
  .refine(({ kind, rate }) => kind === 'pull' || rate === undefined, {
    path: ['rate'],
    message: 'must not be sent for kinds other than "pull"',
  });

const jobSchema = z
  .object({
    job_id: z.string(),
    kind: z.enum(JOB_KINDS),
    bucket: z.string().nullable().openapi({ description: 'Null if the bucket was deleted' }),
    prefix: z.string(),
    at: z.string().nullable(),
    target: z.object({ bucket: z.string().nullable(), prefix: z.string() }).nullable().openapi({
      description:
        'Where the copies go. Null for other kinds of jobs, and for a caller who neither started the job nor owns the target',
    }),
    source: z.object({ endpoint: z.string(), bucket: z.string(), prefix: z.string() }).nullable().openapi({
      description: 'Source of a pull. Null for other kinds of jobs, and for a caller who did not start the job',
    }),
    dry_run: z.boolean(),
    state: z.enum(JOB_STATES),
    error: z
      .string()
      .nullable()
      .openapi({
        description:
          'Reason of a job that failed: `credential_revoked` (the key, token or session that started it ended), ' +
          '`user_suspended`, `access_denied`, `no_such_bucket`, `taken_down`, `quota_exceeded`, `directory_rebuilt`. Of a pull: ' +
          '`source_denied`, `source_not_found`, `source_refused`, `source_unavailable`, `secret_unreadable`',
      }),
    created_at: z.string(),
    ended_at: z.string().nullable(),
    position: z.string().nullable().openapi({ description: 'The name at which it continues, in the order of names' }),
    counts: z.object(
      Object.fromEntries(COUNTED.map((name) => [name, count])) as Record<(typeof COUNTED)[number], typeof count>,
    ),
    changes: z
      .array(z.object({ key: z.string(), action: z.string(), version_id: z.string().optional() }))
      .openapi({ description: 'Of a dry run: the first 20 changes' }),
    obstacles: z.array(z.object({ key: z.string(), reason: z.string(), version_id: z.string().optional() })).openapi({
      description: 'The first 20 objects that stay as they are, and why. Of a pull: the first 100 differences',
    }),
  })
  .openapi('StorageJob');

const toTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Whether a caller may know the target of a copy: whoever started the job, the target's owner, or an operator. */
const maySeeTarget = ({ user }: JobCaller, { userId, targetOwnerId }: Job): boolean =>
  user === null || user.userId === userId || user.userId === targetOwnerId;

const sourceOf = ({ source: { endpoint, bucket, prefix } }: PullOrder) => ({ endpoint, bucket, prefix });

const positionOf = (cursor: JobCursor | null): string | null =>
  cursor?.phase === 'names' ? cursor.from : cursor?.phase === 'pull' ? cursor.after : null;

function toJson(job: Job, caller: JobCaller): z.infer<typeof jobSchema> {
  const { order, report, cursor } = job;
  const hasTarget = order.kind === 'copy' && maySeeTarget(caller, job);
  return {
    job_id: job.jobId,
    kind: order.kind,
    bucket: job.bucket,
    prefix: order.prefix,
    at: order.kind === 'restore' ? toTime(order.atMs) : null,
    source:
      order.kind === 'pull' && (caller.user === null || caller.user.userId === job.userId) ? sourceOf(order) : null,
    target: hasTarget ? { bucket: job.target, prefix: order.targetPrefix } : null,
    dry_run: job.isDryRun,
    state: job.state,
    error: job.error,
    created_at: toTime(job.createdAt) ?? '',
    ended_at: toTime(job.endedAt),
    position: positionOf(cursor),
    counts: Object.fromEntries(COUNTED.map((name) => [name, report.counts[name] ?? 0])) as Record<
      (typeof COUNTED)[number],
      number
    >,
    changes: [...report.changes],
    obstacles: [...report.obstacles],
  };
}

const REFUSED_SOURCE = problem(
  400,
  'source_refused',
  'The endpoint must be a public name over https, at port 443 or 8443.',
);
const NO_JOB = problem(404, 'no_such_job', 'Job not found.');
const DENIED = problem(403, 'access_denied', 'You may not list this bucket.');

/** Finds a bucket by name if the caller may list it. */
async function findBucket(
  context: EngineContext,
  { user, origin }: JobCaller,
  { name, prefix, isByName }: { readonly name: string; readonly prefix: string; readonly isByName: boolean },
): Promise<Result<Bucket, Problem>> {
  const bucket = await engineOf(context).getBucket(name);
  if (!bucket.ok) return err(bucket.error.kind === 'no_such_bucket' ? NO_BUCKET : UNAVAILABLE);
  if (isTakenDown(bucket.value)) return err(problem(409, 'taken_down', 'The operator has taken the bucket down.'));
  const rights = rightsOf(user, origin, prefix, context.now());
  return mayList(rights, bucket.value, isByName ? 'ListBucket' : 'ListBucketVersions') ? bucket : err(DENIED);
}

async function toOrder(
  context: EngineContext,
  { caller, jobId, keys }: { readonly caller: JobCaller; readonly jobId: string; readonly keys: MasterKeys },
  { kind, prefix, at, target, source, rate }: z.infer<typeof requestSchema>,
): Promise<Result<JobOrder, Problem>> {
  if (kind === 'restore') return ok({ kind, prefix, atMs: Date.parse(at ?? '') });
  if (kind === 'pull') {
    if (source === undefined) throw new Error('a pull has no source');
    const { access_key_id: accessKeyId, secret_access_key: secret, ...address } = source;
    if (!context.pulls.mayCall(source.endpoint)) return err(REFUSED_SOURCE);
    const sealed = sealSecret(secret, toPullContext(jobId), keys);
    const limits = {
      bytesPerSecond: rate?.bytes_per_second ?? null,
      requestsPerSecond: rate?.requests_per_second ?? null,
    };
    return ok({ kind, prefix, source: { ...address, accessKeyId }, rate: limits, sealed });
  }
  if (kind !== 'copy') return ok({ kind, prefix });
  const named = { name: target?.bucket ?? '', prefix: target?.prefix ?? '', isByName: true };
  const bucket = await findBucket(context, caller, named);
  return bucket.ok ? ok({ kind, prefix, targetId: bucket.value.bucketId, targetPrefix: named.prefix }) : bucket;
}

const params = z.object({ job_id: z.string().max(100) });

async function findVisible(c: Context<JsonApiEnv>): Promise<Result<{ job: Job; caller: JobCaller }, Problem>> {
  const caller = await requireJobCaller(c);
  if (!caller.ok) return caller;
  const job = await findJob(contextOf(c), c.req.param('job_id') ?? '', caller.value.user?.userId ?? null);
  return job ? ok({ job, caller: caller.value }) : err(NO_JOB);
}

const createJobRoute = createRoute({
  ...ROUTE,
  method: 'post',
  path: '/v1/storage/jobs',
  operationId: 'createStorageJob',
  summary: 'Start a job over a bucket or a prefix',
  description:
    'The job runs in the background with the rights that you have at each step. It leaves alone what was written after it ' +
    'began, what Object Lock keeps, and what you may not change; `counts` and `obstacles` say so. `restore` needs a bucket ' +
    'that keeps versions: names that did not exist at the time get delete markers, and no bytes are copied.',
  request: jsonBody(requestSchema),
  responses: { 202: jsonContent(jobSchema, 'The job'), ...problemResponses(400, 401, 403, 404, 409, 503) },
});

export function addJobRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(createJobRoute, async (c) => {
    const caller = await requireJobCaller(c);
    if (!caller.ok) return sendProblem(c, caller.error);
    const { user, credential, origin } = caller.value;
    const body = c.req.valid('json');
    const context = contextOf(c);
    const isByName = body.kind === 'delete' || body.kind === 'copy';
    const bucket = await findBucket(context, caller.value, { name: body.bucket, prefix: body.prefix, isByName });
    if (!bucket.ok) return sendProblem(c, bucket.error);
    const { bucketId, versioning } = bucket.value;
    if (body.kind === 'restore' && versioning === 'never') {
      return sendProblem(c, problem(409, 'not_versioned', 'The bucket has never kept versions.'));
    }
    const jobId = mintTimeOrderedId();
    const order = await toOrder(context, { caller: caller.value, jobId, keys: c.env }, body);
    if (!order.ok) return sendProblem(c, order.error);
    const details = { job_id: jobId, kind: body.kind, dry_run: body.dry_run, at: body.at };
    const request = { order: order.value, isDryRun: body.dry_run, scopes: user?.scopes ?? null, credential, origin };
    const audit = toAuditRow(c, 'storage_job.start', { type: 'bucket', id: bucketId }, details);
    const isAdded = await insertJob(context, { ...request, jobId, bucketId, userId: user?.userId ?? null }, audit);
    if (!isAdded) return sendProblem(c, problem(409, 'too_many_jobs', 'Wait until one of your jobs has ended.'));
    const { tasks } = context;
    if (tasks) context.waitUntil(tasks.send({ kind: 'job', shard: 0, job_id: jobId }).catch(() => {}));
    const job = await findJob(context, jobId, null);
    return job ? c.json(toJson(job, caller.value), 202) : sendProblem(c, UNAVAILABLE);
  });
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'get',
      path: '/v1/storage/jobs',
      operationId: 'listStorageJobs',
      summary: 'List your jobs and those of your buckets, the newest first; an operator sees all',
      request: { query: pageQuerySchema.extend({ bucket: bucketName.optional() }) },
      responses: {
        200: jsonContent(pageSchema(jobSchema), 'A page of jobs'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const caller = await requireJobCaller(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { bucket: name, ...page } = c.req.valid('query');
      const context = contextOf(c);
      const bucket = name === undefined ? null : await engineOf(context).getBucket(name);
      if (bucket && !bucket.ok) return sendProblem(c, bucket.error.kind === 'no_such_bucket' ? NO_BUCKET : UNAVAILABLE);
      const query = { userId: caller.value.user?.userId ?? null, bucketId: bucket?.value.bucketId ?? null };
      return sendPage(c, page, {
        read: (before, limit) => listJobs(context, { ...query, before, limit }),
        keyOf: (job) => job.jobId,
        toItem: (job) => toJson(job, caller.value),
      });
    },
  );
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'get',
      path: '/v1/storage/jobs/{job_id}',
      operationId: 'getStorageJob',
      summary: 'Read the progress of a job',
      description: 'Jobs can be read for 30 days after their end.',
      request: { params },
      responses: { 200: jsonContent(jobSchema, 'The job'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const found = await findVisible(c);
      return found.ok ? c.json(toJson(found.value.job, found.value.caller), 200) : sendProblem(c, found.error);
    },
  );
  api.openapi(
    createRoute({
      ...ROUTE,
      method: 'post',
      path: '/v1/storage/jobs/{job_id}/cancel',
      operationId: 'cancelStorageJob',
      summary: 'Cancel a job; what it has done stays',
      description: 'A step that is under way ends first: it may change up to 200 more objects.',
      request: { params },
      responses: { 200: jsonContent(jobSchema, 'The job'), ...problemResponses(400, 401, 403, 404, 409) },
    }),
    async (c) => {
      const found = await findVisible(c);
      if (!found.ok) return sendProblem(c, found.error);
      const { jobId, bucketId, order } = found.value.job;
      const details = { job_id: jobId, kind: order.kind };
      const audit = toAuditRow(c, 'storage_job.cancel', { type: 'bucket', id: bucketId }, details);
      const context = contextOf(c);
      if (!(await cancelJob(context, jobId, audit))) {
        return sendProblem(c, problem(409, 'job_ended', 'The job has already ended.'));
      }
      const job = await findJob(context, jobId, null);
      return job ? c.json(toJson(job, found.value.caller), 200) : sendProblem(c, NO_JOB);
    },
  );
}
