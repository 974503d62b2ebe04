/** Routes under `/v1/me` for app tokens and additional addresses. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { AGENT_SCOPES, createUserToken, deleteUserToken, listUserTokens } from '../../identity/index.ts';
import { recordAudit, toAuditRow } from '../../shared/audit/audit.ts';
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
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { retireAddress } from '../accounts/addresses.ts';
import { keepToken } from '../accounts/credentials.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { parseOwnAddress } from '../domain/email-address.ts';
import { mayHaveAddresses } from '../domains/hosted-domains.ts';
import { nameSchema } from '../schemas/account.ts';
import { NOT_FOUND, toBadRequest } from '../schemas/errors.ts';
import { createAccountStore } from '../store/account-store.ts';
import { addAddress } from '../store/address-store.ts';
import {
  CONFIRMATION,
  confirmationBody,
  readConfirmation,
  requireConfirmed,
  requireSession,
  SESSION_ROUTE,
} from './confirmed.ts';
import { toTime } from './route.ts';

const ADDRESSES_MAX = 20;

const tokenMembers = {
  token_id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  last_used_at: z.string().nullable().openapi({ description: 'Precise to an hour. Null before the first use.' }),
  client_id: z.string().nullable().openapi({ description: 'The OAuth client of a connection; null for other tokens.' }),
};
const tokenSchema = z.object(tokenMembers).openapi('AppToken');
const newTokenSchema = z.object({ ...tokenMembers, token: z.string() }).openapi('NewAppToken');

interface Token {
  readonly tokenId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly clientId: string | null;
}
const toTokenJson = (token: Token) => ({
  token_id: token.tokenId,
  name: token.name,
  scopes: [...token.scopes],
  created_at: toTime(token.createdAt),
  expires_at: token.expiresAt === null ? null : toTime(token.expiresAt),
  last_used_at: token.lastUsedAt === null ? null : toTime(token.lastUsedAt),
  client_id: token.clientId,
});

export function addAppTokens(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/tokens',
      operationId: 'listOwnTokens',
      summary: 'List your app tokens',
      request: { query: pageQuerySchema },
      responses: { 200: jsonContent(pageSchema(tokenSchema), 'A page'), ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      return sendPage(c, c.req.valid('query'), {
        read: (after, limit) => listUserTokens(c.env, caller.value.userId, after, limit),
        keyOf: (row) => row.tokenId,
        toItem: toTokenJson,
      });
    },
  );
  addCreateToken(api);
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/tokens/{token_id}',
      operationId: 'deleteOwnToken',
      summary: 'Revoke a token',
      request: { params: z.object({ token_id: z.string().max(100) }) },
      responses: { 204: { description: 'Revoked' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { token_id } = c.req.valid('param');
      const audit = toAuditRow(c, 'token.delete', { type: 'token', id: token_id });
      const isGone = await deleteUserToken(c.env, caller.value.userId, token_id, audit);
      return isGone ? c.body(null, 204) : sendProblem(c, NOT_FOUND);
    },
  );
}

function addCreateToken(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/tokens',
      operationId: 'createOwnToken',
      summary: 'Create an app token, or the token of an agent; it is shown only once',
      description:
        'Without scopes: an app token with the scope mail. With scopes of an agent, the token opens /v1/mcp and nothing else. `mail:send` sends without asking only to the addresses of /v1/me/agent-recipients. `mail:codes` shows sign-in codes and reset links, with which an agent could take over accounts elsewhere.',
      request: jsonBody(
        z.strictObject({
          ...CONFIRMATION,
          name: nameSchema,
          expires_at: z.iso.datetime({ offset: true }).optional(),
          scopes: z.array(z.enum(AGENT_SCOPES)).min(1).optional(),
        }),
      ),
      responses: { 201: jsonContent(newTokenSchema, 'The token'), ...problemResponses(400, 401, 403, 409, 429, 503) },
    }),
    async (c) => {
      const { name, expires_at, scopes: asked, ...given } = c.req.valid('json');
      const scopes = asked ? [...new Set(asked)] : (['mail'] as const);
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const now = createClock(c.env)();
      const expiresAt = expires_at === undefined ? null : Date.parse(expires_at);
      if (expiresAt !== null && expiresAt <= now)
        return sendProblem(c, toBadRequest('expires_at', 'Must be in the future.'));
      const { userId } = caller.value;
      const made = await createUserToken(
        c.env,
        userId,
        { name, expiresAt, scopes },
        now,
        (id) => toAuditRow(c, 'token.create', { type: 'token', id }, { scopes: scopes.join(' '), expires_at }),
        (id) => keepToken(c.env, userId, id, expiresAt),
      );
      if (!made.ok) return sendProblem(c, made.error);
      noticeOwner(c, userId, asked ? 'agent' : 'token');
      return c.json({ ...toTokenJson(made.value), token: made.value.token }, 201);
    },
  );
}

const addressSchema = z.object({ email: z.string(), is_primary: z.boolean() }).openapi('OwnAddress');

export function addAddresses(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/addresses',
      operationId: 'listAddresses',
      summary: 'List your addresses; the first is the one you log in with',
      responses: { 200: jsonContent(z.array(addressSchema), 'All addresses'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const addresses = await createAccountStore(userDatabaseOf(c.env, caller.value.userId)).listAddresses(
        caller.value.userId,
      );
      return c.json(
        addresses.map((email) => ({ email, is_primary: email === caller.value.email })),
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/addresses',
      operationId: 'addAddress',
      summary: 'Add an address of a hosted domain, if registration is open',
      request: jsonBody(z.strictObject({ ...CONFIRMATION, email: z.string().max(320) })),
      responses: {
        201: jsonContent(addressSchema, 'The address'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const { email, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      if (settingsOf(c.env).REGISTRATION !== 'open') {
        return sendProblem(c, problem(403, 'registration_closed', 'Only the operator can add addresses.'));
      }
      const address = parseOwnAddress(email);
      if (address === 'reserved')
        return sendProblem(c, problem(403, 'address_reserved', 'This address is reserved for the operator.'));
      if (address === 'bad_address' || !(await mayHaveAddresses(c.env, address.domain))) {
        return sendProblem(c, toBadRequest('email', 'This address cannot be used for an account.'));
      }
      const store = createAccountStore(userDatabaseOf(c.env, caller.value.userId));
      if ((await store.listAddresses(caller.value.userId)).length >= ADDRESSES_MAX) {
        return sendProblem(c, problem(409, 'too_many', `An account may have at most ${ADDRESSES_MAX} addresses.`));
      }
      const isNew = await addAddress(c.env, address.email, caller.value.userId, createClock(c.env)());
      if (!isNew) return sendProblem(c, problem(409, 'address_taken', 'This address was already issued.'));
      await recordAudit(c, 'address.create', { type: 'user', id: caller.value.userId });
      return c.json({ email: address.email, is_primary: false }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/addresses/{email}',
      operationId: 'deleteAddress',
      summary: 'Remove an address; it is never issued again',
      request: { params: z.object({ email: z.string().max(320) }), ...confirmationBody },
      responses: { 204: { description: 'Given up' }, ...problemResponses(400, 401, 403, 404, 409, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const email = c.req.valid('param').email.toLowerCase();
      if (email === caller.value.email) {
        return sendProblem(
          c,
          problem(409, 'primary_address', 'You log in with this address, so it cannot be given up.'),
        );
      }
      const isGone = await retireAddress(c.env, email, caller.value.userId);
      if (!isGone) return sendProblem(c, NOT_FOUND);
      await recordAudit(c, 'address.delete', { type: 'user', id: caller.value.userId });
      return c.body(null, 204);
    },
  );
}
