/** The rebuild of a lost DIRECTORY. Every deployment has it, because every deployment writes snapshots of DIRECTORY. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { atDirectory } from '../engine/model/context.ts';
import { rebuildDirectory } from '../maintenance/directory-snapshot.ts';
import { contextOf, count, json, OPERATOR } from './route.ts';

const databaseSchema = z.coerce
  .number()
  .int()
  .min(0)
  .default(0)
  .openapi({ type: 'integer', description: 'Number of the database: 0 for `DIRECTORY`, n for `DIRECTORY_n`' });

const rebuildDirectoryRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/directory/rebuild',
  operationId: 'rebuildDirectory',
  summary: 'Rebuild an empty DIRECTORY from its newest snapshot and the buckets in the shards',
  request: { query: z.strictObject({ database: databaseSchema }) },
  responses: {
    ...json(
      z.object({ snapshot: z.string().nullable(), rows_restored: count, buckets_recovered: count }),
      'Restored rows and buckets',
    ),
    ...problemResponses(400, 404, 409),
  },
});

export function addDirectoryRecoveryRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(rebuildDirectoryRoute, async (c) => {
    const context = contextOf(c);
    const { database } = c.req.valid('query');
    if (database >= context.directories.length) return sendProblem(c, problem(404, 'not_found', 'Database not found.'));
    const outcome = await rebuildDirectory(atDirectory(context, database));
    if (outcome.ok) {
      await recordAudit(c, 'directory.rebuild', SERVICE, {
        rows_restored: outcome.report.rows_restored,
        directory: database,
      });
      return c.json(outcome.report, 200);
    }
    const detail = 'The database is in use. Only an empty database can be rebuilt.';
    return sendProblem(c, problem(409, outcome.error.kind, detail));
  });
}
