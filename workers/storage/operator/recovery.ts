/** Routes that write snapshots of the metadata and rebuild a lost shard from them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { compareAgain, isStoreOlder } from '../../shared/stores/guarded-database.ts';
import { atDirectory, type EngineContext } from '../engine/model/context.ts';
import { directorySnapshotStep } from '../maintenance/directory-snapshot.ts';
import { type RebuildReport, rebuildShard, replayShard } from '../maintenance/rebuild.ts';
import { snapshotShard } from '../maintenance/snapshot.ts';
import { SnapshotRefused } from '../maintenance/snapshot-refused.ts';
import { body, count, isWithin, json, maxSeconds, OPERATOR, recoveryContextOf } from './route.ts';

const manifest = z.record(z.string(), z.unknown());

const snapshotRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/snapshot',
  operationId: 'snapshotStorage',
  summary: 'Write the metadata of every shard and of DIRECTORY to the locations',
  responses: {
    ...json(
      z.object({ shards: z.array(manifest), directory: manifest, further_directories: z.array(manifest) }),
      'Manifests of the snapshots',
    ),
    ...problemResponses(409),
  },
});

const rebuildRequestSchema = z.strictObject({
  shard: z.int().min(0),
  /** Whether the rebuild starts again from the snapshot instead of continuing an unfinished one. */
  restart: z.boolean().default(false),
  /**
   * Maximum duration of a rebuild request. Workers allows 10,000 subrequests per invocation; at a few milliseconds each, they are
   * used up within a minute.
   */
  max_seconds: maxSeconds.default(20),
});

const reportSchema = z.object({
  snapshot: z.string().nullable(),
  rows_restored: count,
  changes_replayed: count,
  journal_until: z.string().nullable(),
  blobs_scanned: count,
  versions_recovered: count,
  volumes_recovered: count,
  versions_incomplete: count,
  finished: z.boolean(),
});

const toAnswer = (report: RebuildReport, isDone: boolean): z.output<typeof reportSchema> => ({
  ...report,
  finished: isDone,
});

const rebuildRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/rebuild',
  operationId: 'rebuildStorageShard',
  summary: 'Rebuild an empty shard database from its snapshot, its journal and the blobs',
  request: body(rebuildRequestSchema),
  responses: {
    ...json(reportSchema, 'Progress so far'),
    ...problemResponses(404, 409),
  },
});

const replayRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/replay',
  operationId: 'replayStorageShard',
  summary: 'Replay the journal into a shard database that was put back to an earlier state',
  request: body(z.strictObject({ shard: z.int().min(0), max_seconds: maxSeconds.default(20) })),
  responses: { ...json(reportSchema, 'Progress so far'), ...problemResponses(404, 409) },
});

const REBUILD_REFUSALS = {
  under_way: 'A rebuild or a replay of this shard is already running.',
  database_empty: 'The database is empty. Rebuild it.',
  not_empty: 'The database is in use. Only an empty database can be rebuilt.',
} as const;

/** Pages of a user database that a request writes. The queue writes those of a larger one. */
const DIRECTORY_PAGES = 100;

/** Writes a full snapshot of a user database, or begins it. @returns its manifest, or `finished: false`. */
async function snapshotOrStart(context: EngineContext): Promise<Record<string, unknown>> {
  const outcome = await directorySnapshotStep(context, { pagesMax: DIRECTORY_PAGES, isFull: true });
  if (typeof outcome !== 'string') return { ...outcome };
  await context.tasks?.send({ kind: 'directory', shard: 0, directory: context.directoryNumber });
  return { finished: false };
}

export function addRecoveryRoutes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(snapshotRoute, async (c) => {
    const context = recoveryContextOf(c);
    const shards: Record<string, unknown>[] = [];
    try {
      for (let shard = 0; shard < context.shards.length; shard++)
        shards.push({ ...(await snapshotShard(context, shard)) });
      const directories: Record<string, unknown>[] = [];
      for (const number of context.directories.keys())
        directories.push(await snapshotOrStart(atDirectory(context, number)));
      const [directory = {}, ...further] = directories;
      await recordAudit(c, 'storage.snapshot', SERVICE, { shards: shards.length });
      return c.json({ shards, directory, further_directories: further }, 200);
    } catch (error) {
      if (!(error instanceof SnapshotRefused)) throw error;
      return sendProblem(c, problem(409, 'snapshot_refused', `No snapshot was written: ${error.message}.`));
    }
  });
  api.openapi(rebuildRoute, async (c) => {
    const context = recoveryContextOf(c);
    const { shard, restart, max_seconds: seconds } = c.req.valid('json');
    if (shard >= context.shards.length) return sendProblem(c, problem(404, 'no_such_shard'));
    const outcome = await rebuildShard(context, shard, { restart, mayContinue: isWithin(seconds) });
    if (outcome.ok) {
      const details = { shard, rows_restored: outcome.report.rows_restored, finished: outcome.isDone };
      await recordAudit(c, 'shard.rebuild', SERVICE, details);
      return c.json(toAnswer(outcome.report, outcome.isDone), 200);
    }
    const { kind } = outcome.error;
    return sendProblem(c, problem(409, kind, REBUILD_REFUSALS[kind]));
  });
  api.openapi(replayRoute, async (c) => {
    const context = recoveryContextOf(c);
    const { shard, max_seconds: seconds } = c.req.valid('json');
    if (shard >= context.shards.length) return sendProblem(c, problem(404, 'no_such_shard'));
    if (await isStoreOlder(c.env, 'DIRECTORY')) return sendProblem(c, problem(409, 'directory_older'));
    const outcome = await replayShard(context, shard, isWithin(seconds));
    compareAgain(c.env, `OBJECTS_${shard}`);
    if (outcome.ok) {
      const details = { shard, changes_replayed: outcome.report.changes_replayed, finished: outcome.isDone };
      await recordAudit(c, 'shard.replay', SERVICE, details);
      return c.json(toAnswer(outcome.report, outcome.isDone), 200);
    }
    const { kind } = outcome.error;
    return sendProblem(c, problem(409, kind, REBUILD_REFUSALS[kind]));
  });
}
