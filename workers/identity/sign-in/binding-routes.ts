/** `/v1/accounts/{user_id}/sign-ins`: the operator sees, binds and removes the accounts of providers that open an account. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { authorizeFirst, requireIdentityAdmin, requireOperator } from '../callers/guards.ts';
import { createSignInStore, type SignInRow } from '../store/sign-in-store.ts';
import { findUserById } from '../users/users.ts';
import { OIDC_OFF } from './provider.ts';
import { bindSignIn, toSignInId } from './sign-ins.ts';

const ADMIN = { tags: ['identity'], security: [{ bearer: [] }], middleware: authorizeFirst(requireIdentityAdmin) };
const NO_SUCH_USER = problem(404, 'no_such_user', 'User not found.');
const NO_SUCH_SIGN_IN = problem(404, 'not_found', 'The account has no such sign-in.');
export const SIGN_IN_TAKEN = problem(
  409,
  'sign_in_taken',
  'This account of the provider is connected, or another one of the provider is.',
);

export const signInParam = z.string().max(100);
export const signInSchema = z
  .object({
    sign_in_id: z.string(),
    issuer: z.string(),
    subject: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    confirmed_at: z.string().nullable().openapi({ description: 'When the provider last confirmed the account' }),
  })
  .openapi('SignIn');
export const signInsSchema = z.object({ data: z.array(signInSchema), next_cursor: z.null() });

const toTimeOrNull = (epochMs: number | null) => (epochMs === null ? null : new Date(epochMs).toISOString());
export const toSignInJson = (row: SignInRow) => ({
  sign_in_id: toSignInId(row),
  issuer: row.issuer,
  subject: row.subject,
  created_at: new Date(row.createdAt).toISOString(),
  last_used_at: toTimeOrNull(row.lastUsedAt),
  confirmed_at: toTimeOrNull(row.confirmedAt),
});

/** Lists the sign-ins of a user, oldest first. */
export const listSignIns = (env: Env, userId: string): Promise<SignInRow[]> =>
  createSignInStore(env.DIRECTORY).listOf('user', userId);

/** Finds a sign-in of a user by its id. */
export const findSignIn = async (env: Env, userId: string, signInId: string): Promise<SignInRow | null> =>
  (await listSignIns(env, userId)).find((row) => toSignInId(row) === signInId) ?? null;

const path = '/v1/accounts/{user_id}/sign-ins' as const;
const params = z.object({ user_id: z.string().max(100) });
const onePath = `${path}/{sign_in_id}` as const;

export function addSignInBindings(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...ADMIN,
      middleware: authorizeFirst(requireOperator),
      method: 'get',
      path,
      operationId: 'listUserSignIns',
      summary: 'List the accounts of the provider that open an account, oldest first',
      request: { params },
      responses: { 200: jsonContent(signInsSchema, 'All of them'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      if (!(await findUserById(c.env, id))) return sendProblem(c, NO_SUCH_USER);
      return c.json({ data: (await listSignIns(c.env, id)).map(toSignInJson), next_cursor: null }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...ADMIN,
      method: 'post',
      path,
      operationId: 'bindUserSignIn',
      summary: 'Let an account of the provider open this account. It is checked from its first sign-in on',
      request: {
        params,
        ...jsonBody(
          z.strictObject({
            subject: z.string().min(1).max(255).openapi({ description: 'The claim `sub` of the account' }),
          }),
        ),
      },
      responses: { 201: jsonContent(signInSchema, 'The sign-in'), ...problemResponses(400, 401, 403, 404, 409) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      const { OIDC_ISSUER: issuer } = settingsOf(c.env);
      if (issuer === '') return sendProblem(c, OIDC_OFF);
      if (!(await findUserById(c.env, id))) return sendProblem(c, NO_SUCH_USER);
      const account = { issuer, subject: c.req.valid('json').subject };
      const audit = toAuditRow(c, 'sign_in.bind', { type: 'user', id }, { sign_in_id: toSignInId(account) });
      const owner = { kind: 'user', ownerId: id } as const;
      const now = createClock(c.env)();
      if (!(await bindSignIn(c.env, account, owner, { now, audit }))) return sendProblem(c, SIGN_IN_TAKEN);
      const row = await findSignIn(c.env, id, toSignInId(account));
      return row ? c.json(toSignInJson(row), 201) : sendProblem(c, NO_SUCH_SIGN_IN);
    },
  );
  api.openapi(
    createRoute({
      ...ADMIN,
      method: 'delete',
      path: onePath,
      operationId: 'unbindUserSignIn',
      summary: 'Stop an account of the provider from opening this account. Its open sessions go on',
      request: { params: params.extend({ sign_in_id: signInParam }) },
      responses: { 204: { description: 'Removed' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id: id, sign_in_id } = c.req.valid('param');
      const row = await findSignIn(c.env, id, sign_in_id);
      const audit = toAuditRow(c, 'sign_in.unbind', { type: 'user', id }, { sign_in_id });
      const isGone = row !== null && (await createSignInStore(c.env.DIRECTORY).unbind(row, audit));
      return isGone ? c.body(null, 204) : sendProblem(c, NO_SUCH_SIGN_IN);
    },
  );
}
