/** `/v1/inbound`: mail from SMTP gateways, and the ledger of incoming mail. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  rawBody,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { acceptMessage, checkRecipient } from '../inbound/accept/accept-message.ts';
import type { RecipientReply } from '../inbound/accept/resolve-recipient.ts';
import { listRefusals, readLedgerTotals } from '../store/queue-store.ts';
import { GATEWAY_ROUTE, OPERATOR_ROUTE, requireGateway, toTime } from './route.ts';

const replySchema = z.object({ email: z.string(), smtp_code: z.int(), detail: z.string() }).openapi('RecipientReply');
const repliesSchema = z.object({ recipients: z.array(replySchema) }).openapi('RecipientReplies');

const checkSchema = z
  .strictObject({
    from: z.string().max(1_000),
    to: z.string().max(1_000),
    size: z.int().min(0).optional().openapi({ description: 'Size of the message, if the client declared it (SIZE=).' }),
    recipients: z.int().min(0).default(0).openapi({
      description:
        'Number of recipients of this message that were accepted before. From the 101st on the reply is 452.',
    }),
  })
  .openapi('RecipientCheck');

const ledgerSchema = z
  .object({
    accepted: z.int(),
    pending: z.int(),
    deferred: z.int().openapi({ description: 'Pending messages with a failed attempt, to be retried.' }),
    oldest_pending_at: z.string().nullable(),
    outcomes: z.object({ inbox: z.int(), junk: z.int(), folder: z.int(), quarantine: z.int(), refused: z.int() }),
    balanced: z.boolean().openapi({ description: 'Whether accepted equals pending plus all outcomes.' }),
    turned_away: z.array(z.object({ day: z.string(), smtp_code: z.int(), reason: z.string(), count: z.int() })),
  })
  .openapi('InboundLedger');

/** Converts the envelope sender of a gateway. Some gateways write the null sender, which is empty here, as `<>`. */
const toSender = (text: string): string => text.trim().replace(/^<|>$/g, '');

/** Decides the HTTP status: a specific one if all recipients fail for the same reason, otherwise 202. */
function decideStatus(replies: readonly RecipientReply[]): 202 | 413 | 422 | 503 {
  const codes = new Set(replies.map((reply) => reply.smtp_code));
  const [code] = codes;
  if (codes.size !== 1 || code === undefined || code < 400) return 202;
  if (code < 500) return 503;
  return code === 552 ? 413 : 422;
}

export function addInbound(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...GATEWAY_ROUTE,
      method: 'post',
      path: '/v1/inbound',
      operationId: 'submitInboundMessage',
      summary: 'Accept a message from an SMTP gateway',
      description:
        'The body is the raw RFC 5322 bytes. The envelope is in `x-envelope-from` (empty or `<>` for the null sender), `x-envelope-to` (comma-separated), `x-client-ip` and `x-helo`.',
      request: rawBody('message/rfc822'),
      responses: {
        202: jsonContent(repliesSchema, 'A reply for each recipient'),
        413: jsonContent(repliesSchema, 'Too large for every recipient'),
        422: jsonContent(repliesSchema, 'Refused for every recipient'),
        503: jsonContent(repliesSchema, 'Temporarily refused for every recipient'),
        ...problemResponses(400, 401, 403),
      },
    }),
    async (c) => {
      const caller = await requireGateway(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const from = c.req.header('x-envelope-from') ?? '';
      const to = (c.req.header('x-envelope-to') ?? '')
        .split(',')
        .map((address) => address.trim().replace(/^<|>$/g, ''))
        .filter((address) => address !== '');
      const { body } = c.req.raw;
      if (to.length === 0 || !body)
        return sendProblem(c, problem(400, 'no_envelope', 'x-envelope-to and a body are required.'));
      const length = c.req.header('content-length');
      const recipients = await acceptMessage(
        c.env,
        {
          from: toSender(from),
          to,
          clientIp: c.req.header('x-client-ip') ?? null,
          helo: c.req.header('x-helo') ?? null,
        },
        { body, sizeBytes: length !== undefined && /^\d+$/.test(length) ? Number(length) : null },
      );
      return c.json({ recipients }, decideStatus(recipients));
    },
  );
  addRecipientCheck(api);
  addLedger(api);
}

function addRecipientCheck(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...GATEWAY_ROUTE,
      method: 'post',
      path: '/v1/inbound/check',
      operationId: 'checkInboundRecipient',
      summary: 'Check a recipient at RCPT',
      request: jsonBody(checkSchema),
      responses: { 200: jsonContent(replySchema, 'The reply'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireGateway(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { from, to, size, recipients } = c.req.valid('json');
      const path = { from: toSender(from), to };
      return c.json(await checkRecipient(c.env, path, size ?? null, recipients), 200);
    },
  );
}

function addLedger(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/inbound',
      operationId: 'listInboundMessages',
      summary: 'Read the ledger: accepted mail and its outcomes',
      responses: { 200: jsonContent(ledgerSchema, 'Totals over all mailboxes'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const totals = await readLedgerTotals(c.env);
      const { inbox, junk, folder, quarantine, refused } = totals;
      const refusals = await listRefusals(c.env.DIRECTORY, 200);
      return c.json(
        {
          accepted: totals.accepted,
          pending: totals.pending,
          deferred: totals.deferred,
          oldest_pending_at: totals.oldestPendingAt === null ? null : toTime(totals.oldestPendingAt),
          outcomes: { inbox, junk, folder, quarantine, refused },
          balanced: totals.accepted === totals.pending + inbox + junk + folder + quarantine + refused,
          turned_away: refusals.map(({ day, smtpCode, reason, count }) => ({
            day,
            smtp_code: smtpCode,
            reason,
            count,
          })),
        },
        200,
      );
    },
  );
}
