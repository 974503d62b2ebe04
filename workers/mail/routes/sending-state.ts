/** `GET /v1/outbound/sending`: what keeps mail from leaving through Email Service, and what this month's mail costs. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { readMonthUse } from '../outbound/month-limit.ts';
import { findSendingProblems } from '../outbound/sending-problems.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';

const problemSchema = z.object({
  domain: z.string(),
  code: z.enum(['not_allowed', 'quota', 'no_events']),
  message: z.string(),
  command: z.string().nullable().openapi({ description: 'Command that repairs it; null if none does.' }),
  reply: z.string().nullable().openapi({ description: 'Last words of Email Service; null if it refused nothing.' }),
  at: z.string().openapi({ description: 'Time of the last refusal, or since which no delivery event arrived.' }),
});

const stateSchema = z
  .object({
    problems: z.array(problemSchema),
    month: z.object({
      recipients: z.int().openapi({ description: 'Recipients that mailboxes were granted in this month (UTC).' }),
      limit: z.int().openapi({ description: 'MAIL_OUT_PER_MONTH' }),
      dollars: z.number(),
      limit_dollars: z.number(),
    }),
  })
  .openapi('SendingState');

export function addSendingState(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/outbound/sending',
      operationId: 'getSendingState',
      summary: 'Read what keeps mail from leaving through Email Service, and what the mail of this month costs',
      request: { query: z.strictObject({}) },
      responses: { 200: jsonContent(stateSchema, 'The state'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const [problems, { recipients, limit, dollars, limitDollars }] = await Promise.all([
        findSendingProblems(c.env),
        readMonthUse(c.env),
      ]);
      const month = { recipients, limit, dollars, limit_dollars: limitDollars };
      return c.json({ problems: problems.map(({ at, ...problem }) => ({ ...problem, at: toTime(at) })), month }, 200);
    },
  );
}
