/** `GET /v1/audit`: the audit log, for operators. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { AUDIT_ACTIONS, TARGET_TYPES } from '../../shared/audit/audit.ts';
import { type AuditRow, createAuditStore } from '../../shared/audit/audit-store.ts';
import {
  createRoutes,
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
import { ACTOR_KINDS } from '../../shared/pure/audit-actor.ts';
import { compareText, readMerged } from '../../shared/stores/directories.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';

const entrySchema = z
  .object({
    id: z.string(),
    at: z.string().openapi({ format: 'date-time' }),
    action: z.string(),
    actor: z.object({
      kind: z.enum(ACTOR_KINDS),
      id: z.string().openapi({ description: 'The id of the token, operator or user; else the kind' }),
    }),
    target: z.object({ type: z.enum(TARGET_TYPES), id: z.string() }),
    network: z.string().nullable().openapi({ description: 'The /24 (IPv4) or /48 (IPv6) of the client' }),
    user_agent_digest: z.string().nullable().openapi({ description: 'SHA-256 of the User-Agent, first 16 digits' }),
    request_id: z.string().nullable(),
    details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  })
  .openapi('AuditEntry');

const timeSchema = z.iso.datetime({ offset: true }).optional();
const querySchema = pageQuerySchema.extend({
  action: z.enum(AUDIT_ACTIONS).optional(),
  actor: z.string().max(200).optional().openapi({ description: 'Id of the actor; `root` or `system` for these' }),
  target: z.string().max(200).optional().openapi({ description: 'Id of the target' }),
  since: timeSchema,
  until: timeSchema,
});

const toEntryJson = (row: AuditRow): z.infer<typeof entrySchema> => ({
  id: row.entryId,
  at: new Date(row.at).toISOString(),
  action: row.action,
  actor: { kind: z.enum(ACTOR_KINDS).parse(row.actorKind), id: row.actorId },
  target: { type: z.enum(TARGET_TYPES).parse(row.targetType), id: row.targetId },
  network: row.network,
  user_agent_digest: row.userAgentDigest,
  request_id: row.requestId,
  details: row.details,
});

const toMs = (time: string | undefined): number | undefined => (time === undefined ? undefined : Date.parse(time));

const newestFirst = (a: AuditRow, b: AuditRow): number => b.at - a.at || compareText(b.entryId, a.entryId);

export function createAuditApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  const list = createRoute({
    tags: ['service'],
    security: [{ bearer: [] }],
    middleware: authorizeFirst(requireOperator),
    method: 'get',
    path: '/v1/audit',
    operationId: 'listAuditEntries',
    summary: 'Read the audit log, newest first',
    request: { query: querySchema },
    responses: { 200: jsonContent(pageSchema(entrySchema), 'A page'), ...problemResponses(400, 401, 403) },
  });
  api.openapi(list, async (c) => {
    const { limit, cursor, action, actor, target, since, until } = c.req.valid('query');
    const [at, id] = cursor === undefined ? [] : (decodeCursor(cursor) ?? []);
    const isValid = cursor === undefined || (typeof at === 'number' && typeof id === 'string');
    if (!isValid) return sendProblem(c, INVALID_CURSOR);
    const before = typeof at === 'number' && typeof id === 'string' ? { at, id } : null;
    const filter = { action, actorId: actor, targetId: target, since: toMs(since), until: toMs(until) };
    const read = (database: D1Database) => createAuditStore(database).list(filter, before, limit + 1);
    const found = await readMerged(c.env, read, newestFirst, limit + 1);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const next_cursor = last === undefined ? null : encodeCursor([last.at, last.entryId]);
    return c.json({ data: rows.map(toEntryJson), next_cursor }, 200);
  });
  return api;
}
