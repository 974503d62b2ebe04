/** `/v1/me/access-keys/{access_key_id}/temporary-keys`: temporary keys of the user's own access keys. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  endTemporaryKeys,
  endTemporaryQuerySchema,
  makeTemporaryKey,
  temporaryKeyMembers,
  temporaryKeySchema,
} from '../../identity/index.ts';
import { recordAudit, toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { CONFIRMATION, requireConfirmed, requireSession, SESSION_ROUTE } from './confirmed.ts';

const params = z.object({ access_key_id: z.string().max(128) });

export function addTemporaryKeys(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/access-keys/{access_key_id}/temporary-keys',
      operationId: 'createOwnTemporaryKey',
      summary: 'Make a temporary key of one of your access keys',
      request: { params, ...jsonBody(z.strictObject({ ...CONFIRMATION, ...temporaryKeyMembers })) },
      responses: {
        201: jsonContent(temporaryKeySchema, 'The temporary key. It is not stored'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const { password, totp, ...wish } = c.req.valid('json');
      const caller = await requireConfirmed(c, { password, totp });
      if (!caller.ok) return sendProblem(c, caller.error);
      const { access_key_id: accessKeyId } = c.req.valid('param');
      const { userId } = caller.value;
      const made = await makeTemporaryKey(c.env, { accessKeyId, userId }, wish, createClock(c.env)());
      if (!made.ok) return sendProblem(c, made.error);
      const { access_key_id: id, expires_at } = made.value;
      const target = { type: 'access_key', id: accessKeyId } as const;
      await recordAudit(c, 'temporary_key.create', target, { access_key_id: id, expires_at, bucket: wish.bucket });
      return c.json(made.value, 201);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/access-keys/{access_key_id}/temporary-keys',
      operationId: 'endOwnTemporaryKeys',
      summary: 'End the temporary keys of one of your access keys, which stays',
      request: { params, query: endTemporaryQuerySchema },
      responses: { 204: { description: 'Ended' }, ...problemResponses(400, 401, 403, 404, 429, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { access_key_id: accessKeyId } = c.req.valid('param');
      const { made_before } = c.req.valid('query');
      const before = made_before === undefined ? createClock(c.env)() : Date.parse(made_before);
      const audit = toAuditRow(c, 'temporary_key.end', { type: 'access_key', id: accessKeyId }, { made_before });
      const { userId } = caller.value;
      const isDone = await endTemporaryKeys(c.env, { accessKeyId, userId }, before, audit);
      return isDone ? c.body(null, 204) : sendProblem(c, NOT_FOUND);
    },
  );
}
