/** Sessions of mail by what a provider says of a person: a sign-in with OpenID Connect, or the token of Cloudflare Access. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  admitClient,
  findSignedInUser,
  forgiveGuesses,
  type Proof,
  readAccessProof,
  refuseForeign,
  takeProofOf,
} from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem, unchecked } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { ensureMailbox } from '../accounts/accounts.ts';
import { confirmSession } from '../accounts/credentials.ts';
import { signInByProof } from '../accounts/provider-accounts.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { continentOf } from '../bindings/mailbox.ts';
import { sessionAnswerSchema } from '../schemas/account.ts';
import { openSession, readGuesser } from './auth.ts';
import { CONFIRMED_MS, requireSession, SESSION_ROUTE } from './confirmed.ts';
import { OPEN_ROUTE } from './route.ts';

const OTHER_ACCOUNT = problem(403, 'sign_in_unknown', 'This account of the provider does not belong to your account.');

export function addProviderLogin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/oidc/session',
      operationId: 'loginWithProvider',
      summary: 'Log in with what the provider said, after a sign-in for `mail`',
      responses: {
        200: jsonContent(sessionAnswerSchema, 'The session'),
        ...problemResponses(401, 403, 404, 429, 503),
      },
    }),
    async (c) => logIn(c, await takeProofOf(c, 'mail')),
  );
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/access',
      operationId: 'loginWithAccess',
      summary: 'Log in with the token of Cloudflare Access, which its edge adds to the request',
      responses: {
        200: jsonContent(sessionAnswerSchema, 'The session'),
        ...problemResponses(401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const foreign = refuseForeign(c);
      if (foreign !== null) return sendProblem(c, foreign);
      const admitted = await admitClient(c.env, readGuesser(c).client);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      return logIn(c, await readAccessProof(c.env, c.req.raw.headers, createClock(c.env)()));
    },
  );
  addProviderConfirmation(api);
}

async function logIn(c: Context<JsonApiEnv>, proof: Result<Proof, Problem>) {
  if (!proof.ok) return sendProblem(c, proof.error);
  const now = createClock(c.env)();
  const account = await signInByProof(c.env, proof.value, now);
  if (!account.ok) return sendProblem(c, account.error);
  await ensureMailbox(c.env, account.value, continentOf(c.req.raw));
  const guesser = readGuesser(c);
  const { userId: id, email } = account.value;
  if (await forgiveGuesses(c.env, email, guesser, now)) {
    await recordAudit(c, 'login.new_place', { type: 'user', id }, {}, { kind: 'user', id });
    noticeOwner(c, id, 'login');
  }
  return unchecked(await openSession(c, account.value, guesser, 200));
}

function addProviderConfirmation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/auth/oidc/confirm',
      operationId: 'confirmSessionWithProvider',
      summary: 'Confirm the session for ten minutes, after a sign-in for `confirm`, which always asks the person again',
      responses: { 204: { description: 'Confirmed' }, ...problemResponses(401, 403, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const proof = await takeProofOf(c, 'confirm');
      if (!proof.ok) return sendProblem(c, proof.error);
      const { userId, credentialId } = caller.value;
      if ((await findSignedInUser(c.env, proof.value)) !== userId) return sendProblem(c, OTHER_ACCOUNT);
      await confirmSession(c.env, userId, credentialId, createClock(c.env)() + CONFIRMED_MS);
      return c.body(null, 204);
    },
  );
}
