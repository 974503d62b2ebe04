/** `/v1/iam`: users, access keys, policies and tokens, for root and operators with the role `admin`. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { createRoutes, type JsonApiEnv, sendProblem } from '../../shared/json/json-api.ts';
import { requireIdentityAdmin } from '../callers/guards.ts';
import { accessKeySecrets, type SecretKeeper } from '../secrets/master-key.ts';
import { addAccessKeys } from './access-keys.ts';
import { addPolicies } from './policies.ts';
import { addReseal } from './reseal.ts';
import { addTemporaryKeys } from './temporary-keys.ts';
import { addTokens } from './tokens.ts';
import { addUsers } from './users.ts';

/** Creates the API `/v1/iam`. @param keepers the products' stores of sealed secrets, for the rotation of MASTER_KEY. */
export function createIdentityApi(keepers: readonly SecretKeeper[]): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  api.use('/v1/iam/*', async (c, next) => {
    const caller = await requireIdentityAdmin(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  });
  addUsers(api);
  addAccessKeys(api);
  addTemporaryKeys(api);
  addPolicies(api);
  addTokens(api);
  addReseal(api, [accessKeySecrets, ...keepers]);
  return api;
}
