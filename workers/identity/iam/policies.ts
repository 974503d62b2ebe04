/** Routes of identity policies: AWS-style documents that say what a user may do. */
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
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { findConditionKeyFault, parsePolicy } from '../domain/policy.ts';
import { publishRevocations } from '../revocations.ts';
import { createIdentityStore } from '../store/store.ts';
import { COMMON, NO_SUCH_USER, userParamSchema } from './route.ts';

/** Maximum size of an identity policy. AWS allows 2,048 characters per inline policy of a user. */
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

const policyParam = userParamSchema.extend({ name: z.string().regex(/^[\w+=,.@-]{1,128}$/) });
export function addPolicies(api: OpenAPIHono<JsonApiEnv>): void {
  const noPolicy = problem(404, 'no_such_policy', 'The user has no policy of this name.');
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'put',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      operationId: 'setUserPolicy',
      summary: 'Set a policy of a user',
      request: { params: policyParam, ...jsonBody(policySchema) },
      responses: { 204: { description: 'Set' }, ...problemResponses(400, 401, 403, 404, 413, 503) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const document = c.req.valid('json');
      if (JSON.stringify(document).length > POLICY_BYTES_MAX) {
        return sendProblem(c, problem(413, 'policy_too_large', `A policy has at most ${POLICY_BYTES_MAX} bytes.`));
      }
      // The policy is parsed before it is stored, because a policy that cannot be evaluated would deny its user everything.
      const policy = parsePolicy(document, 'identity');
      const fault = policy.ok ? findConditionKeyFault(policy.value) : policy.error;
      if (fault !== null) {
        const errors = [{ path: 'Statement', message: fault }];
        return sendProblem(c, problem(400, 'invalid_policy', 'The policy cannot be evaluated.', { errors }));
      }
      const store = createIdentityStore(userDatabaseOf(c.env, user_id));
      if (!(await store.findUser(user_id))) return sendProblem(c, NO_SUCH_USER);
      const audit = toAuditRow(c, 'policy.set', { type: 'user', id: user_id }, { policy: name });
      await store.putPolicy(user_id, name, document, audit);
      await publishRevocations(c.env, [databaseNumberOf(user_id)]);
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      operationId: 'getUserPolicy',
      summary: 'Get a policy of a user',
      request: { params: policyParam },
      responses: { 200: jsonContent(policySchema, 'The document'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const document = await createIdentityStore(userDatabaseOf(c.env, user_id)).findPolicy(user_id, name);
      return document ? c.json(document as z.infer<typeof policySchema>, 200) : sendProblem(c, noPolicy);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/users/{user_id}/policies',
      operationId: 'listUserPolicies',
      summary: 'List the policies of a user',
      request: { params: userParamSchema, query: pageQuerySchema },
      responses: {
        200: jsonContent(pageSchema(z.object({ name: z.string() })), 'A page of names'),
        ...problemResponses(400, 401, 403, 404),
      },
    }),
    async (c) => {
      const { user_id } = c.req.valid('param');
      const store = createIdentityStore(userDatabaseOf(c.env, user_id));
      if (!(await store.findUser(user_id))) return sendProblem(c, NO_SUCH_USER);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => store.listPolicyNames(user_id, after, limit),
        keyOf: (name) => name,
        toItem: (name) => ({ name }),
      });
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'delete',
      path: '/v1/iam/users/{user_id}/policies/{name}',
      operationId: 'deleteUserPolicy',
      summary: 'Remove a policy of a user',
      request: { params: policyParam },
      responses: { 204: { description: 'Removed' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const { user_id, name } = c.req.valid('param');
      const audit = toAuditRow(c, 'policy.delete', { type: 'user', id: user_id }, { policy: name });
      const isDeleted = await createIdentityStore(userDatabaseOf(c.env, user_id)).deletePolicy(user_id, name, audit);
      await publishRevocations(c.env, [databaseNumberOf(user_id)]);
      return isDeleted ? c.body(null, 204) : sendProblem(c, noPolicy);
    },
  );
}
