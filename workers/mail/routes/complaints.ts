/** `/v1/outbound/complaints`: recipients who marked mail as spam, by account and domain, and accounts that are held because of them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { forgetHold, listComplaints } from '../store/complaint-store.ts';
import { callMailbox, OPERATOR_ROUTE, toTime } from './route.ts';

const ACCOUNTS_MAX = 200;

const complaintsSchema = z
  .object({
    data: z.array(
      z.object({
        user_id: z.string(),
        email: z.string().nullable().openapi({ description: 'Address of the account; null if it is gone.' }),
        domain: z.string().openapi({ description: 'Domain of the sender.' }),
        complaints: z.int(),
        last_at: z.string(),
        held: z.boolean().openapi({ description: 'Whether mail of the account waits until an operator releases it.' }),
      }),
    ),
  })
  .openapi('Complaints');

export function addComplaints(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/outbound/complaints',
      operationId: 'listComplaints',
      summary: 'Complaints of the last 30 days by account and domain, the most first',
      request: { query: z.strictObject({}) },
      responses: { 200: jsonContent(complaintsSchema, 'At most 200 accounts'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const now = createClock(c.env)();
      const lists = boundDirectories(c.env).map((database) => listComplaints(database, now, ACCOUNTS_MAX));
      const rows = (await Promise.all(lists)).flat().sort((a, b) => b.complaints - a.complaints || b.lastAt - a.lastAt);
      const data = rows.slice(0, ACCOUNTS_MAX).map(({ userId, email, domain, complaints, lastAt, isHeld }) => ({
        ...{ user_id: userId, email, domain, complaints, last_at: toTime(lastAt), held: isHeld },
      }));
      return c.json({ data }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/outbound/complaints/{user_id}/release',
      operationId: 'releaseSending',
      summary: 'Release the mail that complaints hold, and reset the count of complaints',
      request: { params: z.object({ user_id: z.string().max(100) }) },
      responses: { 204: { description: 'Released' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { user_id: userId } = c.req.valid('param');
      const released = await callMailbox(c.env, userId, (mailbox) => mailbox.releaseSending());
      if (!released.ok) return sendProblem(c, released.error);
      await forgetHold(userDatabaseOf(c.env, userId), userId);
      await recordAudit(c, 'account.release_sending', { type: 'user', id: userId });
      return c.body(null, 204);
    },
  );
}
