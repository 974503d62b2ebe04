/** Routes of operators' passkeys: logins with them, and an operator's own list of them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
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
import {
  authenticationResponseSchema,
  creationOptionsSchema,
  passkeyParams,
  passkeySchema,
  registrationResponseSchema,
  requestOptionsSchema,
  toPasskeyJson,
} from '../../shared/web/passkey-json.ts';
import { readClient } from '../callers/client.ts';
import { admitClient } from '../login/guesses.ts';
import { addPasskey, beginPasskey, beginPasskeyLogin, verifyPasskey } from '../login/passkeys.ts';
import { createOperatorStore } from '../store/operator-store.ts';
import { createPasskeyStore } from '../store/passkey-store.ts';
import { OPERATOR_CONFIRMATION, OPERATOR_TAGS, operatorSessionSchema, toOperatorTarget } from './operator-json.ts';
import { OPERATOR, openSession, requireConfirmedPerson, requirePerson } from './operator-session-routes.ts';

const OPEN = { ...OPERATOR_TAGS, security: [] };
const NO_SUCH_PASSKEY = problem(404, 'not_found', 'Passkey not found.');
const WRONG_PASSKEY = problem(401, 'wrong_passkey', 'The passkey was not accepted.');
const ownerOf = (operatorId: string) => ({ kind: 'operator', id: operatorId }) as const;

export function addOperatorPasskeyLogin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN,
      method: 'post',
      path: '/v1/operators/passkey/options',
      operationId: 'beginOperatorPasskeyLogin',
      summary:
        'Start to use a passkey as an operator: returns options for the browser, valid once and for five minutes',
      responses: {
        200: jsonContent(requestOptionsSchema, 'Options for `navigator.credentials.get`'),
        ...problemResponses(429, 503),
      },
    }),
    async (c) => {
      const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const options = await beginPasskeyLogin(c.env, appOrigin(c.env, c.req.url), createClock(c.env)());
      return unchecked(c.json(options, 200));
    },
  );
  api.openapi(
    createRoute({
      ...OPEN,
      method: 'post',
      path: '/v1/operators/passkey/login',
      operationId: 'loginOperatorWithPasskey',
      summary: 'Log in as an operator with a passkey, which needs neither password nor code',
      request: jsonBody(z.strictObject({ response: authenticationResponseSchema })),
      responses: {
        200: jsonContent(operatorSessionSchema, 'A bearer token for twelve hours'),
        ...problemResponses(400, 401, 429, 503),
      },
    }),
    async (c) => {
      const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const now = createClock(c.env)();
      const { response } = c.req.valid('json');
      const found = await verifyPasskey(c.env, 'operator', response, appOrigin(c.env, c.req.url), now);
      if (!found.ok) return sendProblem(c, found.error);
      const row = await createOperatorStore(c.env.DIRECTORY).find(found.value);
      return row ? c.json(await openSession(c, row, now), 200) : sendProblem(c, WRONG_PASSKEY);
    },
  );
}

export function addOperatorPasskeys(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'get',
      path: '/v1/operators/me/passkeys',
      operationId: 'listOperatorPasskeys',
      summary: 'List your passkeys as an operator, oldest first',
      responses: {
        200: jsonContent(z.object({ data: z.array(passkeySchema), next_cursor: z.null() }), 'All passkeys'),
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const caller = await requirePerson(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const rows = await createPasskeyStore(c.env.DIRECTORY).listPasskeys(ownerOf(caller.value.operatorId));
      return c.json({ data: rows.map(toPasskeyJson), next_cursor: null }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'post',
      path: '/v1/operators/me/passkeys/options',
      operationId: 'beginOperatorPasskey',
      summary:
        'Start adding a passkey as an operator: returns options for the browser, valid once and for five minutes',
      request: jsonBody(z.strictObject(OPERATOR_CONFIRMATION)),
      responses: {
        200: jsonContent(creationOptionsSchema, 'Options for `navigator.credentials.create`'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireConfirmedPerson(c, c.req.valid('json'));
      if (!caller.ok) return sendProblem(c, caller.error);
      const { operatorId, login, name } = caller.value.row;
      const user = { owner: ownerOf(operatorId), userName: login, displayName: name };
      const options = await beginPasskey(c.env, user, appOrigin(c.env, c.req.url), createClock(c.env)());
      return options.ok ? unchecked(c.json(options.value, 200)) : sendProblem(c, options.error);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'post',
      path: '/v1/operators/me/passkeys',
      operationId: 'addOperatorPasskey',
      summary: 'Add the passkey that a device made with the options',
      request: jsonBody(
        z.strictObject({ name: z.string().trim().min(1).max(128), response: registrationResponseSchema }),
      ),
      responses: { 201: jsonContent(passkeySchema, 'The passkey'), ...problemResponses(400, 401, 403, 409) },
    }),
    async (c) => {
      const caller = await requirePerson(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { operatorId, sessionId: session } = caller.value;
      const given = { ...c.req.valid('json'), origin: appOrigin(c.env, c.req.url), session };
      // Password and second factor were checked before the options were returned. Only a response to options of that kind is
      // accepted.
      const added = await addPasskey(c.env, ownerOf(operatorId), given, createClock(c.env)());
      if (!added.ok) return sendProblem(c, added.error);
      await recordAudit(c, 'passkey.create', toOperatorTarget(operatorId), { passkey_id: added.value.passkeyId });
      return c.json(toPasskeyJson(added.value), 201);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR,
      method: 'delete',
      path: '/v1/operators/me/passkeys/{passkey_id}',
      operationId: 'deleteOperatorPasskey',
      summary: 'Remove a passkey as an operator. Password and TOTP still log in',
      request: { params: passkeyParams, ...jsonBody(z.strictObject(OPERATOR_CONFIRMATION)) },
      responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 404, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmedPerson(c, c.req.valid('json'));
      if (!caller.ok) return sendProblem(c, caller.error);
      const { operatorId } = caller.value;
      const { passkey_id } = c.req.valid('param');
      const isGone = await createPasskeyStore(c.env.DIRECTORY).deleteOperatorPasskey(operatorId, passkey_id);
      if (!isGone) return sendProblem(c, NO_SUCH_PASSKEY);
      await recordAudit(c, 'passkey.delete', toOperatorTarget(operatorId), { passkey_id });
      return c.body(null, 204);
    },
  );
}
