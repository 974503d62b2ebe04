/** `/v1/operators`: routes of operators as people, and of their logins. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { toAuditRow } from '../../shared/audit/audit.ts';
import {
  createRoutes,
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
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { authorizeFirst, requireIdentityAdmin } from '../callers/guards.ts';
import { mayManage, type OperatorRole } from '../domain/operator-roles.ts';
import type { OperatorPrincipal, RootPrincipal } from '../principal.ts';
import { hashPassword } from '../secrets/passwords.ts';
import { createOperatorStore, type OperatorRow } from '../store/operator-store.ts';
import { endTokensMadeBy } from '../users/user-tokens.ts';
import {
  changedOperatorSchema,
  newOperatorSchema,
  OPERATOR_TAGS,
  operatorLoginSchema,
  operatorParam,
  operatorPasswordSchema,
  operatorSchema,
  roleSchema,
  toOperatorJson,
  toOperatorTarget,
  toRole,
  toSeedJson,
} from './operator-json.ts';
import { addOperatorPasskeyLogin, addOperatorPasskeys } from './operator-passkey-routes.ts';
import { addOperatorLogin, addOwnOperator } from './operator-session-routes.ts';
import { createOperatorSeed } from './operators.ts';
import { addSuspension } from './suspension-routes.ts';

const MANAGER = { ...OPERATOR_TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireIdentityAdmin) };

const NO_OPERATOR = problem(404, 'no_such_operator', 'No operator has this id.');
const NOT_MANAGED = problem(403, 'role_not_allowed', 'Only root manages operators with the role admin.');

export function createOperatorApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  addOperatorLogin(api);
  addOwnOperator(api);
  addOperatorPasskeyLogin(api);
  addOperatorPasskeys(api);
  addList(api);
  addCreate(api);
  addChange(api);
  addDelete(api);
  addSuspension(api);
  return api;
}

function addList(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...MANAGER,
      method: 'get',
      path: '/v1/operators',
      operationId: 'listOperators',
      summary: 'List operators',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(operatorSchema), 'A page'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const store = createOperatorStore(c.env.DIRECTORY);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => store.list(after, limit),
        keyOf: (row) => row.operatorId,
        toItem: toOperatorJson,
      });
    },
  );
}

const roleOf = (caller: RootPrincipal | OperatorPrincipal) => (caller.kind === 'root' ? 'root' : caller.role);

function addCreate(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...MANAGER,
      method: 'post',
      path: '/v1/operators',
      operationId: 'createOperator',
      summary: 'Create an operator. The secret of the second factor is returned only here',
      request: jsonBody(
        z.strictObject({
          login: operatorLoginSchema,
          name: z.string().trim().min(1).max(128),
          role: roleSchema,
          password: operatorPasswordSchema,
        }),
      ),
      responses: {
        201: jsonContent(newOperatorSchema, 'The operator'),
        ...problemResponses(400, 401, 403, 409, 503),
      },
    }),
    async (c) => {
      const caller = await requireIdentityAdmin(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { login, name, role, password } = c.req.valid('json');
      if (!mayManage(roleOf(caller.value), [role])) return sendProblem(c, NOT_MANAGED);
      const hash = await hashPassword(password, 'known');
      if (!hash.ok) return sendProblem(c, hash.error);
      const operatorId = crypto.randomUUID();
      const { seed, sealed } = createOperatorSeed(c.env, operatorId);
      const row: OperatorRow = {
        operatorId,
        login,
        name,
        role,
        passwordHash: hash.value,
        seedSealed: sealed,
        lastStep: 0,
        createdAt: createClock(c.env)(),
      };
      const audit = toAuditRow(c, 'operator.create', toOperatorTarget(operatorId), { role });
      const isNew = await createOperatorStore(c.env.DIRECTORY).insert(row, audit);
      if (!isNew) return sendProblem(c, problem(409, 'login_taken', 'Another operator has this login.'));
      return c.json({ ...toOperatorJson(row), totp: toSeedJson(seed, login) }, 201);
    },
  );
}

/** Finds an operator if the caller may change it. @param newRole role that the operator is to get, if it changes. */
async function findManaged(
  c: Context<JsonApiEnv>,
  operatorId: string,
  newRole: OperatorRole | undefined,
): Promise<Result<OperatorRow, Problem>> {
  const caller = await requireIdentityAdmin(c);
  if (!caller.ok) return caller;
  const row = await createOperatorStore(c.env.DIRECTORY).find(operatorId);
  if (!row) return err(NO_OPERATOR);
  const roles = [toRole(row.role), ...(newRole === undefined ? [] : [newRole])];
  return mayManage(roleOf(caller.value), roles) ? ok(row) : err(NOT_MANAGED);
}

function addChange(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...MANAGER,
      method: 'patch',
      path: '/v1/operators/{operator_id}',
      operationId: 'updateOperator',
      summary: 'Change name, role, password or second factors of an operator; all but the name end its sessions',
      description: 'Another role than `admin` also revokes the tokens that the operator made.',
      request: {
        ...operatorParam,
        ...jsonBody(
          z.strictObject({
            name: z.string().trim().min(1).max(128).optional(),
            role: roleSchema.optional(),
            password: operatorPasswordSchema.optional(),
            reset_totp: z.literal(true).optional().openapi({ description: 'Returns a new secret' }),
            reset_passkeys: z.literal(true).optional().openapi({ description: 'Removes all passkeys' }),
          }),
        ),
      },
      responses: {
        200: jsonContent(changedOperatorSchema, 'The operator'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const { name, role, password, reset_totp, reset_passkeys } = c.req.valid('json');
      const found = await findManaged(c, c.req.valid('param').operator_id, role);
      if (!found.ok) return sendProblem(c, found.error);
      const { operatorId, login } = found.value;
      const hash = password === undefined ? null : await hashPassword(password, 'known');
      if (hash && !hash.ok) return sendProblem(c, hash.error);
      const made = reset_totp ? createOperatorSeed(c.env, operatorId) : null;
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(role === undefined ? {} : { role }),
        ...(hash === null ? {} : { passwordHash: hash.value }),
        ...(made === null ? {} : { seedSealed: made.sealed, lastStep: 0 }),
      };
      const endsSessions = role !== undefined || hash !== null || made !== null || reset_passkeys === true;
      const details = { role, password: hash === null ? undefined : true, reset_totp, reset_passkeys };
      const audit = toAuditRow(c, 'operator.update', toOperatorTarget(operatorId), details);
      if (Object.keys(change).length > 0 || reset_passkeys) {
        // The audit row is written only if the operator's row was updated. If no column changes, the present name is therefore
        // written again.
        const values = Object.keys(change).length > 0 ? change : { name: found.value.name };
        const kept = endsSessions ? null : undefined;
        await createOperatorStore(c.env.DIRECTORY).update(operatorId, values, kept, audit, reset_passkeys);
        if (role !== undefined && role !== 'admin') await endTokensMadeBy(c.env, operatorId);
      }
      const json = toOperatorJson({ ...found.value, ...change });
      return c.json(made === null ? json : { ...json, totp: toSeedJson(made.seed, login) }, 200);
    },
  );
}

function addDelete(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...MANAGER,
      method: 'delete',
      path: '/v1/operators/{operator_id}',
      operationId: 'deleteOperator',
      summary: 'Delete an operator, end its sessions and revoke the tokens that it made',
      request: operatorParam,
      responses: { 204: { description: 'Deleted' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const operatorId = c.req.valid('param').operator_id;
      const found = await findManaged(c, operatorId, undefined);
      // An earlier attempt may have failed after the operator was deleted and before its tokens were.
      if (!found.ok && found.error.code === NO_OPERATOR.code) await endTokensMadeBy(c.env, operatorId);
      if (!found.ok) return sendProblem(c, found.error);
      const audit = toAuditRow(c, 'operator.delete', toOperatorTarget(operatorId));
      await createOperatorStore(c.env.DIRECTORY).delete(operatorId, audit);
      // Now no session of the operator can make another token.
      await endTokensMadeBy(c.env, operatorId);
      return c.body(null, 204);
    },
  );
}
