/** `/v1/storage/quotas/…`: storage limits of buckets and users. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { findS3User } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { getQuota, setQuota } from '../engine/actions/quotas.ts';
import { engineOf } from '../engine/index.ts';
import type { QuotaSubject } from '../engine/store/quota-store.ts';
import { contextOf, OPERATOR, UNAVAILABLE } from './route.ts';

const limit = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const limitsSchema = z
  .strictObject({ bytes: limit.optional(), objects: limit.optional() })
  .refine(({ bytes, objects }) => bytes !== undefined || objects !== undefined, {
    path: ['bytes'],
    message: 'required, unless objects is sent',
  });
const quotaSchema = z
  .object({
    bytes: limit
      .nullable()
      .openapi({ description: 'Of all versions and of the parts of open uploads; null: no limit' }),
    objects: limit.nullable().openapi({ description: 'Names whose current version is not a delete marker' }),
    used: z.object({ bytes: z.int(), objects: z.int() }),
  })
  .openapi('StorageQuota');

const NO_QUOTA = problem(404, 'no_such_quota', 'The bucket or user has no quota.');

type Find = (c: Context<JsonApiEnv>, id: string) => Promise<Result<QuotaSubject, Problem>>;

const findBucket: Find = async (c, name) => {
  const bucket = await engineOf(contextOf(c)).getBucket(name);
  if (bucket.ok) return ok({ kind: 'bucket', subject: bucket.value.bucketId });
  return err(
    bucket.error.kind === 'no_such_bucket' ? problem(404, 'no_such_bucket', 'Bucket not found.') : UNAVAILABLE,
  );
};

const findUser: Find = async (c, userId) =>
  (await findS3User(c.env, userId))
    ? ok({ kind: 'user', subject: userId })
    : err(problem(404, 'no_such_user', 'User not found.'));

async function answerQuota(c: Context<JsonApiEnv>, subject: QuotaSubject) {
  const quota = await getQuota(contextOf(c), subject);
  if (!quota.ok) return sendProblem(c, UNAVAILABLE);
  return quota.value ? c.json({ ...quota.value.limits, used: quota.value.used }, 200) : sendProblem(c, NO_QUOTA);
}

function addRoutes<Name extends 'bucket' | 'user_id'>(
  api: OpenAPIHono<JsonApiEnv>,
  {
    name,
    path,
    what,
    find,
  }: { readonly name: Name; readonly path: string; readonly what: 'Bucket' | 'User'; readonly find: Find },
): void {
  const params = z.object({ [name]: z.string().max(100) } as Record<Name, z.ZodString>);
  const of = `of a ${what.toLowerCase()}`;
  const idOf = (c: Context<JsonApiEnv>) => c.req.param(name) ?? '';
  const answers = { 200: jsonContent(quotaSchema, 'The quota'), ...problemResponses(400, 401, 403, 404, 503) };
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'get',
      path,
      operationId: `get${what}Quota`,
      summary: `Read the storage quota ${of}`,
      request: { params, query: z.strictObject({}) },
      responses: answers,
    }),
    async (c) => {
      const subject = await find(c, idOf(c));
      return subject.ok ? await answerQuota(c, subject.value) : sendProblem(c, subject.error);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'put',
      path,
      operationId: `set${what}Quota`,
      summary: `Set the storage quota ${of}`,
      description:
        'Replaces the quota. An upload that would exceed it is 403 `QuotaExceeded`. A limit below what is stored deletes nothing. ' +
        'The first time, everything stored is counted.',
      request: { params, ...jsonBody(limitsSchema) },
      responses: answers,
    }),
    async (c) => {
      const subject = await find(c, idOf(c));
      if (!subject.ok) return sendProblem(c, subject.error);
      const { bytes = null, objects = null } = c.req.valid('json');
      const done = await setQuota(contextOf(c), subject.value, { bytes, objects });
      if (!done.ok) return sendProblem(c, UNAVAILABLE);
      const details = { bytes: bytes ?? undefined, objects: objects ?? undefined };
      await recordAudit(c, 'quota.set', { type: subject.value.kind, id: subject.value.subject }, details);
      return await answerQuota(c, subject.value);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'delete',
      path,
      operationId: `delete${what}Quota`,
      summary: `Remove the storage quota ${of}`,
      request: { params, query: z.strictObject({}) },
      responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const subject = await find(c, idOf(c));
      if (!subject.ok) return sendProblem(c, subject.error);
      const done = await setQuota(contextOf(c), subject.value, null);
      if (!done.ok) return sendProblem(c, UNAVAILABLE);
      await recordAudit(c, 'quota.delete', { type: subject.value.kind, id: subject.value.subject });
      return c.body(null, 204);
    },
  );
}

export function addQuotaRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  addRoutes(api, { name: 'user_id', path: '/v1/storage/quotas/users/{user_id}', what: 'User', find: findUser });
  addRoutes(api, { name: 'bucket', path: '/v1/storage/quotas/buckets/{bucket}', what: 'Bucket', find: findBucket });
}
