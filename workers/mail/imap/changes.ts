/** `/v1/imap`: changes of messages in a folder. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { openOwnMailbox, USER_ROUTE } from '../routes/route.ts';
import { toRows, toStateJson } from './account.ts';
import { toImapMarks } from './keywords.ts';
import {
  copyAnswerSchema,
  copySchema,
  expungeAnswerSchema,
  expungeSchema,
  flagsAnswerSchema,
  flagsSchema,
} from './schemas.ts';

const PROBLEMS = problemResponses(400, 401, 403, 404, 503);

export function addImapChanges(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/flags',
      operationId: 'markImapMessages',
      summary: 'Add and remove keywords of messages in a folder',
      request: jsonBody(flagsSchema),
      responses: { 200: jsonContent(flagsAnswerSchema, 'The messages'), ...PROBLEMS },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { folder_id, message_ids, add, remove, unchanged_since } = c.req.valid('json');
      const marking = {
        messageIds: message_ids,
        marks: toImapMarks(add, remove),
        unchangedSince: unchanged_since === undefined ? null : Number(unchanged_since),
      };
      const done = await own.value.ask((mailbox) => mailbox.markInFolder(folder_id, marking));
      if (!done.ok) return sendProblem(c, done.error);
      const messages = await toRows(c.env, own.value.user.userId, done.value.messages);
      return c.json({ ...toStateJson(done.value), messages, modified: [...done.value.modified] }, 200);
    },
  );
  addMoves(api);
}

function addMoves(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/copy',
      operationId: 'copyImapMessages',
      summary: 'Copy or move messages to another folder',
      description: 'A message that is there already keeps its UID. A move into or out of Junk trains the spam filter.',
      request: jsonBody(copySchema),
      responses: {
        200: jsonContent(copyAnswerSchema, 'The messages'),
        ...problemResponses(400, 401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { from_folder_id: fromKey, to_folder_id: toKey, message_ids, move: isMove } = c.req.valid('json');
      const done = await own.value.ask((mailbox) => mailbox.copyToFolder({ fromKey, toKey, isMove }, message_ids));
      if (!done.ok) return sendProblem(c, done.error);
      const copied = done.value.copied.map(([id, from, to]) => [id, from, to] as [string, number, number]);
      return c.json({ ...toStateJson(done.value), copied }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/expunge',
      operationId: 'expungeImapMessages',
      summary: 'Remove messages with the keyword $deleted from a folder',
      description:
        '`message_ids: null` is all of them. If it is the last folder of a message, the message moves to Trash. In Trash, Junk and Drafts it is permanently deleted.',
      request: jsonBody(expungeSchema),
      responses: { 200: jsonContent(expungeAnswerSchema, 'The removed messages'), ...PROBLEMS },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { folder_id, message_ids } = c.req.valid('json');
      const done = await own.value.ask((mailbox) => mailbox.expungeFolder(folder_id, message_ids));
      if (!done.ok) return sendProblem(c, done.error);
      const gone = done.value.gone.map(([id, uid]) => [id, uid] as [string, number]);
      return c.json({ ...toStateJson(done.value), gone }, 200);
    },
  );
}
