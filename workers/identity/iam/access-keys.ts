/** Routes of access keys, the credentials of S3 clients. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonContent,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendPage,
  sendProblem,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { databaseNumberOf, databaseOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { publishRevocations } from '../revocations.ts';
import { homeOfAccessKey, mintAccessKeyId, mintSecretAccessKey } from '../secrets/credentials.ts';
import { sealSecret } from '../secrets/secrets.ts';
import { type AccessKeyRow, createAccessKeyStore } from '../store/access-key-store.ts';
import { createIdentityStore } from '../store/store.ts';
import { NO_SUCH_KEY } from '../users/temporary-key-requests.ts';
import { COMMON, NO_SUCH_USER, toTime, toTimeOrNull, userParamSchema } from './route.ts';

const accessKeySchema = z
  .object({
    access_key_id: z.string(),
    user_id: z.string(),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable().openapi({ description: 'Precise to an hour. Null before the first use.' }),
  })
  .openapi('AccessKey');
const newAccessKeySchema = accessKeySchema.extend({ secret_access_key: z.string() }).openapi('NewAccessKey');

const WRONG_HOME = problem(400, 'invalid_request', 'This id is not possible for an access key of this user.', {
  errors: [{ path: 'access_key_id', message: "Leave it out: it must contain the number of the user's database." }],
});

const toAccessKeyJson = (row: AccessKeyRow) => ({
  access_key_id: row.accessKeyId,
  user_id: row.userId,
  created_at: toTime(row.createdAt),
  expires_at: toTimeOrNull(row.expiresAt),
  last_used_at: toTimeOrNull(row.lastUsedAt),
});

export function addAccessKeys(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/users/{user_id}/access-keys',
      operationId: 'createAccessKey',
      summary: 'Create or import an access key. The secret is returned only here',
      request: {
        params: userParamSchema,
        body: {
          content: {
            'application/json': {
              schema: z
                .strictObject({
                  access_key_id: z
                    .string()
                    .regex(/^[A-Za-z0-9_.-]{3,128}$/)
                    .optional(),
                  secret_access_key: z.string().min(8).max(128).optional(),
                  expires_at: z.iso.datetime({ offset: true }).optional(),
                })
                .refine((key) => (key.access_key_id === undefined) === (key.secret_access_key === undefined), {
                  message: 'must have both access_key_id and secret_access_key, or neither',
                }),
            },
          },
        },
      },
      responses: {
        201: jsonContent(newAccessKeySchema, 'The key with its secret'),
        ...problemResponses(400, 401, 403, 404, 409),
      },
    }),
    async (c) => {
      const { user_id } = c.req.valid('param');
      const given = c.req.header('content-type') === undefined ? {} : c.req.valid('json');
      const store = createIdentityStore(userDatabaseOf(c.env, user_id));
      if (!(await store.findUser(user_id))) return sendProblem(c, NO_SUCH_USER);
      const accessKeyId = given.access_key_id ?? mintAccessKeyId(databaseNumberOf(user_id));
      if (homeOfAccessKey(accessKeyId) !== databaseNumberOf(user_id)) return sendProblem(c, WRONG_HOME);
      const secret = given.secret_access_key ?? mintSecretAccessKey();
      const createdAt = createClock(c.env)();
      const secretSealed = sealSecret(secret, `access-key:${accessKeyId}`, c.env);
      const { expires_at } = given;
      const expiresAt = expires_at === undefined ? null : Date.parse(expires_at);
      const details = { access_key_id: accessKeyId, expires_at };
      const audit = toAuditRow(c, 'access_key.create', { type: 'user', id: user_id }, details);
      const row = { accessKeyId, userId: user_id, createdAt, expiresAt, lastUsedAt: null };
      if (!(await store.insertAccessKey({ ...row, secretSealed }, audit))) {
        return sendProblem(c, problem(409, 'access_key_exists', 'An access key with this id exists.'));
      }
      return c.json({ ...toAccessKeyJson(row), secret_access_key: secret }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/users/{user_id}/access-keys',
      operationId: 'listAccessKeys',
      summary: 'List the access keys of a user, without secrets',
      request: { params: userParamSchema, query: pageQuerySchema },
      responses: {
        200: jsonContent(pageSchema(accessKeySchema), 'A page of keys'),
        ...problemResponses(400, 401, 403, 404),
      },
    }),
    async (c) => {
      const { user_id } = c.req.valid('param');
      const store = createIdentityStore(userDatabaseOf(c.env, user_id));
      if (!(await store.findUser(user_id))) return sendProblem(c, NO_SUCH_USER);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => createAccessKeyStore(userDatabaseOf(c.env, user_id)).list(user_id, after, limit),
        keyOf: (row) => row.accessKeyId,
        toItem: toAccessKeyJson,
      });
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'delete',
      path: '/v1/iam/access-keys/{access_key_id}',
      operationId: 'deleteAccessKey',
      summary: 'Revoke an access key',
      request: { params: z.object({ access_key_id: z.string() }) },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { access_key_id: id } = c.req.valid('param');
      const home = homeOfAccessKey(id);
      const audit = toAuditRow(c, 'access_key.delete', { type: 'access_key', id });
      const isDeleted = await createIdentityStore(databaseOf(c.env, home)).deleteAccessKey(id, audit);
      await publishRevocations(c.env, [home]);
      if (!isDeleted) return sendProblem(c, NO_SUCH_KEY);
      return c.body(null, 204);
    },
  );
}
