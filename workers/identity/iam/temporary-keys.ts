/** Routes of temporary keys for operators. `/v1/me/access-keys` has those for users. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit, toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import {
  endTemporaryKeys,
  endTemporaryQuerySchema,
  makeTemporaryKey,
  NO_SUCH_KEY,
  temporaryKeyMembers,
  temporaryKeySchema,
} from '../users/temporary-key-requests.ts';
import { COMMON } from './route.ts';

const params = z.object({ access_key_id: z.string().max(128) });

export function addTemporaryKeys(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/access-keys/{access_key_id}/temporary-keys',
      operationId: 'createTemporaryKey',
      summary: 'Make a temporary key of an access key',
      request: { params, ...jsonBody(z.strictObject(temporaryKeyMembers)) },
      responses: {
        201: jsonContent(temporaryKeySchema, 'The temporary key. It is not stored'),
        ...problemResponses(400, 401, 403, 404),
      },
    }),
    async (c) => {
      const { access_key_id: accessKeyId } = c.req.valid('param');
      const wish = c.req.valid('json');
      const made = await makeTemporaryKey(c.env, { accessKeyId, userId: null }, wish, createClock(c.env)());
      if (!made.ok) return sendProblem(c, made.error);
      const target = { type: 'access_key', id: accessKeyId } as const;
      const { access_key_id: id, expires_at } = made.value;
      await recordAudit(c, 'temporary_key.create', target, { access_key_id: id, expires_at, bucket: wish.bucket });
      return c.json(made.value, 201);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'delete',
      path: '/v1/iam/access-keys/{access_key_id}/temporary-keys',
      operationId: 'endTemporaryKeys',
      summary: 'End the temporary keys of an access key, which stays',
      request: { params, query: endTemporaryQuerySchema },
      responses: { 204: { description: 'Ended' }, ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { access_key_id: accessKeyId } = c.req.valid('param');
      const { made_before } = c.req.valid('query');
      const before = made_before === undefined ? createClock(c.env)() : Date.parse(made_before);
      const audit = toAuditRow(c, 'temporary_key.end', { type: 'access_key', id: accessKeyId }, { made_before });
      const isDone = await endTemporaryKeys(c.env, { accessKeyId, userId: null }, before, audit);
      return isDone ? c.body(null, 204) : sendProblem(c, NO_SUCH_KEY);
    },
  );
}
