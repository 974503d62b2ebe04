/** `GET /v1/storage/stats`: objects, blobs and bytes, by shard and by location. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import { measureShard, sumStats } from '../maintenance/stats.ts';
import { contextOf, count, isWithin, json, OPERATOR } from './route.ts';

const shardStatsSchema = z.object({
  shard: count,
  objects: count,
  versions: count,
  deletion_markers: count,
  bytes_live: count,
  bytes_inline: count,
  inline_objects: count,
  bytes_packed: count,
  packed_objects: count,
  volumes: count,
  blobs: count,
  bytes_blobs: count,
  bytes_garbage: count,
  blobs_garbage: count,
  blobs_lost: count,
  copies_missing: count,
  uploads_open: count,
  parts: count,
  database_bytes: count,
  as_of: z.string().nullable(),
  scrub: z.object({ started_at: z.string().nullable(), finished_at: z.string().nullable() }),
});
const statsSchema = z
  .object({
    totals: shardStatsSchema.omit({ shard: true, scrub: true, as_of: true }),
    shards: z.array(shardStatsSchema),
    locations: z.array(z.object({ location: z.string(), blobs: count, bytes: count, missing: count })),
  })
  .openapi('StorageStats');

/** Maximum duration of a count. The next request continues an unfinished count of a large shard. */
const COUNTING_SECONDS_MAX = 10;

const statsRoute = createRoute({
  ...OPERATOR,
  method: 'get',
  path: '/v1/storage/stats',
  operationId: 'getStorageStats',
  summary: 'Count objects, blobs and bytes by shard and by location',
  responses: json(statsSchema, 'Counts and bytes'),
});

export function addStatsRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(statsRoute, async (c) => {
    const context = contextOf(c);
    const mayContinue = isWithin(COUNTING_SECONDS_MAX);
    const measured = await Promise.all(context.shards.map((_, shard) => measureShard(context, shard, mayContinue)));
    const shards = measured.map(({ stats }) => stats);
    const locations = (measured[0]?.locations ?? []).map(({ location }, i) => ({
      location,
      blobs: measured.reduce((sum, shard) => sum + (shard.locations[i]?.blobs ?? 0), 0),
      bytes: measured.reduce((sum, shard) => sum + (shard.locations[i]?.bytes ?? 0), 0),
      missing: measured.reduce((sum, shard) => sum + (shard.locations[i]?.missing ?? 0), 0),
    }));
    return c.json({ totals: sumStats(shards), shards, locations }, 200);
  });
}
