/** Routes under `/v1/me` for passkeys, and for whether the password is still accepted besides them. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { addPasskey, beginPasskey, createPasskeyStore } from '../../identity/index.ts';
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
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import {
  creationOptionsSchema,
  passkeyParams,
  passkeySchema,
  registrationResponseSchema,
  toPasskeyJson,
} from '../../shared/web/passkey-json.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { nameSchema } from '../schemas/account.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import {
  CONFIRMATION,
  confirmationBody,
  readConfirmation,
  requireConfirmed,
  requireSession,
  SESSION_ROUTE,
} from './confirmed.ts';

const LAST_WAY_IN = problem(409, 'last_way_in', 'This passkey is the only way to log in, so it cannot be removed.');
const NO_PASSKEY = problem(409, 'no_passkey', 'This needs both a passkey and a password.');
const ownerOf = (userId: string) => ({ kind: 'user', id: userId }) as const;

export function addPasskeys(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/passkeys',
      operationId: 'listPasskeys',
      summary: 'List your passkeys, oldest first',
      responses: {
        200: jsonContent(z.object({ data: z.array(passkeySchema), next_cursor: z.null() }), 'All passkeys'),
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const rows = await createPasskeyStore(userDatabaseOf(c.env, caller.value.userId)).listPasskeys(
        ownerOf(caller.value.userId),
      );
      return c.json({ data: rows.map(toPasskeyJson), next_cursor: null }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/passkeys/options',
      operationId: 'beginPasskey',
      summary: 'Start adding a passkey: returns options for the browser, valid once and for five minutes',
      request: confirmationBody,
      responses: {
        200: jsonContent(creationOptionsSchema, 'Options for `navigator.credentials.create`'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId, email, name } = caller.value;
      const user = { owner: ownerOf(userId), userName: email ?? userId, displayName: name };
      const options = await beginPasskey(c.env, user, appOrigin(c.env, c.req.url), createClock(c.env)());
      return options.ok ? unchecked(c.json(options.value, 200)) : sendProblem(c, options.error);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/passkeys',
      operationId: 'addPasskey',
      summary: 'Add the passkey that a device made with the options',
      request: jsonBody(z.strictObject({ name: nameSchema, response: registrationResponseSchema })),
      responses: { 201: jsonContent(passkeySchema, 'The passkey'), ...problemResponses(400, 401, 403, 409) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId, credentialId: session } = caller.value;
      const { name, response } = c.req.valid('json');
      const origin = appOrigin(c.env, c.req.url);
      // Needs no confirmation: only a confirmed session gets the options whose challenge this response must answer.
      const added = await addPasskey(c.env, ownerOf(userId), { name, response, origin, session }, createClock(c.env)());
      if (!added.ok) return sendProblem(c, added.error);
      const { passkeyId } = added.value;
      await recordAudit(c, 'passkey.create', { type: 'user', id: userId }, { passkey_id: passkeyId });
      noticeOwner(c, userId, 'passkey_added');
      return c.json(toPasskeyJson(added.value), 201);
    },
  );
  addPasskeyChanges(api);
  addPasswordRule(api);
}

function addPasskeyChanges(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'patch',
      path: '/v1/me/passkeys/{passkey_id}',
      operationId: 'renamePasskey',
      summary: 'Rename a passkey',
      request: { params: passkeyParams, ...jsonBody(z.strictObject({ name: nameSchema })) },
      responses: { 200: jsonContent(passkeySchema, 'The passkey'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const store = createPasskeyStore(userDatabaseOf(c.env, caller.value.userId));
      const { passkey_id } = c.req.valid('param');
      const renamed = await store.renamePasskey(ownerOf(caller.value.userId), passkey_id, c.req.valid('json').name);
      return renamed ? c.json(toPasskeyJson(renamed), 200) : sendProblem(c, NOT_FOUND);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/passkeys/{passkey_id}',
      operationId: 'deletePasskey',
      summary: 'Remove a passkey, unless it is the only way to log in',
      request: { params: passkeyParams, ...confirmationBody },
      responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 404, 409, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const { passkey_id } = c.req.valid('param');
      const store = createPasskeyStore(userDatabaseOf(c.env, caller.value.userId));
      if (await store.deletePasskey(userId, passkey_id)) {
        await recordAudit(c, 'passkey.delete', { type: 'user', id: userId }, { passkey_id });
        noticeOwner(c, userId, 'passkey_removed');
        return c.body(null, 204);
      }
      const found = await store.findPasskey('user', passkey_id);
      return sendProblem(c, found?.ownerId === userId ? LAST_WAY_IN : NOT_FOUND);
    },
  );
}

function addPasswordRule(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'put',
      path: '/v1/me/password/rule',
      operationId: 'setPasswordRule',
      summary: 'Choose whether a login by password needs a passkey as its second factor',
      request: jsonBody(z.strictObject({ needs_passkey: z.boolean(), ...CONFIRMATION })),
      responses: { 204: { description: 'Set' }, ...problemResponses(400, 401, 403, 409, 429, 503) },
    }),
    async (c) => {
      const { needs_passkey, ...confirmation } = c.req.valid('json');
      const caller = await requireConfirmed(c, confirmation);
      if (!caller.ok) return sendProblem(c, caller.error);
      const isSet = await createPasskeyStore(userDatabaseOf(c.env, caller.value.userId)).requirePasskey(
        caller.value.userId,
        needs_passkey,
      );
      if (!isSet) return sendProblem(c, NO_PASSKEY);
      await recordAudit(c, 'password_rule.set', { type: 'user', id: caller.value.userId }, { needs_passkey });
      noticeOwner(c, caller.value.userId, 'password_rule');
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/password',
      operationId: 'deletePassword',
      summary: 'Remove the password, so that passkeys are the only way to log in',
      request: confirmationBody,
      responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 409, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const isGone = await createPasskeyStore(userDatabaseOf(c.env, caller.value.userId)).deletePassword(
        caller.value.userId,
      );
      if (!isGone) return sendProblem(c, NO_PASSKEY);
      await recordAudit(c, 'password.delete', { type: 'user', id: caller.value.userId });
      noticeOwner(c, caller.value.userId, 'password_removed');
      return c.body(null, 204);
    },
  );
}
