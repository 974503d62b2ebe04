/** `/v1/messages/{message_id}` and `/v1/threads/{thread_id}`: reads messages. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { messageSchema, threadPatchSchema, threadSchema } from '../schemas/message.ts';
import { readPositionCursor } from './folders.ts';
import { toMessageJson } from './message-json.ts';
import { messageParamSchema, openOwnMailbox, READ_ROUTE, readOwnMailbox, USER_ROUTE } from './route.ts';
import { openAttachment, openDraft, openRaw, serveStoredBytes } from './stored-bytes.ts';

const threadParamSchema = z.object({ thread_id: z.string().max(100) });
const bytesOf = (type: string) => ({ content: { [type]: { schema: z.string().openapi({ format: 'binary' }) } } });
const RAW = bytesOf('message/rfc822');
const FILE = bytesOf('*/*');

export function addMessages(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/messages/{message_id}',
      operationId: 'getMessage',
      summary: 'Read a message',
      request: {
        params: messageParamSchema,
        query: z.strictObject({
          remote_images: z
            .enum(['true', 'false'])
            .optional()
            .openapi({ description: 'true keeps the addresses of remote images in `html`.' }),
        }),
      },
      responses: { 200: jsonContent(messageSchema, 'The message'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { message_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnMessage(proof, message_id));
      if (!found.ok) return sendProblem(c, found.error);
      const { value: message, user } = found.value;
      const withImages = c.req.valid('query').remote_images === 'true';
      return c.json(await toMessageJson(c.env, message, user.userId, withImages), 200);
    },
  );
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/threads/{thread_id}',
      operationId: 'getThread',
      summary: 'Read a thread, oldest message first',
      request: { params: threadParamSchema, query: pageQuerySchema },
      responses: {
        200: jsonContent(threadSchema, 'The messages of the thread'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const { thread_id } = c.req.valid('param');
      const { limit, cursor } = c.req.valid('query');
      const after = readPositionCursor(cursor);
      if (after === undefined) return sendProblem(c, INVALID_CURSOR);
      const found = await readOwnMailbox(c, (mailbox, proof) =>
        mailbox.readOwnThread(proof, thread_id, after ?? -1, limit),
      );
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value } = found.value;
      const { messages, isMuted, hasMore } = value;
      const data = await Promise.all(messages.map((message) => toMessageJson(c.env, message, user.userId)));
      const last = messages.at(-1);
      const next_cursor = hasMore && last ? encodeCursor([last.position]) : null;
      return c.json({ id: data[0]?.thread_id ?? thread_id, is_muted: isMuted, data, next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'patch',
      path: '/v1/threads/{thread_id}',
      operationId: 'updateThread',
      summary: 'Mute or unmute a thread',
      description: 'Muting archives the messages of the thread as read, and those that arrive later.',
      request: { params: threadParamSchema, ...jsonBody(threadPatchSchema) },
      responses: { 204: { description: 'Done' }, ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { thread_id } = c.req.valid('param');
      const done = await own.value.ask((mailbox) => mailbox.setMuted(thread_id, c.req.valid('json').is_muted));
      return done.ok ? c.body(null, 204) : sendProblem(c, done.error);
    },
  );
  addBytes(api);
}

function addBytes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/messages/{message_id}/raw',
      operationId: 'getRawMessage',
      summary: 'Download the raw message',
      description: 'A draft that was written in the app is composed: the same bytes until it is saved again.',
      request: { params: messageParamSchema },
      responses: {
        200: { description: 'All bytes', ...RAW },
        206: { description: 'The bytes of a Range', ...RAW },
        ...problemResponses(401, 403, 404, 416, 503),
      },
    }),
    async (c) => {
      const { message_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnMessage(proof, message_id));
      if (!found.ok) return sendProblem(c, found.error);
      const { rawKey } = found.value.value;
      const open = rawKey === null ? openDraft(c, found.value.user.userId, message_id) : openRaw(c, rawKey);
      const stored = { open, fileName: `${message_id}.eml`, contentType: 'message/rfc822' };
      return unchecked(await serveStoredBytes(c, stored));
    },
  );
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/messages/{message_id}/attachments/{file_name}',
      operationId: 'getAttachment',
      summary: 'Download an attachment, decoded',
      request: { params: messageParamSchema.extend({ file_name: z.string().max(1_000) }) },
      responses: {
        200: { description: 'All bytes', ...FILE },
        206: { description: 'The bytes of a Range', ...FILE },
        ...problemResponses(401, 403, 404, 416, 503),
      },
    }),
    async (c) => {
      const { message_id, file_name } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnMessage(proof, message_id));
      if (!found.ok) return sendProblem(c, found.error);
      const { attachments, rawKey } = found.value.value;
      const attachment = attachments.find((each) => each.fileName === file_name);
      if (!attachment) return sendProblem(c, NOT_FOUND);
      const open = openAttachment(c, rawKey, attachment);
      return unchecked(await serveStoredBytes(c, { ...attachment, open }));
    },
  );
}
