/**
 * `/v1/storage/buckets/{bucket}/take-down`: takes a bucket or one version of an object down, without its owner. The bytes
 * are kept, and the take-down can be lifted.
 *
 * A bucket that is taken down answers every S3 request with 451. A version that is taken down cannot be read or copied;
 * its owner can still delete it. In a bucket without versioning, the take-down stays with the name when it is overwritten.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { createEngine } from '../engine/index.ts';
import type { Bucket, Engine, StoredVersion } from '../engine/model/contract.ts';
import { NO_BUCKET, OPERATOR, UNAVAILABLE } from './route.ts';

const path = '/v1/storage/buckets/{bucket}/take-down' as const;
const params = z.object({ bucket: z.string().max(63) });
const OBJECT = {
  name: z.string().min(1).max(1024).optional().openapi({ description: 'An object; without it, the whole bucket' }),
  version_id: z.string().max(100).optional().openapi({ description: 'Default: the current version' }),
};
const stateSchema = z.object({ taken_down: z.boolean() }).openapi('TakeDown');

const BUCKET_ACTIONS = { takeDown: 'bucket.take_down', lift: 'bucket.restore' } as const;
const OBJECT_ACTIONS = { takeDown: 'object.take_down', lift: 'object.restore' } as const;

const NO_OBJECT = problem(404, 'no_such_object', 'The bucket has no such object or version.');

interface Target {
  readonly engine: Engine;
  readonly bucket: Bucket;
  /** The version to take down; null for the whole bucket. */
  readonly version: StoredVersion | null;
}

async function findTarget(
  c: Context<JsonApiEnv>,
  bucketName: string,
  { name, version_id }: { readonly name?: string | undefined; readonly version_id?: string | undefined },
): Promise<Result<Target, Problem>> {
  const engine = createEngine(c.env, createClock(c.env), c.executionCtx);
  const bucket = await engine.getBucket(bucketName);
  if (!bucket.ok) return err(bucket.error.kind === 'no_such_bucket' ? NO_BUCKET : UNAVAILABLE);
  if (name === undefined) return ok({ engine, bucket: bucket.value, version: null });
  const version = await engine.getVersion(bucket.value, name, { versionId: version_id });
  if (version.ok && !version.value.isMarker) return ok({ engine, bucket: bucket.value, version: version.value });
  return err(version.ok || version.error.kind !== 'unavailable' ? NO_OBJECT : UNAVAILABLE);
}

/** Takes a target down or lifts its take-down. @param reason reason of the take-down; null lifts it. */
async function setTakenDown(c: Context<JsonApiEnv>, target: Target, reason: string | null): Promise<Problem | null> {
  const { engine, bucket, version } = target;
  const at = new Date(createClock(c.env)()).toISOString();
  const document = reason === null ? null : JSON.stringify({ at });
  const done = await (version === null
    ? engine.setConfiguration(bucket, 'takeDown', document)
    : engine.setTakenDown(version, reason !== null));
  if (!done.ok) return UNAVAILABLE;
  const details = { object_id: version?.objectId, version_id: version?.versionId, reason: reason ?? undefined };
  const bucketTarget = { type: 'bucket', id: bucket.bucketId } as const;
  const actions = version === null ? BUCKET_ACTIONS : OBJECT_ACTIONS;
  await recordAudit(c, reason === null ? actions.lift : actions.takeDown, bucketTarget, details);
  return null;
}

export function addTakeDownRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'get',
      path,
      operationId: 'getTakeDown',
      summary: 'Read whether a bucket or an object is taken down',
      request: { params, query: z.strictObject(OBJECT) },
      responses: { 200: jsonContent(stateSchema, 'The state'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const target = await findTarget(c, c.req.valid('param').bucket, c.req.valid('query'));
      if (!target.ok) return sendProblem(c, target.error);
      const { bucket, version } = target.value;
      const isDown = version === null ? bucket.configuration.takeDown !== undefined : version.isTakenDown;
      return c.json({ taken_down: isDown }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'put',
      path,
      operationId: 'takeDown',
      summary: 'Take a bucket or a version of an object down; the bytes are kept',
      request: { params, ...jsonBody(z.strictObject({ ...OBJECT, reason: z.string().min(1).max(1_000) })) },
      responses: { 204: { description: 'Taken down' }, ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { reason, ...object } = c.req.valid('json');
      const target = await findTarget(c, c.req.valid('param').bucket, object);
      if (!target.ok) return sendProblem(c, target.error);
      const refusal = await setTakenDown(c, target.value, reason);
      return refusal ? sendProblem(c, refusal) : c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'delete',
      path,
      operationId: 'liftTakeDown',
      summary: 'Lift the take-down of a bucket or a version of an object',
      request: { params, query: z.strictObject(OBJECT) },
      responses: { 204: { description: 'Lifted' }, ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const target = await findTarget(c, c.req.valid('param').bucket, c.req.valid('query'));
      if (!target.ok) return sendProblem(c, target.error);
      const refusal = await setTakenDown(c, target.value, null);
      return refusal ? sendProblem(c, refusal) : c.body(null, 204);
    },
  );
}
