/** The rebuild of a lost DIRECTORY. Every deployment has it, because every deployment writes snapshots of DIRECTORY. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { compareAgain } from '../../shared/stores/guarded-database.ts';
import { atDirectory } from '../engine/model/context.ts';
import { replayDirectory } from '../maintenance/directory-journal.ts';
import { rebuildDirectory } from '../maintenance/directory-rebuild.ts';
import { body, count, isWithin, json, maxSeconds, OPERATOR, recoveryContextOf } from './route.ts';

const databaseSchema = z.coerce
  .number()
  .int()
  .min(0)
  .default(0)
  .openapi({ type: 'integer', description: 'Number of the database: 0 for `DIRECTORY`, n for `DIRECTORY_n`' });

const replayDirectoryRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/directory/replay',
  operationId: 'replayDirectory',
  summary: 'Replay the journal into DIRECTORY, which was put back to an earlier state',
  request: {
    query: z.strictObject({ database: databaseSchema }),
    ...body(z.strictObject({ max_seconds: maxSeconds.default(20) })),
  },
  responses: {
    ...json(
      z.object({ changes_replayed: count, buckets_recovered: count, finished: z.boolean() }),
      'What this call replayed',
    ),
    ...problemResponses(400, 404),
  },
});

const rebuildDirectoryRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/directory/rebuild',
  operationId: 'rebuildDirectory',
  summary: 'Rebuild an empty DIRECTORY from its newest snapshot and the buckets in the shards',
  request: { query: z.strictObject({ database: databaseSchema }) },
  responses: {
    ...json(
      z.object({
        snapshot: z.string().nullable(),
        rows_restored: count,
        changes_replayed: count,
        buckets_recovered: count,
        finished: z.boolean(),
      }),
      'Restored rows and buckets so far. Call again while `finished` is false',
    ),
    ...problemResponses(400, 404, 409),
  },
});

const REBUILD_SECONDS = 20;

const REFUSALS = {
  not_empty: 'The database is in use. Only an empty database can be rebuilt.',
  under_way: 'A rebuild of this database is already running.',
} as const;

export function addDirectoryRecoveryRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(replayDirectoryRoute, async (c) => {
    const context = recoveryContextOf(c);
    const { database } = c.req.valid('query');
    const { max_seconds: seconds } = c.req.valid('json');
    if (database >= context.directories.length) return sendProblem(c, problem(404, 'not_found', 'Database not found.'));
    const outcome = await replayDirectory(atDirectory(context, database), c.env, isWithin(seconds));
    const { isDone: finished, ...report } = outcome;
    if (!finished) return c.json({ ...report, finished }, 200);
    compareAgain(c.env, directoryNameOf(database));
    await recordAudit(c, 'directory.replay', SERVICE, {
      changes_replayed: report.changes_replayed,
      directory: database,
    });
    return c.json({ ...report, finished }, 200);
  });
  api.openapi(rebuildDirectoryRoute, async (c) => {
    const context = recoveryContextOf(c);
    const { database } = c.req.valid('query');
    if (database >= context.directories.length) return sendProblem(c, problem(404, 'not_found', 'Database not found.'));
    const outcome = await rebuildDirectory(atDirectory(context, database), isWithin(REBUILD_SECONDS));
    if (outcome.ok) {
      const finished = outcome.isDone;
      if (!finished) return c.json({ ...outcome.report, finished }, 200);
      await recordAudit(c, 'directory.rebuild', SERVICE, {
        rows_restored: outcome.report.rows_restored,
        directory: database,
      });
      return c.json({ ...outcome.report, finished }, 200);
    }
    return sendProblem(c, problem(409, outcome.error.kind, REFUSALS[outcome.error.kind]));
  });
}
