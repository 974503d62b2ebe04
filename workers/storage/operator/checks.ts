/** `POST /v1/storage/scrub` and `POST /v1/storage/fsck`: checks of all stored copies and of the databases. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import type { JsonApiEnv } from '../../shared/json/json-api.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { checkStorage } from '../maintenance/fsck.ts';
import { scrubStep } from '../maintenance/scrub.ts';
import { emptyScrubReport } from '../maintenance/scrub-report.ts';
import { body, contextOf, count, isWithin, json, maxSeconds, OPERATOR } from './route.ts';

const STEP_BYTES_MAX = 256 * 1024 ** 2;

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
    packed_objects: count,
    packed_damaged: count,
    repaired_objects: count.openapi({
      description: 'Damaged small objects that were repaired from a journal page or a snapshot',
    }),
    lost_versions: z.array(z.object({ bucket: z.string(), name: z.string(), object_id: z.string() })),
    finished: z.boolean(),
  })
  .openapi('StorageScrubReport');

const fsckSchema = z
  .object({
    versions_checked: count,
    blobs_checked: count,
    objects_checked: count,
    versions_incomplete: count,
    versions_damaged: count.openapi({
      description: 'Small objects without an intact copy, as reads, packing and scrub found them',
    }),
    extents_dangling: count,
    extents_without_blob: count,
    blobs_unreferenced: count,
    quotas_wrong: count,
    copies_missing: count,
    copies_due: count.openapi({ description: 'Missing copies that the background work is going to make' }),
    copies_of_wrong_size: count,
    orphans: count,
    orphan_bytes: count,
    foreign_objects: count,
    repaired: count,
    dry_run: z.boolean(),
    examples: z.array(z.string()),
    /**
     * Whether the check is complete. False if the time limit was reached; the next call then continues, unless it sets `restart`.
     */
    finished: z.boolean(),
  })
  .openapi('StorageFsckReport');

// OpenAPI parses no body if the request has none. The handlers therefore parse again, to get the defaults.
const scrubRequestSchema = z
  .strictObject({
    /** Whether scrub starts again at the first blob instead of continuing its cycle. */
    restart: z.boolean().default(true),
    max_bytes: z
      .int()
      .min(1)
      .default(16 * 1024 ** 3),
    max_seconds: maxSeconds.default(60),
  })
  .prefault({});
const fsckRequestSchema = z
  .strictObject({
    dry_run: z.boolean().default(true),
    /** Whether fsck starts again at the first row instead of continuing an unfinished check. */
    restart: z.boolean().default(true),
    max_seconds: maxSeconds.default(300),
  })
  .prefault({});

const scrubRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/scrub',
  operationId: 'scrubStorage',
  summary: 'Read every copy and repair bad ones',
  request: body(scrubRequestSchema),
  responses: json(scrubSchema, 'Counts of checked and repaired copies'),
});
const fsckRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/fsck',
  operationId: 'checkStorage',
  summary: 'Check the databases for consistency and against the locations',
  request: body(fsckRequestSchema),
  responses: json(fsckSchema, 'Counts of checked records and of inconsistencies'),
});

export function addCheckRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(scrubRoute, async (c) => {
    const report = await runScrub(contextOf(c), scrubRequestSchema.parse(c.req.valid('json')));
    const { copies, repaired_copies, lost_blobs, finished } = report;
    await recordAudit(c, 'storage.scrub', SERVICE, { copies, repaired_copies, lost_blobs, finished });
    return c.json(report, 200);
  });
  api.openapi(fsckRoute, async (c) => {
    const request = fsckRequestSchema.parse(c.req.valid('json'));
    const { report, isDone } = await checkStorage(contextOf(c), {
      isDryRun: request.dry_run,
      restart: request.restart,
      mayContinue: isWithin(request.max_seconds),
    });
    if (!request.dry_run) {
      await recordAudit(c, 'storage.fsck', SERVICE, { repaired: report.repaired, finished: isDone });
    }
    return c.json({ ...report, finished: isDone }, 200);
  });
}

async function runScrub(
  context: EngineContext,
  request: z.infer<typeof scrubRequestSchema>,
): Promise<z.infer<typeof scrubSchema>> {
  const isInTime = isWithin(request.max_seconds);
  const report = emptyScrubReport();
  let isFinished = true;
  for (let shard = 0; shard < context.shards.length; shard++) {
    let restart = request.restart;
    for (;;) {
      if (!isInTime() || report.bytes >= request.max_bytes) {
        isFinished = false;
        break;
      }
      const step = Math.min(STEP_BYTES_MAX, request.max_bytes - report.bytes);
      if (!(await scrubStep(context, shard, step, report, { restart }))) break;
      restart = false;
    }
  }
  return { ...report, finished: isFinished };
}
