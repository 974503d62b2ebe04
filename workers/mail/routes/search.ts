/** `GET /v1/messages?q=`: searches messages. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { SearchPage } from '../../../durable-objects/mail/contract/search.ts';

import {
  decodeCursor,
  encodeCursor,
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { summarySchema } from '../schemas/message.ts';
import { toSummaryJson } from './message-json.ts';
import { READ_ROUTE, readOwnMailbox } from './route.ts';

const searchQuerySchema = pageQuerySchema.extend({
  q: z
    .string()
    .max(1_000)
    .default('')
    .openapi({ description: 'Without it: all messages outside Junk and Trash, newest first.' }),
  sort: z.enum(['relevance', 'newest']).default('relevance'),
});

function readPage(cursor: string | undefined): SearchPage | null | undefined {
  if (cursor === undefined) return null;
  const [top, offset, before, ...rest] = decodeCursor(cursor) ?? [];
  if (typeof top !== 'number' || typeof offset !== 'number' || typeof before !== 'number' || rest.length > 0)
    return undefined;
  return { top, offset: offset < 0 ? null : offset, before };
}

export function addSearch(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/messages',
      operationId: 'searchMessages',
      summary: 'Search',
      description:
        'Words (from three characters also the beginnings of words), "phrases", prefix*, from: to: cc: bcc: subject: in: is:unread|read|flagged|answered|forwarded|draft has:attachment filename: label: thread: list: header:name or header:name:text before: after: newer_than:2d older_than:1y larger: smaller:, - negates, OR, parentheses. Another word directly before a colon and a value is 400; quote it to search for it. Junk and Trash are included only if in: names them (in:any is everything). A page takes bounded time: it may hold fewer hits than limit, or none, and still have a next_cursor.',
      request: { query: searchQuerySchema },
      responses: {
        200: jsonContent(pageSchema(summarySchema), 'A page of hits'),
        ...problemResponses(400, 401, 403, 503),
      },
    }),
    async (c) => {
      const { q, sort, limit, cursor } = c.req.valid('query');
      const page = readPage(cursor);
      if (page === undefined) return sendProblem(c, INVALID_CURSOR);
      const found = await readOwnMailbox(c, (mailbox, proof) =>
        mailbox.searchOwn(proof, { query: q, sort, page, limit }),
      );
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value } = found.value;
      const { hits, next } = value;
      return c.json(
        {
          data: hits.map(({ message, snippet }) => toSummaryJson(message, user.userId, snippet)),
          next_cursor: next ? encodeCursor([next.top, next.offset ?? -1, next.before]) : null,
        },
        200,
      );
    },
  );
}
