/** `GET /v1/storage/usage`: the use of a bucket, or of all buckets of a user. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { shardsOf } from '../domain/slots.ts';
import { engineOf } from '../engine/index.ts';
import type { EngineContext } from '../engine/model/context.ts';
import type { Bucket, CommonError } from '../engine/model/contract.ts';
import { addUsage, measureBucket, NO_USAGE, type Usage } from '../engine/store/usage-store.ts';
import { contextOf, count, json, OPERATOR } from './route.ts';

const usageSchema = z.object({ bytes: count, objects: count, versions: count, uploads: count }).openapi('StorageUsage');

const usageRoute = createRoute({
  ...OPERATOR,
  method: 'get',
  path: '/v1/storage/usage',
  operationId: 'getStorageUsage',
  summary: 'Count what a bucket, or all buckets of a user, have stored',
  description:
    'Counts every version, so it takes about a second for 100,000 of them. Changes during the count may or may not be in it. ' +
    '`bytes` includes old versions and the parts of open uploads; `versions` leaves out delete markers.',
  request: {
    query: z
      .strictObject({ bucket: z.string().max(63).optional(), user_id: z.string().max(100).optional() })
      .refine(({ bucket, user_id }) => (bucket === undefined) !== (user_id === undefined), {
        path: ['bucket'],
        message: 'must be sent without user_id; one of both is required',
      }),
  },
  responses: { ...json(usageSchema, 'Counts and bytes'), ...problemResponses(404, 503) },
});

const BUCKETS_PER_PAGE = 100;

export function addUsageRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(usageRoute, async (c) => {
    const { bucket, user_id } = c.req.valid('query');
    const context = contextOf(c);
    const usage =
      bucket === undefined ? await measureUser(context, user_id ?? '') : await measureNamed(context, bucket);
    if (usage.ok) return c.json(usage.value, 200);
    const isMissing = usage.error.kind === 'no_such_bucket';
    return sendProblem(
      c,
      isMissing ? problem(404, 'no_such_bucket', 'Bucket not found.') : problem(503, 'unavailable'),
    );
  });
}

async function measureNamed(context: EngineContext, name: string): Promise<Result<Usage, CommonError>> {
  const bucket = await engineOf(context).getBucket(name);
  return bucket.ok ? measure(context, bucket.value) : bucket;
}

/** Adds up the use of all buckets of a user. An unknown user, or one without buckets, has a use of zero. */
async function measureUser(context: EngineContext, ownerId: string): Promise<Result<Usage, CommonError>> {
  let usage = NO_USAGE;
  let after: string | undefined;
  for (;;) {
    const page = await engineOf(context).listBuckets({
      ownerId,
      limit: BUCKETS_PER_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    if (!page.ok) return page;
    for (const bucket of page.value.buckets) {
      const measured = await measure(context, bucket);
      if (!measured.ok) return measured;
      usage = addUsage(usage, measured.value);
      after = bucket.name;
    }
    if (!page.value.isTruncated) return ok(usage);
  }
}

async function measure(context: EngineContext, { bucketId, placement }: Bucket): Promise<Result<Usage, CommonError>> {
  let usage = NO_USAGE;
  const shards = shardsOf(placement.shards);
  for (const measured of await Promise.all(shards.map((shard) => measureBucket(context, shard, bucketId)))) {
    if (!measured.ok) return err(measured.error);
    usage = addUsage(usage, measured.value);
  }
  return ok(usage);
}
