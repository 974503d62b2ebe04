/** `GET /v1/labels`: labels that a client shows beside the folders. A label exists while a message has it. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  INVALID_CURSOR,
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  readCursorKey,
  sendProblem,
  toPage,
} from '../../shared/json-api.ts';
import { openOwnMailbox, USER_ROUTE } from './route.ts';

const labelCountsSchema = z
  .object({ label: z.string(), total: z.int(), unread: z.int() })
  .openapi('Label', { description: 'Counts exclude Junk and Trash, like a search for `label:`.' });

export function addLabels(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/labels',
      operationId: 'listLabels',
      summary: 'List the labels of your messages, with their counts',
      request: { query: pageQuerySchema },
      responses: {
        200: jsonContent(pageSchema(labelCountsSchema), 'A page, by name'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { limit, cursor } = c.req.valid('query');
      const after = readCursorKey(cursor);
      if (after === null) return sendProblem(c, INVALID_CURSOR);
      const found = await own.value.ask((mailbox) => mailbox.countLabels(after, limit + 1));
      if (!found.ok) return sendProblem(c, found.error);
      const { rows, next_cursor } = toPage(found.value, limit, (row) => row.label);
      return c.json({ data: rows, next_cursor }, 200);
    },
  );
}
