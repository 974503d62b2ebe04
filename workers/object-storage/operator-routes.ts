/** `/v1/storage/…`: what an operator may see and start. Each answer is a report of what was looked at, found and done. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { requireOperator } from '../identity/index.ts';
import { createClock } from '../shared/clock.ts';
import { createJsonApi, type JsonApiEnv, problemResponses, sendProblem } from '../shared/json-api.ts';
import { problem } from '../shared/problem.ts';
import { addBucketPolicyRoute } from './bucket-policy-routes.ts';
import { createEngineContext, engineOf } from './engine/index.ts';
import type { EngineContext } from './engine/model/context.ts';
import { collectBlobs, collectUploads, emptyCollectReport } from './maintenance/collect.ts';
import { rebuildDirectory, snapshotDirectory } from './maintenance/directory-snapshot.ts';
import { checkStorage } from './maintenance/fsck.ts';
import { emptyFsckReport } from './maintenance/fsck-report.ts';
import { moveSlot } from './maintenance/move-slot.ts';
import { walkOrphans } from './maintenance/orphans.ts';
import { emptyPackReport, isPackingDue, packVolume } from './maintenance/pack.ts';
import { rebuildShard } from './maintenance/rebuild.ts';
import { emptyScrubReport, scrubStep } from './maintenance/scrub.ts';
import { isShardTrusted } from './maintenance/shard-trust.ts';
import { snapshotShard } from './maintenance/snapshot.ts';
import { SnapshotRefused } from './maintenance/snapshot-refused.ts';
import { measureShard } from './maintenance/stats.ts';

const json = <T extends z.ZodType>(schema: T, description: string) => ({
  200: { description, content: { 'application/json': { schema } } },
  ...problemResponses(400, 401, 403, 500),
});
const body = <T extends z.ZodType>(schema: T) => ({ body: { content: { 'application/json': { schema } } } });

const count = z.int();
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
    locations: z.array(z.object({ location: z.string(), blobs: count, bytes: count })),
  })
  .openapi('StorageStats');

const collectSchema = z
  .object({
    ...Object.fromEntries(Object.keys(emptyCollectReport()).map((name) => [name, count])),
    volumes_packed: count,
    objects_packed: count,
    bytes_packed: count,
    packing_overhead_bytes: count,
    /** False when the time ran out before everything was looked at. */
    finished: z.boolean(),
  })
  .openapi('StorageGcReport');

const scrubSchema = z
  .object({
    blobs: count,
    copies: count,
    bytes: count,
    bad_copies: count,
    missing_copies: count,
    unreachable_copies: count,
    repaired_copies: count,
    lost_blobs: count,
    inline_objects: count,
    inline_damaged: count,
    lost_versions: z.array(z.object({ bucket: z.string(), name: z.string(), object_id: z.string() })),
    finished: z.boolean(),
  })
  .openapi('StorageScrubReport');

const fsckSchema = z
  .object({
    ...Object.fromEntries(
      Object.keys(emptyFsckReport(true))
        .filter((name) => name !== 'dry_run' && name !== 'examples')
        .map((name) => [name, count]),
    ),
    dry_run: z.boolean(),
    examples: z.array(z.string()),
    /** False when the time ran out: the next call goes on, unless it says \`restart\`. */
    finished: z.boolean(),
  })
  .openapi('StorageFsckReport');

// A request without a body is not parsed by its route, so the handlers parse again: that is where the defaults come from.
const gcRequestSchema = z
  .strictObject({
    /** Also packs what waits, however little it is. */
    pack: z.boolean().default(false),
    max_seconds: z.int().min(1).max(300).default(60),
  })
  .prefault({});
const scrubRequestSchema = z
  .strictObject({
    /** From the first blob again, instead of going on with the cycle. */
    restart: z.boolean().default(true),
    max_bytes: z
      .int()
      .min(1)
      .default(16 * 1024 ** 3),
    max_seconds: z.int().min(1).max(300).default(60),
  })
  .prefault({});
const fsckRequestSchema = z
  .strictObject({
    dry_run: z.boolean().default(true),
    /** From the first row again, instead of going on where the time ran out. */
    restart: z.boolean().default(true),
    max_seconds: z.int().min(1).max(300).default(300),
  })
  .prefault({});
/** A count of a large shard goes on with the next request. */
const STATS_MS = 10_000;

const OPERATOR = { tags: ['storage'], security: [{ bearer: [] }] };

const contextOf = (c: Context<JsonApiEnv>): EngineContext =>
  createEngineContext(c.env, createClock(c.env), c.executionCtx);

const statsRoute = createRoute({
  ...OPERATOR,
  method: 'get',
  path: '/v1/storage/stats',
  operationId: 'getStorageStats',
  summary: 'What is stored, by shard and by location',
  responses: json(statsSchema, 'Counts and bytes'),
});
const gcRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/gc',
  operationId: 'collectStorageGarbage',
  summary: 'Reclaim what nothing names any more',
  request: body(gcRequestSchema),
  responses: json(collectSchema, 'What was reclaimed'),
});
const scrubRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/scrub',
  operationId: 'scrubStorage',
  summary: 'Read every copy again and repair',
  request: body(scrubRequestSchema),
  responses: json(scrubSchema, 'What was read and repaired'),
});
const fsckRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/fsck',
  operationId: 'checkStorage',
  summary: 'Compare the databases with themselves and with the locations',
  request: body(fsckRequestSchema),
  responses: json(fsckSchema, 'What does not fit'),
});
const snapshotRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/snapshot',
  operationId: 'snapshotStorage',
  summary: 'Write the metadata of every shard and of DIRECTORY to the locations',
  responses: {
    ...json(
      z.object({ shards: z.array(z.record(z.string(), z.unknown())), directory: z.record(z.string(), z.unknown()) }),
      'What was written',
    ),
    ...problemResponses(409),
  },
});

const moveRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/slots/move',
  operationId: 'moveStorageSlots',
  summary: 'Move slots of a bucket to another database, while it is in use',
  request: body(
    z.strictObject({
      bucket: z.string(),
      to_shard: z.int().min(0),
      slots: z.array(z.int().min(0).max(255)).min(1).max(256),
    }),
  ),
  responses: {
    ...json(z.object({ moved: z.int(), versions: z.int(), bytes: z.int() }), 'What was moved'),
    ...problemResponses(404, 409, 503),
  },
});

const rebuildRequestSchema = z.strictObject({
  shard: z.int().min(0),
  /** From the snapshot again, instead of going on where the time ran out. */
  restart: z.boolean().default(false),
  /** An invocation of a Worker may make 10,000 calls: at some milliseconds each they are made in a minute. */
  max_seconds: z.int().min(1).max(300).default(20),
});

const rebuildRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/rebuild',
  operationId: 'rebuildStorageShard',
  summary: 'Put an empty database together again from its snapshot and the blobs',
  request: body(rebuildRequestSchema),
  responses: {
    ...json(
      z.object({
        snapshot: z.string().nullable(),
        rows_restored: count,
        changes_replayed: count,
        journal_until: z.string().nullable(),
        blobs_looked_at: count,
        versions_recovered: count,
        volumes_recovered: count,
        versions_incomplete: count,
        finished: z.boolean(),
      }),
      'What was found so far',
    ),
    ...problemResponses(404, 409),
  },
});

const rebuildDirectoryRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/directory/rebuild',
  operationId: 'rebuildDirectory',
  summary: 'Fill an empty DIRECTORY from its newest snapshot and from what the shards know',
  responses: {
    ...json(
      z.object({ snapshot: z.string().nullable(), rows_restored: count, buckets_recovered: count }),
      'What was found',
    ),
    ...problemResponses(409),
  },
});

export function createStorageApi(): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi();
  api.use('/v1/storage/*', async (c, next) => {
    const caller = await requireOperator(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  });
  addBucketPolicyRoute(api);
  api.openapi(statsRoute, async (c) => {
    const context = contextOf(c);
    const deadline = Date.now() + STATS_MS;
    const measured = await Promise.all(
      context.shards.map((_, shard) => measureShard(context, shard, () => Date.now() < deadline)),
    );
    const shards = measured.map(({ stats }) => stats);
    const names = Object.keys(statsSchema.shape.totals.shape) as (keyof z.infer<typeof statsSchema>['totals'])[];
    const totals = Object.fromEntries(
      names.map((name) => [name, shards.reduce((sum, shard) => sum + shard[name], 0)]),
    ) as z.infer<typeof statsSchema>['totals'];
    const locations = (measured[0]?.locations ?? []).map(({ location }, i) => ({
      location,
      blobs: measured.reduce((sum, shard) => sum + (shard.locations[i]?.blobs ?? 0), 0),
      bytes: measured.reduce((sum, shard) => sum + (shard.locations[i]?.bytes ?? 0), 0),
    }));
    return c.json({ totals, shards, locations }, 200);
  });
  api.openapi(gcRoute, async (c) =>
    c.json(await runCollection(contextOf(c), gcRequestSchema.parse(c.req.valid('json'))), 200),
  );
  api.openapi(scrubRoute, async (c) =>
    c.json(await runScrub(contextOf(c), scrubRequestSchema.parse(c.req.valid('json'))), 200),
  );
  api.openapi(fsckRoute, async (c) => {
    const context = contextOf(c);
    const request = fsckRequestSchema.parse(c.req.valid('json'));
    const deadline = Date.now() + request.max_seconds * 1000;
    const { report, isDone } = await checkStorage(context, {
      isDryRun: request.dry_run,
      restart: request.restart,
      mayGoOn: () => Date.now() < deadline,
    });
    return c.json({ ...report, finished: isDone } as unknown as z.infer<typeof fsckSchema>, 200);
  });
  api.openapi(snapshotRoute, async (c) => {
    const context = contextOf(c);
    const shards: Record<string, unknown>[] = [];
    try {
      for (let shard = 0; shard < context.shards.length; shard++)
        shards.push({ ...(await snapshotShard(context, shard)) });
      return c.json({ shards, directory: { ...(await snapshotDirectory(context)) } }, 200);
    } catch (error) {
      if (!(error instanceof SnapshotRefused)) throw error;
      return sendProblem(c, problem(409, 'snapshot_refused', `No snapshot was written: ${error.message}.`)) as never;
    }
  });
  api.openapi(moveRoute, async (c) => {
    const context = contextOf(c);
    const request = c.req.valid('json');
    const bucket = await engineOf(context).getBucket(request.bucket);
    if (!bucket.ok) {
      const isMissing = bucket.error.kind === 'no_such_bucket';
      return sendProblem(c, isMissing ? problem(404, 'no_such_bucket') : problem(503, 'unavailable'));
    }
    const report = { moved: 0, versions: 0, bytes: 0 };
    for (const slot of request.slots) {
      const outcome = await moveSlot(context, bucket.value.bucketId, slot, request.to_shard);
      if (!outcome.ok) return sendProblem(c, problem(409, outcome.error.kind, `Slot ${slot} was not moved.`));
      report.moved++;
      report.versions += outcome.moved.versions;
      report.bytes += outcome.moved.bytes;
    }
    return c.json(report, 200);
  });
  api.openapi(rebuildRoute, async (c) => {
    const context = contextOf(c);
    const { shard, restart, max_seconds: seconds } = c.req.valid('json');
    if (shard >= context.shards.length) return sendProblem(c, problem(404, 'no_such_shard'));
    const deadline = Date.now() + seconds * 1000;
    const outcome = await rebuildShard(context, shard, { restart, mayGoOn: () => Date.now() < deadline });
    if (outcome.ok) return c.json({ ...outcome.report, finished: outcome.isDone }, 200);
    const isEmpty = outcome.error.kind === 'under_way';
    const detail = isEmpty ? 'Another request is at it.' : 'Only an empty database is rebuilt.';
    return sendProblem(c, problem(409, outcome.error.kind, detail));
  });
  api.openapi(rebuildDirectoryRoute, async (c) => {
    const outcome = await rebuildDirectory(contextOf(c));
    if (outcome.ok) return c.json(outcome.report, 200);
    return sendProblem(c, problem(409, outcome.error.kind, 'Only an empty DIRECTORY is rebuilt.')) as never;
  });
  return api;
}

async function runCollection(
  context: EngineContext,
  request: z.infer<typeof gcRequestSchema>,
): Promise<z.infer<typeof collectSchema>> {
  const deadline = Date.now() + request.max_seconds * 1000;
  const isInTime = () => Date.now() < deadline;
  const report = emptyCollectReport();
  const packed = emptyPackReport();
  for (let shard = 0; shard < context.shards.length; shard++) {
    // The report of an untrusted shard stays empty, and GET /v1/collectors says why.
    if (!(await isShardTrusted(context, shard))) continue;
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
  } as unknown as z.infer<typeof collectSchema>;
}

async function runScrub(
  context: EngineContext,
  request: z.infer<typeof scrubRequestSchema>,
): Promise<z.infer<typeof scrubSchema>> {
  const deadline = Date.now() + request.max_seconds * 1000;
  const report = emptyScrubReport();
  let isFinished = true;
  for (let shard = 0; shard < context.shards.length; shard++) {
    let restart = request.restart;
    for (;;) {
      if (Date.now() >= deadline || report.bytes >= request.max_bytes) {
        isFinished = false;
        break;
      }
      const step = Math.min(256 * 1024 ** 2, request.max_bytes - report.bytes);
      if (!(await scrubStep(context, shard, step, report, { restart }))) break;
      restart = false;
    }
  }
  return { ...report, finished: isFinished };
}
