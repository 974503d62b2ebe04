/** `/v1/operators/oidc` and `/v1/operators/access`: sessions of operators whose role comes from the provider. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import type { Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { readClient } from '../callers/client.ts';
import { admitClient } from '../login/guesses.ts';
import { OPERATOR_TAGS, operatorSessionSchema } from '../operators/operator-json.ts';
import { openSession } from '../operators/operator-session-routes.ts';
import { readAccessProof } from './access.ts';
import { refuseForeign, takeProofOf } from './cookies.ts';
import type { Proof } from './proof.ts';
import { signInOperator } from './provider-operators.ts';

const answers = {
  responses: {
    200: jsonContent(operatorSessionSchema, 'A bearer token for twelve hours'),
    ...problemResponses(401, 403, 404, 429, 503),
  },
};
const OPEN = { ...OPERATOR_TAGS, security: [] };

export function addOperatorSignIn(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN,
      ...answers,
      method: 'post',
      path: '/v1/operators/oidc',
      operationId: 'loginOperatorWithProvider',
      summary: 'Log in as an operator with what the provider said, after a sign-in for `operator`',
    }),
    async (c) => {
      const proof = await takeProofOf(c, 'operator');
      return answer(c, proof);
    },
  );
  api.openapi(
    createRoute({
      ...OPEN,
      ...answers,
      method: 'post',
      path: '/v1/operators/access',
      operationId: 'loginOperatorWithAccess',
      summary: 'Log in as an operator with the token of Cloudflare Access, which its edge adds to the request',
    }),
    async (c) => {
      const foreign = refuseForeign(c);
      if (foreign !== null) return sendProblem(c, foreign);
      const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
      if (!admitted.ok) return sendProblem(c, admitted.error);
      return answer(c, await readAccessProof(c.env, c.req.raw.headers, createClock(c.env)()));
    },
  );
}

async function answer(c: Context<JsonApiEnv>, proof: Result<Proof, Problem>) {
  if (!proof.ok) return sendProblem(c, proof.error);
  const now = createClock(c.env)();
  const operator = await signInOperator(c.env, proof.value, now);
  if (!operator.ok) return sendProblem(c, operator.error);
  return c.json(await openSession(c, operator.value, now), 200);
}
