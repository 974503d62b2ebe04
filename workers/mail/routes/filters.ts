/** `/v1/filters`: rules for incoming mail. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Filter } from '../../../durable-objects/mail/contract/rules.ts';

import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import type { FilterRule } from '../domain/filter-rule.ts';
import { filterAnswerSchema, filterSchema } from '../schemas/filter.ts';
import { openOwnMailbox, READ_ROUTE, readOwnMailbox, USER_ROUTE } from './route.ts';

const paramSchema = z.object({ filter_id: z.string().max(100) });

const toFilterJson = ({ filterId, ...rule }: Filter) =>
  ({ id: filterId, ...rule }) as z.infer<typeof filterAnswerSchema>;

function toRule(body: z.infer<typeof filterSchema>): { rule: FilterRule; at: number | null } {
  const { position, ...rule } = body;
  return { rule, at: position ?? null };
}

const doesForward = (rule: FilterRule): boolean => rule.actions.some(({ type }) => type === 'forward');

async function announceForward(c: Context<JsonApiEnv>, userId: string): Promise<void> {
  await recordAudit(c, 'forward_filter.set', { type: 'user', id: userId });
  noticeOwner(c, userId, 'forward_filter');
}

export function addFilters(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/filters',
      operationId: 'listFilters',
      summary: 'List filters in the order in which they run',
      responses: { 200: jsonContent(z.array(filterAnswerSchema), 'All filters'), ...problemResponses(401, 403, 503) },
    }),
    async (c) => {
      const filters = await readOwnMailbox(c, (mailbox, proof) => mailbox.listOwnFilters(proof));
      return filters.ok ? c.json(filters.value.value.map(toFilterJson), 200) : sendProblem(c, filters.error);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/filters',
      operationId: 'createFilter',
      summary: 'Add a filter',
      request: jsonBody(filterSchema),
      responses: { 201: jsonContent(filterAnswerSchema, 'The filter'), ...problemResponses(400, 401, 403, 409, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { rule, at } = toRule(c.req.valid('json'));
      const made = await own.value.ask((mailbox) => mailbox.insertFilter(rule, at));
      if (!made.ok) return sendProblem(c, made.error);
      if (doesForward(rule)) await announceForward(c, own.value.user.userId);
      return c.json(toFilterJson(made.value), 201);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'put',
      path: '/v1/filters/{filter_id}',
      operationId: 'replaceFilter',
      summary: 'Replace a filter, or change its position',
      request: { params: paramSchema, ...jsonBody(filterSchema) },
      responses: { 200: jsonContent(filterAnswerSchema, 'The filter'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { rule, at } = toRule(c.req.valid('json'));
      const { filter_id } = c.req.valid('param');
      const saved = await own.value.ask((mailbox) => mailbox.replaceFilter(filter_id, rule, at));
      if (!saved.ok) return sendProblem(c, saved.error);
      if (doesForward(rule)) await announceForward(c, own.value.user.userId);
      return c.json(toFilterJson(saved.value), 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/filters/{filter_id}',
      operationId: 'deleteFilter',
      summary: 'Remove a filter',
      request: { params: paramSchema },
      responses: { 204: { description: 'Removed' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const gone = await own.value.ask((mailbox) => mailbox.deleteFilter(c.req.valid('param').filter_id));
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
  addApply(api);
}

function addApply(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/filters/{filter_id}/apply',
      operationId: 'applyFilter',
      summary: 'Run a filter over existing mail except Junk and Trash; forwards nothing',
      request: { params: paramSchema },
      responses: {
        200: jsonContent(z.object({ looked: z.int(), changed: z.int() }), 'How many messages were read and changed'),
        ...problemResponses(401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { filter_id } = c.req.valid('param');
      let [looked, changed] = [0, 0];
      // Applies the filter in several calls, so that the mailbox serves other requests in between.
      for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
        const from: number = before;
        const round = await own.value.ask((mailbox) => mailbox.applyFilter(filter_id, from));
        if (!round.ok) return sendProblem(c, round.error);
        looked += round.value.looked;
        changed += round.value.changed;
        before = round.value.before;
      }
      return c.json({ looked, changed }, 200);
    },
  );
}
