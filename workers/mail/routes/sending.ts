/** `POST /v1/messages`: sends messages and cancels them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireMailUser } from '../../identity/index.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { cancelAnswerSchema, submitAnswerSchema, submitSchema } from '../outbound/submission/request-schema.ts';
import { submitMessage } from '../outbound/submission/submit-message.ts';
import { MAILBOX_UNAVAILABLE, NOT_FOUND } from '../schemas/errors.ts';
import { toDeliveryJson } from './message-json.ts';
import { messageParamSchema, USER_ROUTE } from './route.ts';

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
