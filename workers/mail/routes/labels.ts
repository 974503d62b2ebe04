/** `GET /v1/labels`: labels that a client shows beside the folders. A label exists as long as a message has it. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
} from '../../shared/json/json-api.ts';
import { ok } from '../../shared/pure/result.ts';
import { READ_ROUTE, readOwnMailbox } from './route.ts';

const labelCountsSchema = z
  .object({ label: z.string(), total: z.int(), unread: z.int() })
  .openapi('Label', { description: 'Counts exclude Junk and Trash, like a search for `label:`.' });

export function addLabels(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
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
    async (c) =>
      sendPage(c, c.req.valid('query'), {
        read: async (after, limit) => {
          const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.countOwnLabels(proof, after, limit));
          return found.ok ? ok(found.value.value) : found;
        },
        keyOf: (row) => row.label,
        toItem: (row) => row,
      }),
  );
}
