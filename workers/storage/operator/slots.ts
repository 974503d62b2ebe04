/** `POST /v1/storage/slots/move`: moves slots of a bucket to another shard. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { engineOf } from '../engine/index.ts';
import { moveSlot } from '../maintenance/move-slot.ts';
import { body, contextOf, count, json, OPERATOR } from './route.ts';

const moveRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/slots/move',
  operationId: 'moveStorageSlots',
  summary: 'Move slots of a bucket to another shard while it is in use',
  description:
    'One request moves about 30 slots, because the queries of an invocation are limited. If `finished` is false, send the same ' +
    'request again. It continues with the remaining slots.',
  request: body(
    z.strictObject({
      bucket: z.string(),
      to_shard: z.int().min(0),
      slots: z.array(z.int().min(0).max(255)).min(1).max(256),
    }),
  ),
  responses: {
    ...json(
      z.object({ moved: count, versions: count, bytes: count, finished: z.boolean() }),
      'Counts of moved slots, versions and bytes',
    ),
    ...problemResponses(404, 409, 503),
  },
});

/**
 * Maximum number of slots per request. D1 allows 1,000 queries per invocation, where a batch counts as one. A slot move takes about
 * 25, and more for many names.
 */
const QUERIES_MAX = 900;
const QUERIES_PER_SLOT = 30;
const QUERIES_PER_NAME = 0.1;

export function addSlotRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(moveRoute, async (c) => {
    const context = contextOf(c);
    const request = c.req.valid('json');
    const bucket = await engineOf(context).getBucket(request.bucket);
    if (!bucket.ok) {
      const isMissing = bucket.error.kind === 'no_such_bucket';
      return sendProblem(c, isMissing ? problem(404, 'no_such_bucket') : problem(503, 'unavailable'));
    }
    const report = { moved: 0, versions: 0, bytes: 0, finished: true };
    const { shards } = bucket.value.placement;
    let [queries, most] = [0, 0];
    for (const slot of new Set(request.slots)) {
      if (shards[slot] === request.to_shard) continue;
      if (queries + most > QUERIES_MAX) {
        report.finished = false;
        break;
      }
      const outcome = await moveSlot(context, bucket.value.bucketId, slot, request.to_shard);
      if (!outcome.ok && outcome.error.kind === 'unavailable')
        return sendProblem(c, problem(503, 'unavailable', `Slot ${slot} was not moved: ${outcome.error.reason}.`));
      if (!outcome.ok) return sendProblem(c, problem(409, outcome.error.kind, `Slot ${slot} was not moved.`));
      const spent = QUERIES_PER_SLOT + (outcome.moved.versions + outcome.moved.uploads) * QUERIES_PER_NAME;
      queries += spent;
      most = Math.max(most, spent);
      report.moved++;
      report.versions += outcome.moved.versions;
      report.bytes += outcome.moved.bytes;
    }
    const details = { to_shard: request.to_shard, moved: report.moved };
    await recordAudit(c, 'slot.move', { type: 'bucket', id: bucket.value.bucketId }, details);
    return c.json(report, 200);
  });
}
