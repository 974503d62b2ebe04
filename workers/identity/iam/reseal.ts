/** `POST /v1/iam/reseal`: rotates MASTER_KEY. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses } from '../../shared/json/json-api.ts';
import { reseal, type SecretKeeper } from '../secrets/master-key.ts';
import { COMMON } from './route.ts';

const reportSchema = z
  .object({
    kind: z.string(),
    current: z.int(),
    resealed: z.int(),
    unreadable: z.array(z.string()),
    complete: z.boolean(),
  })
  .openapi('ResealReport');

export function addReseal(api: OpenAPIHono<JsonApiEnv>, keepers: readonly SecretKeeper[]): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/reseal',
      operationId: 'resealSecrets',
      summary: 'Seal every secret at rest with the current MASTER_KEY',
      responses: {
        200: jsonContent(z.object({ data: z.array(reportSchema) }), 'What was found and done, by kind'),
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const data = [];
      for (const keeper of keepers) data.push(await reseal(keeper, c.env));
      await recordAudit(c, 'secrets.reseal', SERVICE, {
        resealed: data.reduce((sum, { resealed }) => sum + resealed, 0),
      });
      return c.json({ data }, 200);
    },
  );
}
