/** Logins, sessions and the password of an operator. `operator-passkey-routes.ts` has the passkeys. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { recordAudit, toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { readClient } from '../callers/client.ts';
import { authorizeFirst, requireOperator } from '../callers/guards.ts';
import { recordFailedLogin } from '../login/failed-logins.ts';
import type { OperatorPrincipal } from '../principal.ts';
import { hashPassword } from '../secrets/passwords.ts';
import { createOperatorStore, type OperatorRow } from '../store/operator-store.ts';
import {
  OPERATOR_CONFIRMATION,
  OPERATOR_SOLUTION,
  OPERATOR_TAGS,
  operatorPasswordSchema,
  operatorSchema,
  operatorSessionSchema,
  toOperatorJson,
  toOperatorTarget,
  toTime,
} from './operator-json.ts';
import { checkOperatorLogin, type OperatorFactor, openOperatorSession } from './operators.ts';

export const OPERATOR = { ...OPERATOR_TAGS, security: [{ bearer: [] }], middleware: authorizeFirst(requireOperator) };

const CONFIRMATION_PROBLEMS: Readonly<Record<string, Problem>> = {
  wrong_login: problem(403, 'wrong_password', 'Wrong password.'),
  second_factor_required: problem(403, 'second_factor_required', 'A second factor is required: totp or passkey.'),
  wrong_second_factor: problem(403, 'wrong_second_factor', 'The code or passkey is wrong or was already used.'),
};
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
      request: jsonBody(z.strictObject({ login: z.string().max(128), ...OPERATOR_CONFIRMATION, ...OPERATOR_SOLUTION })),
      responses: {
        200: jsonContent(operatorSessionSchema, 'A bearer token for twelve hours'),
        ...problemResponses(400, 401, 403, 429, 503),
      },
    }),
    async (c) => {
      const guesser = { client: readClient(c.req.raw.headers), device: null };
      const at = { origin: appOrigin(c.env, c.req.url), now: createClock(c.env)() };
      const found = await checkOperatorLogin(c.env, c.req.valid('json'), guesser, at, recordFailures(c));
      if (!found.ok) return sendProblem(c, found.error);
      return c.json(await openSession(c, found.value, at.now), 200);
    },
  );
}

/** Records the failures of an operator's login or confirmation in the audit log. */
const recordFailures =
  (c: Context<JsonApiEnv>) =>
  async (event: 'login.failed' | 'login.second_factor_failed', id: string | null): Promise<void> => {
    if (event === 'login.failed' || id === null) await recordFailedLogin(c, id === null ? null : toOperatorTarget(id));
    else await recordAudit(c, event, toOperatorTarget(id), {}, { kind: 'operator', id });
  };

export async function openSession(c: Context<JsonApiEnv>, row: OperatorRow, now: number) {
  const { operatorId } = row;
  const audit = toAuditRow(c, 'operator.login', toOperatorTarget(operatorId), {}, { kind: 'operator', id: operatorId });
  const { token, expiresAt } = await openOperatorSession(c.env, operatorId, now, audit);
  return { operator: toOperatorJson(row), token, expires_at: toTime(expiresAt) };
}

/** Requires an operator with an open session. Refuses root and tokens. */
export async function requirePerson(c: Context<JsonApiEnv>): Promise<Result<OperatorPrincipal, Problem>> {
  const caller = await requireOperator(c);
  if (!caller.ok) return caller;
  return caller.value.kind === 'operator' ? ok(caller.value) : err(NOT_A_PERSON);
}

/** Requires an operator with an open session, and checks password and second factor again. */
export async function requireConfirmedPerson(
  c: Context<JsonApiEnv>,
  given: OperatorFactor & { readonly password: string },
): Promise<Result<OperatorPrincipal & { readonly row: OperatorRow }, Problem>> {
  const caller = await requirePerson(c);
  if (!caller.ok) return caller;
  const { operatorId, sessionId } = caller.value;
  const row = await createOperatorStore(c.env.DIRECTORY).find(operatorId);
  if (!row) return err(NOT_A_PERSON);
  const guesser = { client: readClient(c.req.raw.headers), session: sessionId };
  const at = { origin: appOrigin(c.env, c.req.url), now: createClock(c.env)() };
  const checked = await checkOperatorLogin(c.env, { ...given, login: row.login }, guesser, at, recordFailures(c));
  if (checked.ok) return ok({ ...caller.value, row });
  // The answer is not 401, because that would mean that the session has ended.
  return err(CONFIRMATION_PROBLEMS[checked.error.code] ?? checked.error);
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
      request: jsonBody(z.strictObject({ ...OPERATOR_CONFIRMATION, new_password: operatorPasswordSchema })),
      responses: { 204: { description: 'Changed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const { new_password, ...given } = c.req.valid('json');
      const caller = await requireConfirmedPerson(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { operatorId, sessionId } = caller.value;
      const hash = await hashPassword(new_password, 'known');
      if (!hash.ok) return sendProblem(c, hash.error);
      const audit = toAuditRow(c, 'operator.update', toOperatorTarget(operatorId), { password: true });
      await createOperatorStore(c.env.DIRECTORY).update(operatorId, { passwordHash: hash.value }, sessionId, audit);
      return c.body(null, 204);
    },
  );
}
