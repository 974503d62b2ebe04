/** The rebuild of a lost DIRECTORY. Every deployment has it, because every deployment writes snapshots of DIRECTORY. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json-api.ts';
import { problem } from '../../shared/problem.ts';
import { rebuildDirectory } from '../maintenance/directory-snapshot.ts';
import { contextOf, count, json, OPERATOR } from './route.ts';

const rebuildDirectoryRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/directory/rebuild',
  operationId: 'rebuildDirectory',
  summary: 'Rebuild an empty DIRECTORY from its newest snapshot and the buckets in the shards',
  responses: {
    ...json(
      z.object({ snapshot: z.string().nullable(), rows_restored: count, buckets_recovered: count }),
      'Restored rows and buckets',
    ),
    ...problemResponses(409),
  },
});

export function addDirectoryRecoveryRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(rebuildDirectoryRoute, async (c) => {
    const outcome = await rebuildDirectory(contextOf(c));
    if (outcome.ok) {
      await recordAudit(c, 'directory.rebuild', SERVICE, { rows_restored: outcome.report.rows_restored });
      return c.json(outcome.report, 200);
    }
    const detail = 'DIRECTORY is in use. Only an empty DIRECTORY can be rebuilt.';
    return sendProblem(c, problem(409, outcome.error.kind, detail));
  });
}
