/** `/v1/me/sign-ins`: the accounts of the provider that open the caller's account. Only an operator removes one. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  bindSignIn,
  listSignIns,
  SIGN_IN_TAKEN,
  signInsSchema,
  takeProofOf,
  toSignInId,
  toSignInJson,
} from '../../identity/index.ts';
import { toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { requireConfirmed, requireSession, SESSION_ROUTE } from './confirmed.ts';

export function addOwnSignIns(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/sign-ins',
      operationId: 'listSignIns',
      summary: 'List the accounts of the provider that open your account, oldest first',
      responses: { 200: jsonContent(signInsSchema, 'All of them'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const rows = await listSignIns(c.env, caller.value.userId);
      return c.json({ data: rows.map(toSignInJson), next_cursor: null }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/sign-ins',
      operationId: 'bindSignIn',
      summary:
        'Connect the account of the provider to your account, after a sign-in for `bind`. Needs a confirmed session',
      description: 'From then on your account ends with that of the provider. Only an operator removes the connection.',
      responses: {
        201: jsonContent(z.object({ sign_in_id: z.string() }), 'Connected'),
        ...problemResponses(401, 403, 409, 503),
      },
    }),
    async (c) => {
      const caller = await requireConfirmed(c, {});
      if (!caller.ok) return sendProblem(c, caller.error);
      const proof = await takeProofOf(c, 'bind');
      if (!proof.ok) return sendProblem(c, proof.error);
      const { userId } = caller.value;
      const signInId = toSignInId(proof.value);
      const audit = toAuditRow(c, 'sign_in.bind', { type: 'user', id: userId }, { sign_in_id: signInId });
      const owner = { kind: 'user', ownerId: userId } as const;
      const isBound = await bindSignIn(c.env, proof.value, owner, { now: createClock(c.env)(), audit });
      if (!isBound) return sendProblem(c, SIGN_IN_TAKEN);
      noticeOwner(c, userId, 'sign_in_added');
      return c.json({ sign_in_id: signInId }, 201);
    },
  );
}
