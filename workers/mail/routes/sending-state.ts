/** `GET /v1/outbound/sending`: where mail waits, what keeps it from leaving through Email Service, and what this month's mail costs. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { readMonthUse } from '../outbound/month-limit.ts';
import { readWaiting } from '../outbound/queue-metrics.ts';
import { findSendingProblems } from '../outbound/sending-problems.ts';
import { diagnosisSchema } from './outbound.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';

const problemSchema = z.object({
  domain: z.string(),
  code: z.enum(['not_allowed', 'quota', 'no_events']),
  message: z.string(),
  command: z.string().nullable().openapi({ description: 'Command that repairs it; null if none does.' }),
  reply: z.string().nullable().openapi({ description: 'Last words of Email Service; null if it refused nothing.' }),
  at: z.string().openapi({ description: 'Time of the last refusal, or since which no delivery event arrived.' }),
});

const waitingSchema = z.object({
  for_consumer: z.int().openapi({ description: 'Recipients that are due and wait for a consumer of the queue.' }),
  for_server: z.int().openapi({ description: 'Recipients whose server deferred the mail, until their next attempt.' }),
  due_lag_seconds: z.number().openapi({ description: 'How long the oldest due recipient has waited.' }),
  hints: z.int().nullable().openapi({
    description: 'Messages in the queue of outgoing mail, as the platform counts them; null if it does not say.',
  }),
  consumers_max: z.int().nullable().openapi({ description: 'MAIL_CONSUMERS; null if only the platform limits them.' }),
  diagnosis: diagnosisSchema,
});

const stateSchema = z
  .object({
    waiting: waitingSchema,
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
      summary:
        'Read where mail waits, what keeps it from leaving through Email Service, and what the mail of this month costs',
      request: { query: z.strictObject({}) },
      responses: { 200: jsonContent(stateSchema, 'The state'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const [found, problems, { recipients, limit, dollars, limitDollars }] = await Promise.all([
        readWaiting(c.env),
        findSendingProblems(c.env),
        readMonthUse(c.env),
      ]);
      const month = { recipients, limit, dollars, limit_dollars: limitDollars };
      const waiting = {
        for_consumer: found.waitingForConsumer,
        for_server: found.waitingForServer,
        due_lag_seconds: found.dueLagMs / 1000,
        hints: found.hints,
        consumers_max: found.consumersMax,
        diagnosis: found.diagnosis,
      };
      const shown = problems.map(({ at, ...problem }) => ({ ...problem, at: toTime(at) }));
      return c.json({ waiting, problems: shown, month }, 200);
    },
  );
}
