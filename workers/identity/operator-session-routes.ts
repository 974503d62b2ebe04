/** Logins, sessions and the password of an operator. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { recordAudit, toAuditRow } from '../shared/audit.ts';
import type { AuditActor } from '../shared/audit-actor.ts';
import { createClock } from '../shared/clock.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../shared/json-api.ts';
import { type Problem, problem } from '../shared/problem.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { readClient } from './client.ts';
import { authorizeFirst, requireOperator } from './guards.ts';
import {
  OPERATOR_TAGS,
  operatorPasswordSchema,
  operatorSchema,
  toOperatorJson,
  toOperatorTarget,
  toTime,
  totpSchema,
} from './operator-json.ts';
import { createOperatorStore } from './operator-store.ts';
import { checkOperatorLogin, openOperatorSession } from './operators.ts';
import { hashPassword } from './passwords.ts';
import type { OperatorPrincipal } from './principal.ts';

const OPERATOR = { ...OPERATOR_TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };

const WRONG_PASSWORD = problem(403, 'wrong_password', 'Wrong password.');
const WRONG_FACTOR = problem(403, 'wrong_second_factor', 'The code is wrong or was already used.');
const NOT_A_PERSON = problem(403, 'operator_only', 'Only an operator who logged in may do this.');

export function addOperatorLogin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_TAGS,
      security: [],
      method: 'post',
      path: '/v1/operators/login',
      operationId: 'loginOperator',
      summary: 'Log in as an operator: password and second factor',
      request: jsonBody(
        z.strictObject({ login: z.string().max(128), password: z.string().max(256), totp: totpSchema.optional() }),
      ),
      responses: {
        200: jsonContent(
          z.object({ operator: operatorSchema, token: z.string(), expires_at: z.string() }),
          'A bearer token for twelve hours',
        ),
        ...problemResponses(400, 401, 429, 503),
      },
    }),
    async (c) => {
      const now = createClock(c.env)();
      const guesser = { client: readClient(c.req.raw.headers), device: null };
      const actor = (id: string): AuditActor => ({ kind: 'operator', id });
      const found = await checkOperatorLogin(c.env, c.req.valid('json'), guesser, now, (id) =>
        recordAudit(c, 'login.second_factor_failed', toOperatorTarget(id), {}, actor(id)),
      );
      if (!found.ok) return sendProblem(c, found.error);
      const { operatorId } = found.value;
      const audit = toAuditRow(c, 'operator.login', toOperatorTarget(operatorId), {}, actor(operatorId));
      const { token, expiresAt } = await openOperatorSession(c.env, operatorId, now, audit);
      return c.json({ operator: toOperatorJson(found.value), token, expires_at: toTime(expiresAt) }, 200);
    },
  );
}

/** The operator who logged in. Refuses root and tokens. */
async function requirePerson(c: Context<JsonApiEnv>): Promise<Result<OperatorPrincipal, Problem>> {
  const caller = await requireOperator(c);
  if (!caller.ok) return caller;
  return caller.value.kind === 'operator' ? ok(caller.value) : err(NOT_A_PERSON);
}

export function addOwnOperator(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'post',
      path: '/v1/operators/logout',
      operationId: 'logoutOperator',
      summary: 'End the session of the operator',
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requirePerson(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      await createOperatorStore(c.env.DIRECTORY).deleteSession(caller.value.sessionId);
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'get',
      path: '/v1/operators/me',
      operationId: 'getOwnOperator',
      summary: 'Read your own operator',
      responses: { 200: jsonContent(operatorSchema, 'The operator'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requirePerson(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const row = await createOperatorStore(c.env.DIRECTORY).find(caller.value.operatorId);
      return row ? c.json(toOperatorJson(row), 200) : sendProblem(c, NOT_A_PERSON);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'post',
      path: '/v1/operators/me/password',
      operationId: 'changeOwnOperatorPassword',
      summary: 'Change your password as an operator, and end your other sessions',
      request: jsonBody(
        z.strictObject({ password: z.string().max(256), totp: totpSchema, new_password: operatorPasswordSchema }),
      ),
      responses: { 204: { description: 'Changed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const caller = await requirePerson(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { operatorId, sessionId } = caller.value;
      const store = createOperatorStore(c.env.DIRECTORY);
      const { login = '' } = (await store.find(operatorId)) ?? {};
      const { new_password, ...given } = c.req.valid('json');
      const guesser = { client: readClient(c.req.raw.headers), session: sessionId };
      const checked = await checkOperatorLogin(c.env, { ...given, login }, guesser, createClock(c.env)(), (id) =>
        recordAudit(c, 'login.second_factor_failed', toOperatorTarget(id)),
      );
      // 401 would mean that the session has ended.
      if (!checked.ok && checked.error.code === 'wrong_login') return sendProblem(c, WRONG_PASSWORD);
      if (!checked.ok && checked.error.code === 'wrong_second_factor') return sendProblem(c, WRONG_FACTOR);
      if (!checked.ok) return sendProblem(c, checked.error);
      const hash = await hashPassword(new_password);
      if (!hash.ok) return sendProblem(c, hash.error);
      const audit = toAuditRow(c, 'operator.update', toOperatorTarget(operatorId), { password: true });
      await store.update(operatorId, { passwordHash: hash.value }, sessionId, audit);
      return c.body(null, 204);
    },
  );
}
