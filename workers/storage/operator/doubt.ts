/** The route that an operator calls before a database is put back to an earlier state. Every deployment has it. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { type JsonApiEnv, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { raiseStores } from '../maintenance/doubt.ts';
import { body, json, OPERATOR, recoveryContextOf } from './route.ts';

const doubtRoute = createRoute({
  ...OPERATOR,
  method: 'post',
  path: '/v1/storage/doubt',
  operationId: 'doubtStores',
  summary: 'Make a restore of databases to any earlier time noticeable. Call it right before the restore',
  request: body(
    z.strictObject({
      stores: z
        .array(z.string())
        .max(1_000)
        .nullable()
        .default(null)
        .openapi({ description: 'Names such as `OBJECTS_0` and `DIRECTORY`; null for all', example: ['OBJECTS_0'] }),
    }),
  ),
  responses: {
    ...json(
      z.object({
        stores: z.array(
          z.object({
            name: z.string(),
            number: z
              .int()
              .nullable()
              .openapi({ description: 'Null if the database was already put back, or is empty' }),
          }),
        ),
      }),
      'The databases with their new numbers',
    ),
    ...problemResponses(404),
  },
});

export function addDoubtRoute(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(doubtRoute, async (c) => {
    const context = recoveryContextOf(c);
    const { stores: names } = c.req.valid('json');
    const known = [
      ...Array.from(context.directories.keys(), directoryNameOf),
      ...context.shards.map((_, shard) => `OBJECTS_${shard}`),
    ];
    const unknown = names?.find((name) => !known.includes(name));
    if (unknown !== undefined) return sendProblem(c, problem(404, 'not_found', `No database has the name ${unknown}.`));
    const stores = await raiseStores(context, names);
    await recordAudit(c, 'storage.doubt', SERVICE, { stores: stores.length });
    return c.json({ stores }, 200);
  });
}
