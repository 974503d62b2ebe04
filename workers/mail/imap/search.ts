/** `POST /v1/imap/search`: finds messages of a folder by their texts. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import type { EmailFilter } from '../domain/email-filter.ts';
import { parseEmailId } from '../domain/email-id.ts';
import { readEmailQuery } from '../jmap/objects/email-query.ts';
import { openOwnMailbox, USER_ROUTE } from '../routes/route.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { searchAnswerSchema, searchSchema } from './schemas.ts';

const FOUND_MAX = 100_000;

export function addImapSearch(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/search',
      operationId: 'searchImapMessages',
      summary: 'Find messages of a folder',
      request: jsonBody(searchSchema),
      responses: { 200: jsonContent(searchAnswerSchema, 'The messages'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { folder_id: folderId, filter } = c.req.valid('json');
      const query = readEmailQuery({ filter, sort: null, collapseThreads: false });
      if (!query.ok) return sendProblem(c, toBadRequest('filter', query.error.description ?? query.error.type));
      const within: EmailFilter = { kind: 'in', folderId };
      const of = query.value.filter ? [within, query.value.filter] : [within];
      const place = { position: 0, anchor: null, anchorOffset: 0, limit: FOUND_MAX, calculateTotal: false };
      const request = { ...query.value, ...place, filter: { kind: 'and', of } as const };
      const found = await own.value.ask((mailbox) => mailbox.queryEmails(request));
      if (!found.ok) return sendProblem(c, found.error);
      const { state, found: answer } = found.value;
      if (typeof answer === 'string') return sendProblem(c, problem(400, 'invalid_request', answer));
      const message_ids = answer.ids.map((id) => parseEmailId(id)?.messageId ?? id);
      return c.json({ state, message_ids }, 200);
    },
  );
}
