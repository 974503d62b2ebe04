/** `GET /v1/mail/trace`: what became of mail, for operators and for each person's own mail. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Trace, TraceFilter } from '../../../durable-objects/mail/contract/trace.ts';

import { authorizeFirst, findOperator, requireMailUser, requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { type RoutingEvent, readRoutingLog } from '../bindings/routing-log.ts';
import { type TraceStep, toDelivered, toSent } from '../domain/trace-steps.ts';
import { NOT_FOUND, toBadRequest } from '../schemas/errors.ts';
import { findRecipient } from '../store/recipient-store.ts';
import { callMailbox, toTime, USER_ROUTE } from './route.ts';

const TRACED_MS = 30 * 24 * 3_600_000;
const ROWS_MAX = 100;

const querySchema = z.strictObject({
  address: z.email().max(320).toLowerCase().optional().openapi({
    description: "An address hosted here. Operators must name it. A person's own mail is traced without it.",
  }),
  peer: z.email().max(320).toLowerCase().optional().openapi({
    description: 'The address at the other side. Operators see others by their domain only.',
  }),
  message_id: z.string().min(3).max(998).optional().openapi({ description: 'Message-ID of the message.' }),
});
const stepSchema = z.object({
  at: z.string(),
  step: z.enum(['offered', 'waiting', 'quarantined', 'delivered', 'sent']),
  result: z.string().openapi({
    description:
      "offered: Email Routing's status. delivered: role of the folder, or `folder`. sent: state of the recipient. waiting: number of attempts.",
  }),
  detail: z.string().openapi({ description: "Verdicts, the other server's reply, or why it waits." }),
  peer: z.string(),
  message_id: z.string().nullable(),
});
const answerSchema = z
  .object({
    steps: z.array(stepSchema).openapi({ description: 'The newest first, at most 100 of each kind.' }),
    routing_log: z.enum(['read', 'not_configured', 'unavailable', 'not_for_people']).openapi({
      description:
        'Whether the activity log of Email Routing was read. Mail that Email Routing refused is only in it, so without it "never offered" is not proven.',
    }),
  })
  .openapi('MailTrace');

/** The person whose mail is traced, and who asks. */
interface Subject {
  readonly userId: string;
  /** The traced address; null for all of a person's own mail. */
  readonly address: string | null;
  readonly isOperator: boolean;
}

async function requireTracer(c: Context<JsonApiEnv>): Promise<Result<unknown, Problem>> {
  const operator = await findOperator(c);
  return operator.ok && operator.value ? requireOperator(c) : requireMailUser(c);
}

async function findSubject(c: Context<JsonApiEnv>, address: string | undefined): Promise<Result<Subject, Problem>> {
  const operator = await findOperator(c);
  if (!(operator.ok && operator.value)) {
    const caller = await requireMailUser(c);
    if (!caller.ok) return caller;
    return ok({ userId: caller.value.userId, address: null, isOperator: false });
  }
  const allowed = await requireOperator(c);
  if (!allowed.ok) return allowed;
  if (address === undefined) return err(toBadRequest('address', 'Name the address whose mail is traced.'));
  const found = await findRecipient(c.env, [address]);
  return found ? ok({ userId: found.userId, address, isOperator: true }) : err(NOT_FOUND);
}

export function addTrace(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      middleware: authorizeFirst(requireTracer),
      method: 'get',
      path: '/v1/mail/trace',
      operationId: 'traceMail',
      summary: 'Find out what became of mail of the last 30 days',
      request: { query: querySchema },
      responses: { 200: jsonContent(answerSchema, 'The trace'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { address, peer, message_id } = c.req.valid('query');
      const subject = await findSubject(c, address);
      if (!subject.ok) return sendProblem(c, subject.error);
      const { userId, isOperator } = subject.value;
      const now = createClock(c.env)();
      const headerMessageId = message_id === undefined ? null : `<${message_id.replace(/^<|>$/g, '')}>`;
      const filter = { since: now - TRACED_MS, headerMessageId, peer: peer ?? null, limit: ROWS_MAX };
      const trace = await callMailbox(c.env, userId, (mailbox) => mailbox.readTrace(filter));
      if (!trace.ok) return sendProblem(c, trace.error);
      const log = await readLog(c.env, subject.value, filter, now);
      if (isOperator) await recordAudit(c, 'mail.trace', { type: 'user', id: userId });
      const steps = [...toSteps(trace.value), ...log.steps].sort((a, b) => b.at - a.at);
      const shown = (step: TraceStep) =>
        !isOperator || step.peer.toLowerCase() === peer ? step.peer : `@${step.peer.split('@')[1] ?? ''}`;
      const toJson = (step: TraceStep) => ({
        at: toTime(step.at),
        step: step.step,
        result: step.result,
        detail: step.detail,
        peer: shown(step),
        message_id: step.messageId,
      });
      return c.json({ steps: steps.map(toJson), routing_log: log.state }, 200);
    },
  );
}

function toSteps({ messages, incoming, outgoing }: Trace): TraceStep[] {
  const queued = new Set(outgoing.map(({ headerMessageId }) => headerMessageId));
  const finished = messages.filter(({ isSent, headerMessageId }) => isSent && !queued.has(headerMessageId));
  return [
    ...messages.filter(({ isSent }) => !isSent).map(toDelivered),
    ...finished.flatMap((row) => toSent(row.at, 'message', row.headerMessageId, row.delivery ?? '[]')),
    ...outgoing.flatMap((row) => toSent(row.at, row.kind, row.headerMessageId, row.recipients)),
    ...incoming.map(
      ({ at, sender, attempts, nextAttemptAt, detail }): TraceStep => ({
        at,
        step: nextAttemptAt === null ? 'quarantined' : 'waiting',
        result: String(attempts),
        detail: detail ?? '',
        peer: sender,
        messageId: null,
      }),
    ),
  ];
}

async function readLog(
  env: Env,
  { address, isOperator }: Subject,
  { since, peer, headerMessageId }: TraceFilter,
  now: number,
): Promise<{ steps: TraceStep[]; state: z.infer<typeof answerSchema>['routing_log'] }> {
  if (!isOperator || address === null) return { steps: [], state: 'not_for_people' };
  try {
    const events = await readRoutingLog(env, { since, until: now, to: address, messageId: headerMessageId });
    if (events === null) return { steps: [], state: 'not_configured' };
    const wanted = events.filter(({ from }) => peer === null || from.toLowerCase() === peer);
    return { steps: wanted.map(toOffered), state: 'read' };
  } catch (error) {
    logError('routing_log_failed', error);
    return { steps: [], state: 'unavailable' };
  }
}

const toOffered = ({
  datetime,
  messageId,
  from,
  status,
  action,
  spf,
  dkim,
  dmarc,
  errorDetail,
}: RoutingEvent): TraceStep => ({
  at: Date.parse(datetime),
  step: 'offered',
  result: status,
  detail: [`${action}; spf=${spf} dkim=${dkim} dmarc=${dmarc}`, errorDetail].filter(Boolean).join('; '),
  peer: from,
  messageId,
});
