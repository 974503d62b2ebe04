/** Routes of scoped bearer tokens for programs: game servers, SMTP gateways, scripts of a user. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
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
import { databaseNumberOf, databaseOf, isPossibleUserId } from '../../shared/stores/directories.ts';
import { requireIdentityAdmin } from '../callers/guards.ts';
import { BOARD_SCOPE, BUCKET_SCOPE, isAgentScope, opensObjects, SCOPES, type Scope } from '../principal.ts';
import { hashToken, mintToken } from '../secrets/credentials.ts';
import { createIdentityStore } from '../store/store.ts';
import { insertToken, type TokenRow } from '../store/token-store.ts';
import { deleteUserToken, listTokens, listUserTokens } from '../users/user-tokens.ts';
import { COMMON, NO_SUCH_USER, toTime, toTimeOrNull } from './route.ts';

const NAMED_SCOPE = new RegExp(`${BOARD_SCOPE.source}|${BUCKET_SCOPE.source}`);
const scopeSchema = z.union([
  z.enum(SCOPES),
  z
    .string()
    .refine(
      (scope): scope is Scope => NAMED_SCOPE.test(scope),
      'a scope, board:{board}:read or :write, or bucket:{bucket}:read or :write',
    )
    .openapi({ type: 'string', pattern: NAMED_SCOPE.source, example: 'board:races:read' }),
]);
const tokenSchema = z
  .object({
    token_id: z.string(),
    name: z.string(),
    user_id: z.string().nullable(),
    scopes: z.array(scopeSchema),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable().openapi({ description: 'Precise to an hour. Null before the first use.' }),
    made_by: z.string().nullable().openapi({
      description: 'Id of the operator who made it, with whom it ends. Null for root, and for the own token of a user',
    }),
  })
  .openapi('Token');
const newTokenSchema = tokenSchema.extend({ token: z.string() }).openapi('NewToken');

const toTokenJson = (row: TokenRow) => ({
  token_id: row.tokenId,
  name: row.name,
  user_id: row.userId,
  scopes: row.scopes as z.infer<typeof scopeSchema>[],
  created_at: toTime(row.createdAt),
  expires_at: toTimeOrNull(row.expiresAt),
  last_used_at: toTimeOrNull(row.lastUsedAt),
  made_by: row.madeBy,
});

const needsUser = (scopes: readonly string[]) =>
  scopes.some((scope) => scope === 'mail' || isAgentScope(scope) || opensObjects(scope));

export function addTokens(api: OpenAPIHono<JsonApiEnv>): void {
  addCreate(api);
  addList(api);
  addDelete(api);
}

function addCreate(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/tokens',
      operationId: 'createToken',
      summary: 'Create a scoped token. The token is returned only here',
      request: jsonBody(
        z
          .strictObject({
            name: z.string().min(1).max(128),
            user_id: z.string().optional(),
            scopes: z.array(scopeSchema).min(1),
            expires_at: z.iso.datetime({ offset: true }).optional(),
          })
          .refine((token) => token.user_id !== undefined || !needsUser(token.scopes), {
            path: ['user_id'],
            message: 'scopes of objects, of a bucket and of mail need a user_id',
          }),
      ),
      responses: { 201: jsonContent(newTokenSchema, 'The token'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireIdentityAdmin(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const given = c.req.valid('json');
      if (!isPossibleUserId(c.env, given.user_id ?? '')) return sendProblem(c, NO_SUCH_USER);
      const home = databaseNumberOf(given.user_id ?? '');
      const database = databaseOf(c.env, home);
      const isUser = given.user_id === undefined || (await createIdentityStore(database).findUser(given.user_id));
      if (!isUser) return sendProblem(c, NO_SUCH_USER);
      const token = mintToken(home);
      const row: TokenRow = {
        tokenId: crypto.randomUUID(),
        name: given.name,
        userId: given.user_id ?? null,
        scopes: [...new Set(given.scopes)],
        createdAt: createClock(c.env)(),
        expiresAt: given.expires_at === undefined ? null : Date.parse(given.expires_at),
        lastUsedAt: null,
        madeBy: caller.value.kind === 'operator' ? caller.value.operatorId : null,
        clientId: null,
      };
      const details = { scopes: row.scopes.join(' '), user_id: given.user_id, expires_at: given.expires_at };
      const audit = toAuditRow(c, 'token.create', { type: 'token', id: row.tokenId }, details);
      await insertToken(database, { ...row, tokenSha256: hashToken(token) }, audit);
      return c.json({ ...toTokenJson(row), token }, 201);
    },
  );
}

function addList(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/tokens',
      operationId: 'listTokens',
      summary: 'List tokens, without their secrets',
      request: { query: pageQuerySchema.extend({ user_id: z.string().optional() }) },
      responses: { 200: jsonContent(pageSchema(tokenSchema), 'A page of tokens'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const { user_id = null, ...page } = c.req.valid('query');
      return sendPage(c, page, {
        read: (after, limit) =>
          user_id === null ? listTokens(c.env, after, limit) : listUserTokens(c.env, user_id, after, limit),
        keyOf: (row) => row.tokenId,
        toItem: toTokenJson,
      });
    },
  );
}

function addDelete(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'delete',
      path: '/v1/iam/tokens/{token_id}',
      operationId: 'deleteToken',
      summary: 'Revoke a token',
      request: { params: z.object({ token_id: z.string() }) },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { token_id } = c.req.valid('param');
      const audit = toAuditRow(c, 'token.delete', { type: 'token', id: token_id });
      const isGone = await deleteUserToken(c.env, null, token_id, audit);
      return isGone ? c.body(null, 204) : sendProblem(c, problem(404, 'no_such_token', 'Token not found.'));
    },
  );
}
