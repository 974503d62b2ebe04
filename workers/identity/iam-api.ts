/** `/v1/iam`: users, access keys, policies and tokens. Root's alone. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { createClock } from '../shared/clock.ts';
import {
  createJsonApi,
  decodeCursor,
  encodeCursor,
  type JsonApiEnv,
  pageQuerySchema,
  pageSchema,
  problemResponses,
  sendProblem,
} from '../shared/json-api.ts';
import { problem } from '../shared/problem.ts';
import { hashToken, mintAccessKeyId, mintSecretAccessKey, mintToken } from './credentials.ts';
import { requireRoot } from './guards.ts';
import { SCOPES } from './principal.ts';
import { sealSecret } from './secrets.ts';
import { createIdentityStore, type TokenRow, type UserRow } from './store.ts';

/** What a product holds for a user. Identity asks each before it deletes one; it does not know the products. */
export interface UserObligation {
  /** @returns why the user cannot be deleted now, or null. */
  findObstacle(userId: string, env: Env): Promise<string | null>;
  /** Removes what the product keeps of the user; may be run twice. */
  erase(userId: string, env: Env): Promise<void>;
}

const time = (epochMs: number) => new Date(epochMs).toISOString();

const userSchema = z
  .object({ user_id: z.string(), name: z.string(), email: z.string().nullable(), created_at: z.string() })
  .openapi('User');
const accessKeySchema = z
  .object({ access_key_id: z.string(), user_id: z.string(), created_at: z.string() })
  .openapi('AccessKey');
const newAccessKeySchema = accessKeySchema.extend({ secret_access_key: z.string() }).openapi('NewAccessKey');
const scopeSchema = z.enum(SCOPES);
const tokenSchema = z
  .object({
    token_id: z.string(),
    name: z.string(),
    user_id: z.string().nullable(),
    scopes: z.array(scopeSchema),
    created_at: z.string(),
    expires_at: z.string().nullable(),
  })
  .openapi('Token');
const newTokenSchema = tokenSchema.extend({ token: z.string() }).openapi('NewToken');

/** AWS's limit on a user's inline policies is 2,048 characters each; ours is roomier and still bounded. */
const POLICY_BYTES_MAX = 10_240;
const actions = z.union([z.string(), z.array(z.string()).min(1)]);
const policySchema = z
  .strictObject({
    Version: z.enum(['2012-10-17', '2008-10-17']),
    Id: z.string().optional(),
    Statement: z.preprocess(
      (value) => (Array.isArray(value) || value === undefined ? value : [value]),
      z
        .array(
          z.strictObject({
            Sid: z.string().optional(),
            Effect: z.enum(['Allow', 'Deny']),
            Action: actions.optional(),
            NotAction: actions.optional(),
            Resource: actions.optional(),
            NotResource: actions.optional(),
            Condition: z
              .record(
                z.string(),
                z.record(z.string(), z.union([z.string(), z.boolean(), z.number(), z.array(z.string())])),
              )
              .optional(),
          }),
        )
        .min(1),
    ),
  })
  .openapi('PolicyDocument');

const toUserJson = (row: UserRow) => ({
  user_id: row.userId,
  name: row.name,
  email: row.email,
  created_at: time(row.createdAt),
});
const toTokenJson = (row: TokenRow) => ({
  token_id: row.tokenId,
  name: row.name,
  user_id: row.userId,
  scopes: row.scopes as z.infer<typeof scopeSchema>[],
  created_at: time(row.createdAt),
  expires_at: row.expiresAt === null ? null : time(row.expiresAt),
});

const json = <T extends z.ZodType>(schema: T, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});
const body = <T extends z.ZodType>(schema: T) => ({
  body: { required: true, content: { 'application/json': { schema } } },
});
const userParam = z.object({ user_id: z.string() });
const policyParam = userParam.extend({ name: z.string().regex(/^[\w+=,.@-]{1,128}$/) });
const common = { tags: ['identity'], security: [{ bearer: [] }] };

/** @param obligations one of each product that keeps something for a user. */
export function createIdentityApi(obligations: readonly UserObligation[]): OpenAPIHono<JsonApiEnv> {
  const api = createJsonApi();
  api.use('/v1/iam/*', async (c, next) => {
    const caller = await requireRoot(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  });
  const noUser = problem(404, 'no_such_user', 'There is no such user.');
  addUsers(api, obligations, noUser);
  addAccessKeys(api, noUser);
  addPolicies(api, noUser);
  addTokens(api, noUser);
  return api;
}

type Api = OpenAPIHono<JsonApiEnv>;
type NoUser = ReturnType<typeof problem>;

/** One page of rows that were read with `limit + 1`. */
function toPage<T>(rows: T[], limit: number, keyOf: (row: T) => string): { rows: T[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { rows: page, next_cursor: rows.length > limit && last !== undefined ? encodeCursor([keyOf(last)]) : null };
}

const BAD_CURSOR = problem(400, 'invalid_cursor', 'The cursor is not one that this collection gave out.');

/** @returns the key to go on after, '' at the start, null when the cursor is not ours. */
function readCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return '';
  const [key] = decodeCursor(cursor) ?? [];
  return typeof key === 'string' ? key : null;
}

function addUsers(api: Api, obligations: readonly UserObligation[], noUser: NoUser): void {
  api.openapi(
    createRoute({
      ...common,
      method: 'post',
      path: '/v1/iam/users',
      summary: 'Create a user',
      request: body(z.strictObject({ name: z.string().min(1).max(128), email: z.email().max(254).optional() })),
      responses: { 201: json(userSchema, 'The new user'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const { name, email } = c.req.valid('json');
      const row = { userId: crypto.randomUUID(), name, email: email ?? null, createdAt: createClock(c.env)() };
      await createIdentityStore(c.env.DIRECTORY).insertUser(row);
      return c.json(toUserJson(row), 201);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/users',
      summary: 'List users',
      request: { query: pageQuerySchema },
      responses: { 200: json(pageSchema(userSchema), 'A page of users'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid('query');
      const after = readCursor(cursor);
      if (after === null) return sendProblem(c, BAD_CURSOR) as never;
      const found = await createIdentityStore(c.env.DIRECTORY).listUsers(after, limit + 1);
      const { rows, next_cursor } = toPage(found, limit, (row) => row.userId);
      return c.json({ data: rows.map(toUserJson), next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/users/{user_id}',
      summary: 'Show a user',
      request: { params: userParam },
      responses: { 200: json(userSchema, 'The user'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const row = await createIdentityStore(c.env.DIRECTORY).findUser(c.req.valid('param').user_id);
      return row ? c.json(toUserJson(row), 200) : (sendProblem(c, noUser) as never);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'delete',
      path: '/v1/iam/users/{user_id}',
      summary: 'Delete a user and its mailbox; refused while it owns buckets',
      request: { params: userParam },
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 409) },
    }),
    async (c) => {
      const { user_id } = c.req.valid('param');
      const store = createIdentityStore(c.env.DIRECTORY);
      if (!(await store.findUser(user_id))) return sendProblem(c, noUser) as never;
      for (const obligation of obligations) {
        const obstacle = await obligation.findObstacle(user_id, c.env);
        if (obstacle !== null) return sendProblem(c, problem(409, 'user_in_use', obstacle)) as never;
      }
      for (const obligation of obligations) await obligation.erase(user_id, c.env);
      await store.deleteUser(user_id);
      return c.body(null, 204);
    },
  );
}

function addAccessKeys(api: Api, noUser: NoUser): void {
  api.openapi(
    createRoute({
      ...common,
      method: 'post',
      path: '/v1/iam/users/{user_id}/access-keys',
      summary: 'Make or import an access key; the secret is shown this once',
      request: {
        params: userParam,
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
                })
                .refine((key) => (key.access_key_id === undefined) === (key.secret_access_key === undefined), {
                  message: 'give both access_key_id and secret_access_key, or neither',
                }),
            },
          },
        },
      },
      responses: {
        201: json(newAccessKeySchema, 'The key with its secret'),
        ...problemResponses(400, 401, 403, 404, 409),
      },
    }),
    async (c) => {
      const { user_id } = c.req.valid('param');
      const given = c.req.header('content-type') === undefined ? {} : c.req.valid('json');
      const store = createIdentityStore(c.env.DIRECTORY);
      if (!(await store.findUser(user_id))) return sendProblem(c, noUser) as never;
      const accessKeyId = given.access_key_id ?? mintAccessKeyId();
      const secret = given.secret_access_key ?? mintSecretAccessKey();
      const createdAt = createClock(c.env)();
      const secretSealed = sealSecret(secret, `access-key:${accessKeyId}`, c.env);
      if (!(await store.insertAccessKey({ accessKeyId, userId: user_id, secretSealed, createdAt }))) {
        return sendProblem(c, problem(409, 'access_key_exists', 'An access key with this id exists.')) as never;
      }
      return c.json(
        { access_key_id: accessKeyId, secret_access_key: secret, user_id, created_at: time(createdAt) },
        201,
      );
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/users/{user_id}/access-keys',
      summary: 'List the access keys of a user, without secrets',
      request: { params: userParam, query: pageQuerySchema },
      responses: { 200: json(pageSchema(accessKeySchema), 'A page of keys'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid('query');
      const { user_id } = c.req.valid('param');
      const after = readCursor(cursor);
      if (after === null) return sendProblem(c, BAD_CURSOR) as never;
      const store = createIdentityStore(c.env.DIRECTORY);
      if (!(await store.findUser(user_id))) return sendProblem(c, noUser) as never;
      const { rows, next_cursor } = toPage(
        await store.listAccessKeys(user_id, after, limit + 1),
        limit,
        (row) => row.accessKeyId,
      );
      const data = rows.map((row) => ({
        access_key_id: row.accessKeyId,
        user_id: row.userId,
        created_at: time(row.createdAt),
      }));
      return c.json({ data, next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'delete',
      path: '/v1/iam/access-keys/{access_key_id}',
      summary: 'Revoke an access key',
      request: { params: z.object({ access_key_id: z.string() }) },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const isDeleted = await createIdentityStore(c.env.DIRECTORY).deleteAccessKey(c.req.valid('param').access_key_id);
      if (!isDeleted)
        return sendProblem(c, problem(404, 'no_such_access_key', 'There is no such access key.')) as never;
      return c.body(null, 204);
    },
  );
}

function addPolicies(api: Api, noUser: NoUser): void {
  const noPolicy = problem(404, 'no_such_policy', 'The user has no policy of this name.');
  api.openapi(
    createRoute({
      ...common,
      method: 'put',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      summary: 'Set a policy of a user',
      request: { params: policyParam, ...body(policySchema) },
      responses: { 204: { description: 'Set' }, ...problemResponses(400, 401, 403, 404, 413) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const document = c.req.valid('json');
      if (JSON.stringify(document).length > POLICY_BYTES_MAX) {
        return sendProblem(
          c,
          problem(413, 'policy_too_large', `A policy has at most ${POLICY_BYTES_MAX} bytes.`),
        ) as never;
      }
      const store = createIdentityStore(c.env.DIRECTORY);
      if (!(await store.findUser(user_id))) return sendProblem(c, noUser) as never;
      await store.putPolicy(user_id, name, document);
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      summary: 'Show a policy of a user',
      request: { params: policyParam },
      responses: { 200: json(policySchema, 'The document'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const document = await createIdentityStore(c.env.DIRECTORY).findPolicy(user_id, name);
      return document ? c.json(document as z.infer<typeof policySchema>, 200) : (sendProblem(c, noPolicy) as never);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/users/{user_id}/policies',
      summary: 'List the policies of a user',
      request: { params: userParam, query: pageQuerySchema },
      responses: {
        200: json(pageSchema(z.object({ name: z.string() })), 'A page of names'),
        ...problemResponses(400, 401, 403, 404),
      },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid('query');
      const { user_id } = c.req.valid('param');
      const after = readCursor(cursor);
      if (after === null) return sendProblem(c, BAD_CURSOR) as never;
      const store = createIdentityStore(c.env.DIRECTORY);
      if (!(await store.findUser(user_id))) return sendProblem(c, noUser) as never;
      const { rows, next_cursor } = toPage(
        await store.listPolicyNames(user_id, after, limit + 1),
        limit,
        (name) => name,
      );
      return c.json({ data: rows.map((name) => ({ name })), next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'delete',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      summary: 'Remove a policy of a user',
      request: { params: policyParam },
      responses: { 204: { description: 'Removed' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const isDeleted = await createIdentityStore(c.env.DIRECTORY).deletePolicy(user_id, name);
      return isDeleted ? c.body(null, 204) : (sendProblem(c, noPolicy) as never);
    },
  );
}

const needsUser = (scopes: readonly string[]) =>
  scopes.some((scope) => scope === 'mail' || scope.startsWith('objects:'));

function addTokens(api: Api, noUser: NoUser): void {
  api.openapi(
    createRoute({
      ...common,
      method: 'post',
      path: '/v1/iam/tokens',
      summary: 'Make a scoped token; it is shown this once',
      request: body(
        z
          .strictObject({
            name: z.string().min(1).max(128),
            user_id: z.string().optional(),
            scopes: z.array(scopeSchema).min(1),
            expires_at: z.iso.datetime({ offset: true }).optional(),
          })
          .refine((token) => token.user_id !== undefined || !needsUser(token.scopes), {
            path: ['user_id'],
            message: 'the scopes objects:read, objects:write and mail need a user_id',
          }),
      ),
      responses: { 201: json(newTokenSchema, 'The token'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const given = c.req.valid('json');
      const store = createIdentityStore(c.env.DIRECTORY);
      if (given.user_id !== undefined && !(await store.findUser(given.user_id))) return sendProblem(c, noUser) as never;
      const token = mintToken();
      const row: TokenRow = {
        tokenId: crypto.randomUUID(),
        name: given.name,
        userId: given.user_id ?? null,
        scopes: [...new Set(given.scopes)],
        createdAt: createClock(c.env)(),
        expiresAt: given.expires_at === undefined ? null : Date.parse(given.expires_at),
      };
      await store.insertToken({ ...row, tokenSha256: hashToken(token) });
      return c.json({ ...toTokenJson(row), token }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'get',
      path: '/v1/iam/tokens',
      summary: 'List tokens, without their secrets',
      request: { query: pageQuerySchema.extend({ user_id: z.string().optional() }) },
      responses: { 200: json(pageSchema(tokenSchema), 'A page of tokens'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const { limit, cursor, user_id } = c.req.valid('query');
      const after = readCursor(cursor);
      if (after === null) return sendProblem(c, BAD_CURSOR) as never;
      const found = await createIdentityStore(c.env.DIRECTORY).listTokens(user_id ?? null, after, limit + 1);
      const { rows, next_cursor } = toPage(found, limit, (row) => row.tokenId);
      return c.json({ data: rows.map(toTokenJson), next_cursor }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...common,
      method: 'delete',
      path: '/v1/iam/tokens/{token_id}',
      summary: 'Revoke a token',
      request: { params: z.object({ token_id: z.string() }) },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const isDeleted = await createIdentityStore(c.env.DIRECTORY).deleteToken(c.req.valid('param').token_id);
      if (!isDeleted) return sendProblem(c, problem(404, 'no_such_token', 'There is no such token.')) as never;
      return c.body(null, 204);
    },
  );
}
