/** `POST /v1/messages`: sends messages and cancels them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, ValidationTargets } from 'hono';
import { requireMailUser } from '../../identity/index.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
  toValidationProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { listRecipients, recordRefusal } from '../outbound/submission/refusal.ts';
import { cancelAnswerSchema, submitAnswerSchema, submitSchema } from '../outbound/submission/request-schema.ts';
import { submitMessage } from '../outbound/submission/submit-message.ts';
import { MAILBOX_UNAVAILABLE, NOT_FOUND } from '../schemas/errors.ts';
import { toDeliveryJson } from './message-json.ts';
import { messageParamSchema, USER_ROUTE } from './route.ts';

/** Whether a body that the schema refuses is a mail. With an unknown member, or as another value than an object, it is not. */
const isMail = ({ issues }: Pick<z.ZodError, 'issues'>): boolean =>
  issues.every(({ code, path }) => code !== 'unrecognized_keys' && path.length > 0);

async function refuseBody(c: Context<JsonApiEnv>, error: z.ZodError, target: keyof ValidationTargets) {
  const refusal = toValidationProblem(error, target);
  if (target === 'json' && isMail(error)) {
    const caller = await requireMailUser(c);
    const request: unknown = await c.req.json();
    const refused = { requestJson: JSON.stringify(request), recipients: listRecipients(request) };
    if (caller.ok) await recordRefusal(c.env, caller.value.userId, refusal, refused);
  }
  return sendProblem(c, refusal);
}

export function addSending(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/messages',
      operationId: 'sendMessage',
      summary: 'Send a message',
      request: {
        headers: z.object({ 'idempotency-key': z.string().min(1).max(255).optional() }),
        ...jsonBody(submitSchema),
      },
      responses: {
        202: jsonContent(submitAnswerSchema, 'The message is in Sent and in the outbox'),
        ...problemResponses(400, 401, 403, 404, 409, 413, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      try {
        const submitted = await submitMessage(c.env, caller.value, c.req.valid('json'), {
          idempotencyKey: c.req.header('idempotency-key') ?? null,
          requestJson: JSON.stringify(c.req.valid('json')),
          waitUntil: (work) => c.executionCtx.waitUntil(work),
        });
        if (!submitted.ok) return sendProblem(c, submitted.error);
        const { messageId, emailId, delivery } = submitted.value;
        const states = delivery.map(toDeliveryJson);
        return c.json({ id: messageId, email_id: emailId, status: 'queued' as const, delivery: states }, 202);
      } catch (error) {
        logError('submission_failed', error, { request_id: c.get('requestId') });
        return sendProblem(c, MAILBOX_UNAVAILABLE);
      }
    },
    (result, c) => (result.success ? undefined : refuseBody(c, result.error, result.target)),
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/messages/{message_id}/cancel',
      operationId: 'cancelMessage',
      summary: 'Cancel a message that has not been sent',
      request: { params: messageParamSchema },
      responses: {
        200: jsonContent(cancelAnswerSchema, 'Canceled; the message is a draft again'),
        ...problemResponses(401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { message_id } = c.req.valid('param');
      const canceled = await openMailbox(c.env, caller.value.userId).cancelSubmission(message_id);
      if (!canceled.ok) {
        const isLate = canceled.error.kind === 'too_late';
        return sendProblem(c, isLate ? problem(409, 'too_late', 'The message was already sent.') : NOT_FOUND);
      }
      const delivery = canceled.value.delivery.map(toDeliveryJson);
      return c.json({ id: message_id, delivery, draft_id: canceled.value.draftId }, 200);
    },
  );
}
