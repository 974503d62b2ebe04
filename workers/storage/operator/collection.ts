/** `POST /v1/storage/gc`: garbage collection and packing on demand. Cron runs both by itself. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from '../maintenance/collect.ts';
import { walkOrphans } from '../maintenance/orphans.ts';
import { emptyPackReport, isPackingDue, packVolume } from '../maintenance/pack.ts';
import { isShardReady } from '../maintenance/shard-trust.ts';
import { body, contextOf, count, isWithin, json, maxSeconds, OPERATOR } from './route.ts';

const collectSchema = z
  .object({
    uploads_abandoned: count,
    uploads_cleaned: count,
    parts_removed: count,
    blobs_removed: count,
    bytes_removed: count,
    volumes_compacted: count,
    compacted_live_bytes: count,
    orphans_found: count,
    orphans_removed: count,
    objects_scanned: count,
    volumes_packed: count,
    objects_packed: count,
    bytes_packed: count,
    packing_overhead_bytes: count,
    /** Whether the collection is complete. False if the time limit was reached. */
    finished: z.boolean(),
  })
  .openapi('StorageGcReport');

// OpenAPI parses no body if the request has none. The handler therefore parses again, to get the defaults.
const requestSchema = z
  .strictObject({
    /** Whether to pack small objects even if packing is not due. */
    pack: z.boolean().default(false),
    max_seconds: maxSeconds.default(60),
  })
  .prefault({});

const collectRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/gc',
  operationId: 'collectStorageGarbage',
  summary: 'Reclaim storage that nothing refers to',
  request: body(requestSchema),
  responses: json(collectSchema, 'Counts of reclaimed and packed data'),
});

export function addCollectionRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(collectRoute, async (c) => {
    const report = await runCollection(contextOf(c), requestSchema.parse(c.req.valid('json')));
    const { blobs_removed, bytes_removed, orphans_removed, finished } = report;
    await recordAudit(c, 'storage.gc', SERVICE, { blobs_removed, bytes_removed, orphans_removed, finished });
    return c.json(report, 200);
  });
}

async function runCollection(
  context: EngineContext,
  request: z.infer<typeof requestSchema>,
): Promise<z.infer<typeof collectSchema>> {
  const isInTime = isWithin(request.max_seconds);
  const report = emptyCollectReport();
  const packed = emptyPackReport();
  for (let shard = 0; shard < context.shards.length; shard++) {
    // A shard that is not trusted is skipped, and its report stays empty. GET /v1/collectors gives the reason.
    if (!(await isShardReady(context, shard))) continue;
    while (isInTime() && (await collectUploads(context, shard, report)));
    while (isInTime() && (await collectBlobs(context, shard, report)));
    while (isInTime() && (request.pack || (await isPackingDue(context, shard)))) {
      if (!(await packVolume(context, shard, packed))) break;
    }
  }
  while (isInTime() && (await walkOrphans(context, report)));
  return {
    ...report,
    volumes_packed: packed.volumes,
    objects_packed: packed.objects,
    bytes_packed: packed.bytes,
    packing_overhead_bytes: packed.overhead_bytes,
    finished: isInTime(),
  };
}
