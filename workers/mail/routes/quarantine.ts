/** `/v1/quarantine`: mail with a virus or a program, for operators only. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { compareText, readMerged } from '../../shared/stores/directories.ts';
import { discardQuarantined, openQuarantined, releaseQuarantined } from '../inbound/process/quarantine.ts';
import { listQuarantine, type QuarantineRow } from '../store/quarantine-store.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';
import { readTimeCursor, toTimePage } from './time-page.ts';

const itemSchema = z
  .object({
    id: z.string(),
    user_id: z.string(),
    from: z.string(),
    to: z.string(),
    subject: z.string(),
    size: z.int(),
    virus: z.record(z.string(), z.unknown()),
    created_at: z.string(),
  })
  .openapi('QuarantinedMessage');

const toItemJson = (row: QuarantineRow) => ({
  id: row.incomingId,
  user_id: row.userId,
  from: row.envelopeFrom,
  to: row.envelopeTo,
  subject: row.subject,
  size: row.sizeBytes,
  virus: JSON.parse(row.reasons) as Record<string, unknown>,
  created_at: toTime(row.createdAt),
});

const idParam = { params: z.object({ id: z.string().max(100) }) };
const NOT_QUARANTINED = problem(404, 'not_in_quarantine', 'No quarantined message has this id.');

export function addQuarantine(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/quarantine',
      operationId: 'listQuarantine',
      summary: 'List quarantined messages, newest first',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(itemSchema), 'A page'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { limit, cursor } = c.req.valid('query');
      const key = readTimeCursor(cursor);
      if (key === undefined) return sendProblem(c, INVALID_CURSOR);
      const before = key && { createdAt: key.at, incomingId: key.id };
      const read = (database: D1Database) => listQuarantine(database, before, limit + 1);
      const newestFirst = (a: QuarantineRow, b: QuarantineRow) =>
        b.createdAt - a.createdAt || compareText(b.incomingId, a.incomingId);
      const rows = await readMerged(c.env, read, newestFirst, limit + 1);
      return c.json(
        toTimePage(rows, limit, ({ createdAt, incomingId }) => ({ at: createdAt, id: incomingId }), toItemJson),
        200,
      );
    },
  );
  addQuarantineItem(api);
}

function addQuarantineItem(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/quarantine/{id}/raw',
      operationId: 'getQuarantinedRawMessage',
      summary: 'Download the raw message, which is dangerous',
      request: idParam,
      responses: { 200: { description: 'The raw bytes' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { id } = c.req.valid('param');
      const found = await openQuarantined(c.env, id);
      if (!found) return sendProblem(c, NOT_QUARANTINED);
      await recordAudit(c, 'quarantine.read', { type: 'message', id });
      return unchecked(
        new Response(found.body, {
          headers: {
            'content-type': 'application/octet-stream',
            'content-disposition': 'attachment; filename="quarantined.eml"',
            'content-security-policy': "sandbox; default-src 'none'",
            'x-content-type-options': 'nosniff',
          },
        }),
      );
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/quarantine/{id}/release',
      operationId: 'releaseQuarantinedMessage',
      summary: 'Release a message to its recipient',
      request: idParam,
      responses: {
        200: jsonContent(z.object({ id: z.string(), message_id: z.string().nullable() }), 'Delivered'),
        ...problemResponses(401, 403, 404),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { id } = c.req.valid('param');
      const released = await releaseQuarantined(c.env, id);
      if (!released) return sendProblem(c, NOT_QUARANTINED);
      await recordAudit(c, 'quarantine.release', { type: 'message', id });
      return c.json({ id, message_id: released.messageId }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'delete',
      path: '/v1/quarantine/{id}',
      operationId: 'deleteQuarantinedMessage',
      summary: 'Delete a quarantined message permanently',
      request: idParam,
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { id } = c.req.valid('param');
      if (!(await discardQuarantined(c.env, id))) return sendProblem(c, NOT_QUARANTINED);
      await recordAudit(c, 'quarantine.delete', { type: 'message', id });
      return c.body(null, 204);
    },
  );
}
