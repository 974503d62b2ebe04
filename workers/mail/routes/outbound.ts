/** `/v1/outbound`: the operator's view of queued and failed mail. */
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
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { compareText, readMerged } from '../../shared/stores/directories.ts';
import { readQueue, summarize } from '../outbound/queue-metrics.ts';
import { retryMail } from '../outbound/submission/retry-mail.ts';
import { type ErrorRow, listErrors, listQueue, type QueueGroup, type QueueRow } from '../store/queue-store.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';
import { readTimeCursor, toTimePage } from './time-page.ts';

const countsSchema = { held: z.int(), queued: z.int(), deferred: z.int() };
export const diagnosisSchema = z.enum(['healthy', 'recipient_down', 'too_few_consumers']).openapi({
  description:
    'recipient_down: attempts fail and are deferred. too_few_consumers: due recipients have waited for minutes.',
});
const destinationSchema = z.object({
  destination: z.string(),
  messages: z.int(),
  ...countsSchema,
  oldest_age_seconds: z.number(),
  due_lag_seconds: z.number(),
  last_reply: z.string().nullable(),
  diagnosis: diagnosisSchema,
});
const queueSchema = z
  .object({
    size: z.int().openapi({ description: 'Waiting recipients.' }),
    messages: z.int(),
    bytes: z.int(),
    oldest_age_seconds: z.number(),
    due_lag_seconds: z.number(),
    diagnosis: diagnosisSchema,
    states: z.object(countsSchema),
    destinations: z.array(destinationSchema),
    data: z.array(
      z.object({
        id: z.string(),
        user_id: z.string(),
        kind: z.string(),
        destination: z.string(),
        ...countsSchema,
        size: z.int(),
        queued_at: z.string(),
        next_attempt_at: z.string().nullable(),
        last_reply: z.string().nullable(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .openapi('OutboundQueue');

const errorSchema = z
  .object({
    id: z.string(),
    user_id: z.string(),
    kind: z.string(),
    code: z.string(),
    detail: z.string(),
    recipients: z.array(z.string()),
    created_at: z.string(),
    can_retry: z.boolean().openapi({ description: 'Whether the failed recipients or the request can be retried.' }),
  })
  .openapi('OutboundError');

const retrySchema = z
  .strictObject({
    recipients: z
      .array(z.string().max(320))
      .min(1)
      .max(100)
      .optional()
      .openapi({ description: 'Only these recipients. Failed ones are retried only if they are named.' }),
  })
  .openapi('OutboundRetry', { example: { recipients: ['bob@elsewhere.test'] } });

const toDestinationJson = (group: QueueGroup, now: number) => ({
  destination: group.destination,
  messages: group.messages,
  held: group.held,
  queued: group.queued,
  deferred: group.deferred,
  oldest_age_seconds: (now - group.oldestAt) / 1000,
  due_lag_seconds: summarize([group], now).dueLagMs / 1000,
  last_reply: group.lastReply,
  diagnosis: summarize([group], now).diagnosis,
});

const toItemJson = (row: QueueRow) => ({
  id: row.outboxId,
  user_id: row.userId,
  kind: row.kind,
  destination: row.destination,
  held: row.held,
  queued: row.queued,
  deferred: row.deferred,
  size: row.sizeBytes,
  queued_at: toTime(row.queuedAt),
  next_attempt_at: row.nextAttemptAt === null ? null : toTime(row.nextAttemptAt),
  last_reply: row.lastReply,
});

const toErrorJson = (row: ErrorRow) => ({
  id: row.errorId,
  user_id: row.userId,
  kind: row.kind,
  code: row.code,
  detail: row.detail,
  recipients: JSON.parse(row.recipients) as string[],
  created_at: toTime(row.createdAt),
  can_retry: row.outboxId !== null || row.requestKey !== null,
});

export function addOutbound(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/outbound',
      operationId: 'getOutboundQueue',
      summary: 'Read the outbound queue: totals, destinations, and messages, oldest first',
      request: { query: pageQuerySchema.extend({ destination: z.string().max(255).optional() }) },
      responses: { 200: jsonContent(queueSchema, 'The queue'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { limit, cursor, destination } = c.req.valid('query');
      const after = readTimeCursor(cursor);
      if (after === undefined) return sendProblem(c, INVALID_CURSOR);
      const { summary, groups, now } = await readQueue(c.env);
      const from = after && { queuedAt: after.at, outboxId: after.id };
      const read = (database: D1Database) => listQueue(database, destination, from, limit + 1);
      const oldestFirst = (a: QueueRow, b: QueueRow) => a.queuedAt - b.queuedAt || compareText(a.outboxId, b.outboxId);
      const rows = await readMerged(c.env, read, oldestFirst, limit + 1);
      return c.json(
        {
          size: summary.size,
          messages: summary.messages,
          bytes: summary.sizeBytes,
          oldest_age_seconds: summary.oldestAgeMs / 1000,
          due_lag_seconds: summary.dueLagMs / 1000,
          diagnosis: summary.diagnosis,
          states: { held: summary.held, queued: summary.queued, deferred: summary.deferred },
          destinations: groups.map((group) => toDestinationJson(group, now)),
          ...toTimePage(rows, limit, ({ queuedAt, outboxId }) => ({ at: queuedAt, id: outboxId }), toItemJson),
        },
        200,
      );
    },
  );
  addErrors(api);
}

function addErrors(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/outbound/errors',
      operationId: 'listOutboundErrors',
      summary: 'Read the error queue: refused or undeliverable messages, newest first',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(errorSchema), 'A page'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { limit, cursor } = c.req.valid('query');
      const before = readTimeCursor(cursor);
      if (before === undefined) return sendProblem(c, INVALID_CURSOR);
      const from = before && { createdAt: before.at, errorId: before.id };
      const read = (database: D1Database) => listErrors(database, from, limit + 1);
      const newestFirst = (a: ErrorRow, b: ErrorRow) => b.createdAt - a.createdAt || compareText(b.errorId, a.errorId);
      const rows = await readMerged(c.env, read, newestFirst, limit + 1);
      return c.json(
        toTimePage(rows, limit, ({ createdAt, errorId }) => ({ at: createdAt, id: errorId }), toErrorJson),
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/outbound/{id}/retry',
      operationId: 'retryOutboundMessage',
      summary: 'Retry the waiting recipients of a message now, or the named ones',
      request: {
        params: z.object({ id: z.string().max(100) }),
        body: { required: false, content: { 'application/json': { schema: retrySchema } } },
      },
      responses: {
        202: jsonContent(z.object({ id: z.string(), recipients: z.int() }), 'How many recipients are retried'),
        ...problemResponses(400, 401, 403, 404, 409, 413, 429),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { id } = c.req.valid('param');
      const retried = await retryMail(c.env, id, c.req.valid('json').recipients ?? null);
      if (!retried.ok) return sendProblem(c, retried.error);
      if (retried.value === 0)
        return sendProblem(
          c,
          problem(409, 'nothing_to_retry', 'No recipient waits. Name failed recipients to retry them.'),
        );
      await recordAudit(c, 'outbound.retry', { type: 'message', id }, { recipients: retried.value });
      return c.json({ id, recipients: retried.value }, 202);
    },
  );
}
