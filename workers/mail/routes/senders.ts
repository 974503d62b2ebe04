/** `/v1/senders`: senders that the caller trusts or blocks. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Sender } from '../../../durable-objects/mail/contract/contacts.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { senderAnswerSchema, senderSchema, senderStatusSchema } from '../schemas/sender.ts';
import { openOwnMailbox, toTime, USER_ROUTE } from './route.ts';

const toSenderJson = (sender: Sender) => ({
  id: sender.senderId,
  sender: sender.sender,
  kind: sender.kind,
  status: sender.status,
  origin: sender.origin,
  created_at: toTime(sender.createdAt),
});

export function addSenders(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/senders',
      operationId: 'listSenders',
      summary: 'List trusted and blocked senders',
      request: { query: pageQuerySchema.extend({ status: senderStatusSchema.optional() }) },
      responses: {
        200: jsonContent(pageSchema(senderAnswerSchema), 'A page, by sender'),
        ...problemResponses(400, 401, 403, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { status = null, ...page } = c.req.valid('query');
      return sendPage(c, page, {
        read: (after, limit) => own.value.ask((mailbox) => mailbox.listSenders(status, after, limit)),
        keyOf: (row) => row.sender,
        toItem: toSenderJson,
      });
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/senders',
      operationId: 'saveSender',
      summary: 'Trust or block a sender',
      description: 'Replaces an earlier decision about the same sender.',
      request: jsonBody(senderSchema),
      responses: { 201: jsonContent(senderAnswerSchema, 'The sender'), ...problemResponses(400, 401, 403, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { sender, status } = c.req.valid('json');
      const saved = await own.value.ask((mailbox) => mailbox.saveSender(sender, status));
      return saved.ok ? c.json(toSenderJson(saved.value), 201) : sendProblem(c, saved.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/senders/{sender_id}',
      operationId: 'deleteSender',
      summary: 'Delete a trusted or blocked sender',
      request: { params: z.object({ sender_id: z.string().max(100) }) },
      responses: { 204: { description: 'Forgotten' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const gone = await own.value.ask((mailbox) => mailbox.deleteSender(c.req.valid('param').sender_id));
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
}
