/** Routes that change messages: one, or up to 1,000 in one transaction. */

import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi';
import type { BatchPatch, MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';
import type { BatchPlace, BatchRound } from '../../../durable-objects/mail/contract/search.ts';

import {
  decodeCursor,
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { readListId, toListQuery } from '../domain/list-query.ts';
import { readFlagJson } from '../domain/message-flags.ts';
import { UNSUBSCRIBED_LABEL } from '../domain/unsubscribe.ts';
import { leaveList } from '../outbound/leave-list.ts';
import { NOT_FOUND, toBadRequest } from '../schemas/errors.ts';
import {
  BATCH_MAX,
  batchAnswerSchema,
  batchSchema,
  type MessagePatchRequest,
  messagePatchSchema,
  messageSchema,
  unsubscribeAnswerSchema,
} from '../schemas/message.ts';
import { toMessageJson } from './message-json.ts';
import { type AskMailbox, messageParamSchema, openOwnMailbox, USER_ROUTE } from './route.ts';

type PatchBody = MessagePatchRequest & Partial<Pick<z.infer<typeof batchSchema>, 'add_labels' | 'remove_labels'>>;

const toPatch = (body: PatchBody): BatchPatch => ({
  ...readFlagJson(body),
  snoozedUntil: body.snoozed_until ? Date.parse(body.snoozed_until) : body.snoozed_until === null ? null : undefined,
  folderKey: body.folder_id,
  labels: body.labels,
  addLabels: body.add_labels,
  removeLabels: body.remove_labels,
});

/** The newest message of a list. Once it is marked, later messages without the mark are known to have come after the user left. */
async function findNewestOfList(ask: AskMailbox, { headers, from }: MessageDetail): Promise<string[]> {
  const listId = readListId(headers);
  const query = toListQuery(listId, from?.email ?? null);
  if (query === null) return [];
  const found = await ask((mailbox) => mailbox.search({ query, sort: 'newest', page: null, limit: 1 }));
  const hits = found.ok ? found.value.hits : [];
  return hits.flatMap(({ message }) =>
    listId !== null || message.from?.email === from?.email ? message.messageId : [],
  );
}

export function addMessageChanges(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'patch',
      path: '/v1/messages/{message_id}',
      operationId: 'updateMessage',
      summary: 'Mark, flag, move or label a message',
      request: { params: messageParamSchema, ...jsonBody(messagePatchSchema) },
      responses: {
        200: jsonContent(messageSchema, 'The changed message'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { message_id } = c.req.valid('param');
      if (!isSnoozeValid(c.env, c.req.valid('json'))) return sendProblem(c, SNOOZE_INVALID);
      const patched = await own.value.ask((mailbox) =>
        mailbox.patchMessages([message_id], toPatch(c.req.valid('json'))),
      );
      if (!patched.ok) return sendProblem(c, patched.error);
      if (patched.value[0]?.status === 'not_found') return sendProblem(c, NOT_FOUND);
      const found = await own.value.ask((mailbox) => mailbox.readMessage(message_id));
      if (!found.ok) return sendProblem(c, found.error);
      return c.json(await toMessageJson(c.env, found.value, own.value.user.userId), 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/messages/{message_id}/unsubscribe',
      operationId: 'unsubscribe',
      summary: 'Unsubscribe from the mailing list of a message',
      description:
        'By one click (RFC 8058) if a valid DKIM signature covers both header fields, else by a message to the address that the list names, which is then in Sent. The message and the newest one of its list then have the label $unsubscribed.',
      request: { params: messageParamSchema },
      responses: {
        200: jsonContent(unsubscribeAnswerSchema, 'The request to unsubscribe was sent'),
        ...problemResponses(400, 401, 403, 404, 409, 413, 429, 502, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { message_id: id } = c.req.valid('param');
      const found = await own.value.ask((mailbox) => mailbox.readMessage(id));
      if (!found.ok) return sendProblem(c, found.error);
      const left = await leaveList(c.env, own.value.user, found.value);
      if (!left.ok) return sendProblem(c, left.error);
      // The list accepted the request, so a failure to set the label is not reported. The page then offers to unsubscribe again.
      const ids = [...new Set([id, ...(await findNewestOfList(own.value.ask, found.value))])];
      await own.value.ask((mailbox) => mailbox.patchMessages(ids, { addLabels: [UNSUBSCRIBED_LABEL] }));
      return c.json({ method: left.value }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/messages/{message_id}',
      operationId: 'deleteMessage',
      summary: 'Move a message to Trash, or delete it permanently from Trash',
      request: { params: messageParamSchema },
      responses: { 204: { description: 'Done' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const deleted = await own.value.ask((mailbox) => mailbox.deleteMessages([c.req.valid('param').message_id]));
      if (!deleted.ok) return sendProblem(c, deleted.error);
      return deleted.value[0]?.status === 'not_found' ? sendProblem(c, NOT_FOUND) : c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/messages/batch',
      operationId: 'updateMessages',
      summary: 'Apply the same change to many messages',
      description:
        'Up to 1,000 message_ids are changed in one transaction. With a query, a request changes about 1,000 of the messages that it finds, newest first, and never those that arrived after the first request. Repeat it with next_cursor.',
      request: jsonBody(batchSchema),
      responses: {
        200: jsonContent(batchAnswerSchema, 'The result for each message, in order'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { message_ids, query, cursor, delete: isDelete, ...body } = c.req.valid('json');
      const hasPatch = Object.keys(body).length > 0;
      if ((isDelete === true) === hasPatch)
        return sendProblem(c, toBadRequest('delete', 'Give either delete or a change, not both.'));
      if (!isSnoozeValid(c.env, body)) return sendProblem(c, SNOOZE_INVALID);
      const place = readPlace(cursor);
      if (place === undefined) return sendProblem(c, INVALID_CURSOR);
      const change = isDelete ? 'delete' : toPatch(body);
      if (query !== undefined && message_ids === undefined) {
        const done = await changeAll(own.value.ask, query, place, change);
        if (!done.ok) return sendProblem(c, done.error);
        const { results, next, progress } = done.value;
        const next_cursor = next && encodeCursor([next.top, next.before]);
        return c.json({ results: [...results], progress, next_cursor }, 200);
      }
      if (message_ids === undefined || query !== undefined || cursor !== undefined)
        return sendProblem(
          c,
          toBadRequest('query', 'Give either message_ids or a query, and a cursor only with a query.'),
        );
      const done = await own.value.ask((mailbox) =>
        change === 'delete' ? mailbox.deleteMessages(message_ids) : mailbox.patchMessages(message_ids, change),
      );
      return done.ok
        ? c.json({ results: done.value, progress: 1, next_cursor: null }, 200)
        : sendProblem(c, done.error);
    },
  );
}

const SNOOZE_MAX_MS = 366 * 24 * 3_600_000;
const SNOOZE_INVALID = toBadRequest('snoozed_until', 'A time in the future, at most a year ahead.');

function isSnoozeValid(env: Env, { snoozed_until: until }: PatchBody): boolean {
  if (!until) return true;
  const waitMs = Date.parse(until) - createClock(env)();
  return waitMs > 0 && waitMs <= SNOOZE_MAX_MS;
}

function readPlace(cursor: string | undefined): BatchPlace | null | undefined {
  if (cursor === undefined) return null;
  const [top, before, ...rest] = decodeCursor(cursor) ?? [];
  return typeof top === 'number' && typeof before === 'number' && rest.length === 0 ? { top, before } : undefined;
}

/** Maximum of rounds per request. It is needed because a round of a rare search may find nothing. */
const ROUNDS_MAX = 8;

/** Changes the messages that a search finds, up to about 1,000 of them, in several transactions. */
async function changeAll(
  ask: AskMailbox,
  query: string,
  from: BatchPlace | null,
  change: BatchPatch | 'delete',
): Promise<Result<BatchRound, Problem>> {
  let total: BatchRound = { results: [], next: from, progress: 0 };
  for (let round = 0; round < ROUNDS_MAX && total.results.length < BATCH_MAX; round++) {
    const done = await ask((mailbox) => mailbox.changeFound(query, total.next, change));
    if (!done.ok) return done;
    total = { ...done.value, results: [...total.results, ...done.value.results] };
    if (total.next === null) break;
  }
  return ok(total);
}
