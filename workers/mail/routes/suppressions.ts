/** `/v1/outbound/suppressions`: addresses to which Cloudflare Email Service sends nothing. Operators see the list and lift entries. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { openSuppressionList, type Suppression, type SuppressionList } from '../bindings/suppression-list.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';

const NO_TOKEN = problem(409, 'no_mail_token', 'Set the secret CLOUDFLARE_MAIL_TOKEN to read the suppression list.');
const UNREADABLE = problem(502, 'suppressions_unavailable', "Cloudflare's suppression list cannot be read now.");
const NOT_FOUND = problem(404, 'no_such_suppression', 'The suppression list has no such entry.');
const READ_ONLY = problem(409, 'suppression_read_only', 'Only Cloudflare Support can lift this entry.');
const REASON_NEEDED = problem(
  400,
  'reason_required',
  'The recipient complained. Say in `reason` why mail is wanted again.',
);

const suppressionSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    reason: z.string().openapi({ description: 'manual, complaint, hard_bounce, soft_bounce or policy.' }),
    domain: z.string().nullable().openapi({ description: 'Null: for mail of every domain.' }),
    created_at: z.string(),
    until: z.string().nullable().openapi({ description: 'Null: without an end.' }),
    read_only: z.boolean().openapi({ description: 'Only Cloudflare Support can lift it.' }),
  })
  .openapi('Suppression');

const liftSchema = z
  .strictObject({
    reason: z
      .string()
      .trim()
      .min(1)
      .max(500)
      .optional()
      .openapi({ description: 'Required for a complaint. It is in the audit log.' }),
  })
  .openapi('SuppressionLift', { example: { reason: 'Subscribed again on 24 November.' } });

const toJson = (entry: Suppression) => ({
  id: entry.id,
  email: entry.email,
  reason: entry.reason,
  domain: entry.domain,
  created_at: toTime(entry.createdAt),
  until: entry.expiresAt === null ? null : toTime(entry.expiresAt),
  read_only: entry.isReadOnly,
});

/** Calls Cloudflare's list. Its failure is 502. */
async function ask<T>(env: Env, call: (list: SuppressionList) => Promise<T>): Promise<Result<T, Problem>> {
  const list = openSuppressionList(env);
  if (list === null) return err(NO_TOKEN);
  try {
    return ok(await call(list));
  } catch (error) {
    logError('suppression_list_failed', error);
    return err(UNREADABLE);
  }
}

async function lift(env: Env, id: string, reason: string | undefined): Promise<Result<Suppression, Problem>> {
  const found = await ask(env, (list) => list.find(id));
  if (!found.ok) return found;
  const entry = found.value;
  if (entry === null) return err(NOT_FOUND);
  if (entry.isReadOnly) return err(READ_ONLY);
  if (entry.reason === 'complaint' && reason === undefined) return err(REASON_NEEDED);
  const lifted = await ask(env, (list) => list.lift(id));
  if (!lifted.ok) return lifted;
  return lifted.value ? ok(entry) : err(READ_ONLY);
}

export function addSuppressions(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/outbound/suppressions',
      operationId: 'listSuppressions',
      summary: "Read Cloudflare's suppression list",
      description: 'A page may be short or empty although `next_cursor` is set.',
      request: { query: pageQuerySchema.extend({ email: z.string().max(320).optional() }) },
      responses: {
        200: jsonContent(pageSchema(suppressionSchema), 'A page'),
        ...problemResponses(400, 401, 403, 409, 502),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { limit, cursor, email } = c.req.valid('query');
      const query = { limit, ...(cursor === undefined ? {} : { cursor }), ...(email === undefined ? {} : { email }) };
      const page = await ask(c.env, (list) => list.list(query));
      if (!page.ok) return sendProblem(c, page.error);
      return c.json({ data: page.value.entries.map(toJson), next_cursor: page.value.nextCursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/outbound/suppressions/{id}/lift',
      operationId: 'liftSuppression',
      summary: 'Lift an entry of the suppression list, so that mail to the address is sent again',
      request: {
        params: z.object({ id: z.string().max(100) }),
        body: { required: false, content: { 'application/json': { schema: liftSchema } } },
      },
      responses: {
        200: jsonContent(suppressionSchema, 'The entry that was lifted'),
        ...problemResponses(400, 401, 403, 404, 409, 413, 502),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { id } = c.req.valid('param');
      const { reason } = c.req.valid('json');
      const lifted = await lift(c.env, id, reason);
      if (!lifted.ok) return sendProblem(c, lifted.error);
      const details = { suppressed_for: lifted.value.reason, ...(reason === undefined ? {} : { reason }) };
      await recordAudit(c, 'suppression.lift', { type: 'suppression', id }, details);
      return c.json(toJson(lifted.value), 200);
    },
  );
}
