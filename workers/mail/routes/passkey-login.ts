/** `/v1/auth/passkey`: login with a passkey, which needs neither a password nor a second factor. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { admitClient, beginPasskeyLogin, findSuspension, forgiveGuesses, verifyPasskey } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { authenticationResponseSchema, requestOptionsSchema } from '../../shared/web/passkey-json.ts';
import { ensureMailbox } from '../accounts/accounts.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { continentOf } from '../bindings/mailbox.ts';
import { sessionAnswerSchema } from '../schemas/account.ts';
import { createAccountStore } from '../store/account-store.ts';
import { openSession, readGuesser } from './auth.ts';
import { OPEN_ROUTE } from './route.ts';

export function addPasskeyLogin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/passkey/options',
      operationId: 'beginPasskeyLogin',
      summary: 'Start a login with a passkey: returns options for the browser, valid once and for five minutes',
      responses: {
        200: jsonContent(requestOptionsSchema, 'Options for `navigator.credentials.get`'),
        ...problemResponses(429, 503),
      },
    }),
    async (c) => {
      const admitted = await admitClient(c.env, readGuesser(c).client);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const options = await beginPasskeyLogin(c.env, appOrigin(c.env, c.req.url), createClock(c.env)());
      return unchecked(c.json(options, 200));
    },
  );
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/passkey/login',
      operationId: 'loginWithPasskey',
      summary: 'Log in with a passkey',
      request: jsonBody(z.strictObject({ response: authenticationResponseSchema })),
      responses: {
        200: jsonContent(sessionAnswerSchema, 'The session'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const guesser = readGuesser(c);
      const admitted = await admitClient(c.env, guesser.client);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const now = createClock(c.env)();
      const { response } = c.req.valid('json');
      const user = await verifyPasskey(c.env, 'user', response, appOrigin(c.env, c.req.url), now);
      if (!user.ok) return sendProblem(c, user.error);
      const account = await createAccountStore(userDatabaseOf(c.env, user.value)).findAccount(user.value);
      if (!account) return sendProblem(c, problem(404, 'no_mailbox', 'This user has no mailbox.'));
      const suspension = await findSuspension(c.env, account.userId);
      if (suspension !== null) return sendProblem(c, suspension);
      await ensureMailbox(c.env, account, continentOf(c.req.raw));
      const id = account.userId;
      if (await forgiveGuesses(c.env, account.email, guesser, now)) {
        await recordAudit(c, 'login.new_place', { type: 'user', id }, {}, { kind: 'user', id });
        noticeOwner(c, id, 'login');
      }
      return unchecked(await openSession(c, account, guesser, 200));
    },
  );
}
