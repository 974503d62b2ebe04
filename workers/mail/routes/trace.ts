/** `GET /v1/mail/trace`: what became of mail, for operators and for each person's own mail. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Trace, TraceFilter } from '../../../durable-objects/mail/contract/trace.ts';

import { authorizeFirst, findOperator, requireMailUser, requireOperator } from '../../identity/index.ts';
import { recordAudit, SERVICE } from '../../shared/audit/audit.ts';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import {
  decodeCursor,
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { type RoutingEvent, readRoutingLog } from '../bindings/routing-log.ts';
import { type TraceStep, toDelivered, toSent } from '../domain/trace-steps.ts';
import { NOT_FOUND, toBadRequest } from '../schemas/errors.ts';
import { listAllAccounts } from '../store/address-store.ts';
import { findRecipient } from '../store/recipient-store.ts';
import { callMailbox, toTime, USER_ROUTE } from './route.ts';

const TRACED_MS = 30 * 24 * 3_600_000;
const ROWS_MAX = 100;
/** Bounds of a search by Message-ID alone. A request may call 1,000 objects, and has six connections at once. */
const MAILBOXES_PER_REQUEST = 50;
const MAILBOXES_AT_ONCE = 6;
const ROWS_PER_MAILBOX = 10;

const querySchema = z.strictObject({
  address: z.email().max(320).toLowerCase().optional().openapi({
    description:
      "An address hosted here. Operators must name it, or `message_id` alone. A person's own mail is traced without it.",
  }),
  peer: z.email().max(320).toLowerCase().optional().openapi({
    description: 'The address at the other side. Operators see others by their domain only.',
  }),
  message_id: z.string().min(3).max(998).optional().openapi({ description: 'Message-ID of the message.' }),
  cursor: z.string().max(200).optional().openapi({
    description: 'Continues a search by `message_id` alone, which asks 50 mailboxes per request.',
  }),
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
  mailbox: z.string().optional().openapi({ description: 'Address of the mailbox, in a search by `message_id` alone.' }),
});
const answerSchema = z
  .object({
    steps: z.array(stepSchema).openapi({ description: 'The newest first, at most 100 of each kind.' }),
    routing_log: z.enum(['read', 'not_configured', 'unavailable', 'not_for_people', 'not_asked']).openapi({
      description:
        'Whether the activity log of Email Routing was read. Mail that Email Routing refused is only in it, so without it "never offered" is not proven.',
    }),
    next_cursor: z.string().nullable(),
    unreached: z.int().openapi({ description: 'Mailboxes that did not answer a search by `message_id` alone.' }),
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
  if (address === undefined)
    return err(toBadRequest('address', 'Name the address whose mail is traced, or a message_id.'));
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
      const { address, peer, message_id, cursor } = c.req.valid('query');
      if (address === undefined && message_id !== undefined && (await isAskedByOperator(c)))
        return traceEverywhere(c, toHeader(message_id), cursor);
      if (cursor !== undefined) return sendProblem(c, INVALID_CURSOR);
      const subject = await findSubject(c, address);
      if (!subject.ok) return sendProblem(c, subject.error);
      const { userId, isOperator } = subject.value;
      const now = createClock(c.env)();
      const headerMessageId = message_id === undefined ? null : toHeader(message_id);
      const filter = { since: now - TRACED_MS, headerMessageId, peer: peer ?? null, limit: ROWS_MAX };
      const trace = await callMailbox(c.env, userId, (mailbox) => mailbox.readTrace(filter));
      if (!trace.ok) return sendProblem(c, trace.error);
      const log = await readLog(c.env, subject.value, filter, now);
      if (isOperator) await recordAudit(c, 'mail.trace', { type: 'user', id: userId });
      const steps = [...toSteps(trace.value), ...log.steps].sort((a, b) => b.at - a.at);
      const shown = (step: TraceStep) =>
        !isOperator || step.peer.toLowerCase() === peer ? step.peer : domainOf(step.peer);
      const data = steps.map((step) => toJson(step, shown(step)));
      return c.json({ steps: data, routing_log: log.state, next_cursor: null, unreached: 0 }, 200);
    },
  );
}

const toHeader = (messageId: string): string => `<${messageId.replace(/^<|>$/g, '')}>`;
const domainOf = (address: string): string => `@${address.split('@')[1] ?? ''}`;
const toJson = ({ at, step, result, detail, messageId }: TraceStep, peer: string) => ({
  at: toTime(at),
  step,
  result,
  detail,
  peer,
  message_id: messageId,
});

async function isAskedByOperator(c: Context<JsonApiEnv>): Promise<boolean> {
  const operator = await findOperator(c);
  return operator.ok && operator.value;
}

/**
 * Looks for a message in all mailboxes, a page of them per request. Each mailbox reads its messages of 30 days. Mail that waits for
 * delivery has no known Message-ID, so it is left out.
 */
async function traceEverywhere(c: Context<JsonApiEnv>, headerMessageId: string, cursor: string | undefined) {
  const allowed = await requireOperator(c);
  if (!allowed.ok) return sendProblem(c, allowed.error);
  const [after] = cursor === undefined ? [''] : (decodeCursor(cursor) ?? []);
  if (typeof after !== 'string') return sendProblem(c, INVALID_CURSOR);
  const accounts = await listAllAccounts(c.env, after, MAILBOXES_PER_REQUEST + 1);
  const asked = accounts.slice(0, MAILBOXES_PER_REQUEST);
  const filter = { since: createClock(c.env)() - TRACED_MS, headerMessageId, peer: null, limit: ROWS_PER_MAILBOX };
  const found: (TraceStep & { readonly mailbox: string })[] = [];
  let unreached = 0;
  await runInParallel(asked, MAILBOXES_AT_ONCE, async ({ userId, email }) => {
    const trace = await callMailbox(c.env, userId, (mailbox) => mailbox.readTrace(filter));
    if (trace.ok) found.push(...toSteps({ ...trace.value, incoming: [] }).map((step) => ({ ...step, mailbox: email })));
    else if (trace.error.status === 503) unreached += 1;
  });
  await recordAudit(c, 'mail.trace', SERVICE, { mailboxes: asked.length });
  const last = asked.at(-1);
  const next_cursor = accounts.length > asked.length && last ? encodeCursor([last.userId]) : null;
  found.sort((a, b) => b.at - a.at);
  const steps = found.map((step) => ({ ...toJson(step, domainOf(step.peer)), mailbox: step.mailbox }));
  return c.json({ steps, routing_log: 'not_asked' as const, next_cursor, unreached }, 200);
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
