/** `/v1/iam/users`: users, for root and operators with the role `admin`. */
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
import { type Problem, problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { compareText, readMerged } from '../../shared/stores/directories.ts';
import { createIdentityStore, type UserConflict, type UserRow } from '../store/store.ts';
import { eraseUser } from '../users/user-erasure.ts';
import { findUserById, insertUser, inventUserName } from '../users/users.ts';
import { COMMON, NO_SUCH_USER, toTime, userParamSchema } from './route.ts';

const userSchema = z
  .object({
    user_id: z.string(),
    user_name: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    created_at: z.string(),
  })
  .openapi('User');
/** A `user_name` has the same restrictions as UserName of IAM's CreateUser. */
const userNameSchema = z
  .string()
  .regex(/^[A-Za-z0-9+=,.@_-]{1,64}$/, 'must be 1 to 64 letters, digits or characters of + = , . @ _ -')
  .openapi({ description: 'Unique and immutable; the value of `aws:username`. Default: the user id.' });
const newUserSchema = z.strictObject({
  name: z.string().min(1).max(128),
  email: z.email().max(254).toLowerCase().optional(),
  user_name: userNameSchema.optional(),
});
const CONFLICTS: Record<UserConflict, Problem> = {
  user_name_taken: problem(409, 'user_name_taken', 'Another user has this user_name.'),
  email_taken: problem(409, 'email_taken', 'Another user or mail account has this email.'),
};
const toUserJson = (row: UserRow) => ({
  user_id: row.userId,
  user_name: row.userName,
  name: row.name,
  email: row.email,
  created_at: toTime(row.createdAt),
});

export function addUsers(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'post',
      path: '/v1/iam/users',
      operationId: 'createUser',
      summary: 'Create a user',
      request: jsonBody(newUserSchema),
      responses: { 201: jsonContent(userSchema, 'The new user'), ...problemResponses(400, 401, 403, 409) },
    }),
    async (c) => {
      const { name, email, user_name } = c.req.valid('json');
      const userId = crypto.randomUUID();
      const row = {
        userId,
        userName: user_name ?? inventUserName(userId),
        name,
        email: email ?? null,
        createdAt: createClock(c.env)(),
      };
      const audit = toAuditRow(c, 'user.create', { type: 'user', id: userId });
      const inserted = await insertUser(c.env, row, audit);
      return inserted.ok ? c.json(toUserJson(row), 201) : sendProblem(c, CONFLICTS[inserted.error]);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/users',
      operationId: 'listUsers',
      summary: 'List users',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(userSchema), 'A page of users'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const inOrder = (a: UserRow, b: UserRow) => compareText(a.userId, b.userId);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) =>
          readMerged(c.env, (database) => createIdentityStore(database).listUsers(after, limit), inOrder, limit),
        keyOf: (row) => row.userId,
        toItem: toUserJson,
      });
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'get',
      path: '/v1/iam/users/{user_id}',
      operationId: 'getUser',
      summary: 'Get a user',
      request: { params: userParamSchema },
      responses: { 200: jsonContent(userSchema, 'The user'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const row = await findUserById(c.env, c.req.valid('param').user_id);
      return row ? c.json(toUserJson(row), 200) : sendProblem(c, NO_SUCH_USER);
    },
  );
  api.openapi(
    createRoute({
      ...COMMON,
      method: 'delete',
      path: '/v1/iam/users/{user_id}',
      operationId: 'deleteUser',
      summary: 'Delete a user and its mailbox. Fails while the user owns buckets',
      request: { params: userParamSchema },
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 409, 503) },
    }),
    async (c) => {
      const { user_id: id } = c.req.valid('param');
      const erased = await eraseUser(id, c.env, toAuditRow(c, 'user.delete', { type: 'user', id }));
      return erased.ok ? c.body(null, 204) : sendProblem(c, erased.error);
    },
  );
}
