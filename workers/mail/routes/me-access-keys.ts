/** `/v1/me/access-keys`: the user's own access keys for object storage. Creation and rotation require a confirmed session. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  type AccessKeyRow,
  createUserAccessKey,
  deleteUserAccessKey,
  listUserAccessKeys,
  rotateUserAccessKey,
} from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { NOT_FOUND, toBadRequest } from '../schemas/errors.ts';
import {
  CONFIRMATION,
  type Confirmation,
  isNewSession,
  requireConfirmed,
  requireSession,
  SESSION_ROUTE,
} from './confirmed.ts';
import { toTime } from './route.ts';

const DAY_SECONDS = 86_400;
/** Longest life of a key that a new session makes without a confirmation. The storage page asks for 12 hours, by its own clock. */
const NEW_SESSION_KEY_MS_MAX = 13 * 3_600_000;
const KEYS_ARE_ASSIGNED = problem(403, 'keys_assigned', 'Only the operator can create access keys.');

const keyMembers = {
  access_key_id: z.string(),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable().openapi({ description: 'Precise to an hour. Null before the first use.' }),
};
const keySchema = z.object(keyMembers).openapi('OwnAccessKey');
const newKeySchema = z.object({ ...keyMembers, secret_access_key: z.string() }).openapi('NewOwnAccessKey');
const expiresAtSchema = z.iso.datetime({ offset: true }).optional();
const keyParamSchema = z.object({ access_key_id: z.string().max(128) });

const toTimeOrNull = (at: number | null): string | null => (at === null ? null : toTime(at));
const toKeyJson = (row: AccessKeyRow) => ({
  access_key_id: row.accessKeyId,
  created_at: toTime(row.createdAt),
  expires_at: toTimeOrNull(row.expiresAt),
  last_used_at: toTimeOrNull(row.lastUsedAt),
});

const toExpiry = (expiresAt: string | undefined): number | null =>
  expiresAt === undefined ? null : Date.parse(expiresAt);
const IN_THE_PAST = toBadRequest('expires_at', 'Must be in the future.');

export function addAccessKeys(api: OpenAPIHono<JsonApiEnv>): void {
  addReading(api);
  addCreation(api);
  addRotation(api);
}

function addReading(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/access-keys',
      operationId: 'listOwnAccessKeys',
      summary: 'List your access keys for storage, without secrets',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(keySchema), 'A page'), ...problemResponses(400, 401, 403, 429) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => listUserAccessKeys(c.env, caller.value.userId, after, limit),
        keyOf: (row) => row.accessKeyId,
        toItem: toKeyJson,
      });
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/access-keys/{access_key_id}',
      operationId: 'deleteOwnAccessKey',
      summary: 'Revoke one of your access keys',
      request: { params: keyParamSchema },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404, 429, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { access_key_id: id } = c.req.valid('param');
      const audit = toAuditRow(c, 'access_key.delete', { type: 'access_key', id });
      const isGone = await deleteUserAccessKey(c.env, caller.value.userId, id, audit);
      return isGone ? c.body(null, 204) : sendProblem(c, NOT_FOUND);
    },
  );
}

/**
 * Requires a confirmed session. A log-in of the last ten minutes proved as much, so it is enough for a key that ends within the day:
 * who just signed in to mail opens the storage page without the password.
 */
async function requireMaker(c: Context<JsonApiEnv>, expiresAt: number | null, given: Confirmation) {
  const caller = await requireSession(c);
  const now = createClock(c.env)();
  const isShort = expiresAt !== null && expiresAt <= now + NEW_SESSION_KEY_MS_MAX;
  const isProven = given.password !== undefined || given.passkey !== undefined;
  if (caller.ok && !isProven && isShort && isNewSession(caller.value, now)) return caller;
  return requireConfirmed(c, given);
}

function addCreation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/access-keys',
      operationId: 'createOwnAccessKey',
      summary: 'Create an access key for storage. The secret is returned only here',
      request: jsonBody(z.strictObject({ ...CONFIRMATION, expires_at: expiresAtSchema })),
      responses: {
        201: jsonContent(newKeySchema, 'The key with its secret'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const { expires_at, ...given } = c.req.valid('json');
      const caller = await requireMaker(c, toExpiry(expires_at), given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { OWN_ACCESS_KEYS: isAllowed, PRODUCTS: products } = settingsOf(c.env);
      if (!isAllowed || !products.includes('storage')) return sendProblem(c, KEYS_ARE_ASSIGNED);
      const now = createClock(c.env)();
      const expiresAt = toExpiry(expires_at);
      if (expiresAt !== null && expiresAt <= now) return sendProblem(c, IN_THE_PAST);
      const { userId, credentialId: session } = caller.value;
      const maker = { userId, session };
      const made = await createUserAccessKey(c.env, maker, expiresAt, now, (id) =>
        toAuditRow(c, 'access_key.create', { type: 'user', id: userId }, { access_key_id: id, expires_at }),
      );
      if (!made.ok) return sendProblem(c, made.error);
      return c.json({ ...toKeyJson(made.value), secret_access_key: made.value.secretAccessKey }, 201);
    },
  );
}

function addRotation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/access-keys/{access_key_id}/rotate',
      operationId: 'rotateOwnAccessKey',
      summary: 'Replace one of your access keys. The old key works until the overlap ends',
      request: {
        params: keyParamSchema,
        ...jsonBody(
          z.strictObject({
            ...CONFIRMATION,
            expires_at: expiresAtSchema,
            overlap_seconds: z
              .number()
              .int()
              .min(0)
              .max(7 * DAY_SECONDS)
              .default(DAY_SECONDS)
              .openapi({ description: 'How long the old key still works. 0 ends it at once.' }),
          }),
        ),
      },
      responses: {
        201: jsonContent(newKeySchema, 'The new key with its secret'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const { expires_at, overlap_seconds, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const now = createClock(c.env)();
      const expiresAt = toExpiry(expires_at);
      if (expiresAt !== null && expiresAt <= now) return sendProblem(c, IN_THE_PAST);
      const { userId, credentialId: session } = caller.value;
      const { access_key_id: accessKeyId } = c.req.valid('param');
      const maker = { userId, session };
      const before = { accessKeyId, endsAt: now + overlap_seconds * 1000 };
      const made = await rotateUserAccessKey(c.env, maker, before, expiresAt, now, (id) =>
        toAuditRow(
          c,
          'access_key.rotate',
          { type: 'access_key', id: accessKeyId },
          { access_key_id: id, overlap_seconds },
        ),
      );
      if (made === null) return sendProblem(c, NOT_FOUND);
      return c.json({ ...toKeyJson(made), secret_access_key: made.secretAccessKey }, 201);
    },
  );
}
