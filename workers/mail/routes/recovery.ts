/** Recovery of an account without its password, by links and codes. The operator or the user requests them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  admitClient,
  createPasswordReset,
  mayReadMail,
  readClient,
  refusePasswords,
  requireOperator,
  resetPassword,
} from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { admitRecoveryMail, mailLoginCode, mailResetLink, mailResetLinkOf, toResetUrl } from '../accounts/recovery.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { passwordSchema } from '../schemas/account.ts';
import { createAccountStore } from '../store/account-store.ts';
import { OPEN_ROUTE, OPERATOR_ROUTE, toTime } from './route.ts';

const NO_RECOVERY_ADDRESS = problem(
  409,
  'no_recovery_address',
  'The account has no confirmed recovery address. An operator with the role admin can create a link.',
);

const emailBody = jsonBody(z.strictObject({ email: z.string().max(320) }));

export function addRecovery(api: OpenAPIHono<JsonApiEnv>): void {
  addOperatorLink(api);
  addMailedSecrets(api);
  addReset(api);
}

function addOperatorLink(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/accounts/{user_id}/password-reset',
      operationId: 'createPasswordReset',
      summary: 'Operator: create a link that sets a new password; it works once, within an hour',
      request: { params: z.object({ user_id: z.string().max(100) }) },
      responses: {
        201: jsonContent(z.object({ url: z.string(), expires_at: z.string() }), 'The link, shown only once'),
        202: jsonContent(
          z.object({ expires_at: z.string() }),
          'The role `support`: the link was mailed to the confirmed recovery address',
        ),
        ...problemResponses(401, 403, 404, 409),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const refused = refusePasswords(c.env);
      if (refused !== null) return sendProblem(c, refused);
      const { user_id } = c.req.valid('param');
      const account = await createAccountStore(userDatabaseOf(c.env, user_id)).findAccount(user_id);
      if (!account) return sendProblem(c, problem(404, 'no_such_account', 'Mail account not found.'));
      const origin = appOrigin(c.env, c.req.url);
      const now = createClock(c.env)();
      if (caller.value.kind === 'operator' && !mayReadMail(caller.value.role)) {
        const endsAt = await mailResetLinkOf(c.env, account, origin, now);
        if (endsAt === null) return sendProblem(c, NO_RECOVERY_ADDRESS);
        await recordAudit(c, 'password_reset.create', { type: 'user', id: account.userId }, { mailed: true });
        return c.json({ expires_at: toTime(endsAt) }, 202);
      }
      const { token, expiresAt } = await createPasswordReset(c.env, account.userId, 'operator_reset', now);
      await recordAudit(c, 'password_reset.create', { type: 'user', id: account.userId });
      return c.json({ url: toResetUrl(origin, token), expires_at: toTime(expiresAt) }, 201);
    },
  );
}

function addMailedSecrets(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/forgot',
      operationId: 'requestPasswordReset',
      summary: 'Mail a link for a new password to the confirmed recovery address, if the account has one',
      request: emailBody,
      responses: { 202: { description: 'Accepted, whatever the address' }, ...problemResponses(400, 429, 503) },
    }),
    async (c) => {
      const refused = refusePasswords(c.env);
      if (refused !== null) return sendProblem(c, refused);
      const { email } = c.req.valid('json');
      const now = createClock(c.env)();
      const origin = appOrigin(c.env, c.req.url);
      const admitted = await admitRecoveryMail(c.env, 'reset link', email, readClient(c.req.raw.headers), now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      c.executionCtx.waitUntil(mailResetLink(c.env, email, origin, now));
      return c.body(null, 202);
    },
  );
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/login-code',
      operationId: 'requestLoginCode',
      summary: 'Mail a code to the confirmed recovery address, if the account has one; it admits a challenged login',
      request: emailBody,
      responses: { 202: { description: 'Accepted, whatever the address' }, ...problemResponses(400, 429, 503) },
    }),
    async (c) => {
      const { email } = c.req.valid('json');
      const now = createClock(c.env)();
      const admitted = await admitRecoveryMail(c.env, 'login code', email, readClient(c.req.raw.headers), now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      c.executionCtx.waitUntil(mailLoginCode(c.env, email, now));
      return c.body(null, 202);
    },
  );
}

function addReset(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/reset',
      operationId: 'resetPassword',
      summary: 'Set a new password with the token of a link; ends all sessions and app tokens',
      request: jsonBody(z.strictObject({ token: z.string().max(200), password: passwordSchema })),
      responses: { 204: { description: 'The password is set. Log in with it' }, ...problemResponses(400, 429, 503) },
    }),
    async (c) => {
      const { token, password } = c.req.valid('json');
      const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const reset = await resetPassword(c.env, token, password, createClock(c.env)());
      if (!reset.ok) return sendProblem(c, reset.error);
      const user = { id: reset.value } as const;
      await recordAudit(c, 'password.reset', { type: 'user', ...user }, {}, { kind: 'user', ...user });
      noticeOwner(c, reset.value, 'password');
      return c.body(null, 204);
    },
  );
}
