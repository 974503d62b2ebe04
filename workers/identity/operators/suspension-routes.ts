/** `/v1/accounts/{user_id}/suspension`: stops a user or mail account at once, until the suspension is lifted. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';
import { publishRevocations } from '../revocations.ts';
import { createIdentityStore } from '../store/store.ts';
import { setSuspended } from '../users/obligations.ts';
import { levelSuspension } from '../users/suspensions.ts';

const OPERATOR = { tags: ['identity'], security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };
const NO_SUCH_USER = problem(404, 'no_such_user', 'User not found.');
const params = z.object({ user_id: z.string().max(100) });
const path = '/v1/accounts/{user_id}/suspension' as const;

const suspensionSchema = z.object({ user_id: z.string(), suspended_at: z.string().nullable() }).openapi('Suspension');
const toJson = (userId: string, suspendedAt: number | null) => ({
  user_id: userId,
  suspended_at: suspendedAt === null ? null : new Date(suspendedAt).toISOString(),
});

export function addSuspension(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'get',
      path,
      operationId: 'getSuspension',
      summary: 'Read whether a user is suspended',
      request: { params },
      responses: { 200: jsonContent(suspensionSchema, 'The state'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      const user = await createIdentityStore(userDatabaseOf(c.env, id)).findUser(id);
      return user ? c.json(toJson(id, user.suspendedAt ?? null), 200) : sendProblem(c, NO_SUCH_USER);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'put',
      path,
      operationId: 'suspendUser',
      summary: 'Suspend a user: logins, sessions, tokens, access keys and sending stop; mail still arrives',
      request: { params, ...jsonBody(z.strictObject({ reason: z.string().min(1).max(1_000) })) },
      responses: { 200: jsonContent(suspensionSchema, 'The state'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      const store = createIdentityStore(userDatabaseOf(c.env, id));
      const { reason } = c.req.valid('json');
      const user = await store.findUser(id);
      if (!user) return sendProblem(c, NO_SUCH_USER);
      const at = user.suspendedAt ?? createClock(c.env)();
      const audit = toAuditRow(c, 'account.suspend', { type: 'user', id }, { reason });
      // The mailbox is suspended first: if it cannot be reached, DIRECTORY does not change. `levelSuspension` suspends it again
      // afterwards, to close connections that were opened in between.
      await setSuspended(id, at, c.env);
      await store.setSuspended(id, at, audit);
      await publishRevocations(c.env, [databaseNumberOf(id)]);
      await levelSuspension(id, c.env);
      return c.json(toJson(id, at), 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'delete',
      path,
      operationId: 'resumeUser',
      summary: 'Lift the suspension of a user; everything works as before',
      request: { params },
      responses: { 204: { description: 'Lifted' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      const store = createIdentityStore(userDatabaseOf(c.env, id));
      const isLifted = await store.setSuspended(id, null, toAuditRow(c, 'account.resume', { type: 'user', id }));
      if (!isLifted && !(await store.findUser(id))) return sendProblem(c, NO_SUCH_USER);
      await levelSuspension(id, c.env);
      return c.body(null, 204);
    },
  );
}
