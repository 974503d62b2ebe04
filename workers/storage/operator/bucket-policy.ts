/** `/v1/storage/buckets/{bucket}/policy`: an operator removes a bucket policy that locks its owner out. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { createEngine } from '../engine/index.ts';

const deletePolicyRoute = createRoute({
  tags: ['storage'],
  security: [{ bearer: [] }],
  method: 'delete',
  path: '/v1/storage/buckets/{bucket}/policy',
  operationId: 'deleteBucketPolicy',
  summary: "Delete a bucket's policy, even if it denies this to its owner",
  description:
    'Afterwards only the owner and callers that the ACL admits have access. If no policy is set, the answer is 204 too.',
  request: { params: z.object({ bucket: z.string() }) },
  responses: {
    204: { description: 'The bucket no longer has a policy.' },
    ...problemResponses(401, 403, 404, 503),
  },
});

/** Adds the route that removes a bucket policy. `createStorageApi` admits operators only. */
export function addBucketPolicyRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(deletePolicyRoute, async (c) => {
    const engine = createEngine(c.env, createClock(c.env), c.executionCtx);
    const bucket = await engine.getBucket(c.req.valid('param').bucket);
    const removed = bucket.ok ? await engine.setConfiguration(bucket.value, 'policy', null) : bucket;
    if (!removed.ok) {
      const isMissing = removed.error.kind === 'no_such_bucket';
      return sendProblem(
        c,
        isMissing ? problem(404, 'no_such_bucket', 'Bucket not found.') : problem(503, 'unavailable'),
      );
    }
    if (bucket.ok) await recordAudit(c, 'bucket_policy.delete', { type: 'bucket', id: bucket.value.bucketId });
    return c.body(null, 204);
  });
}
