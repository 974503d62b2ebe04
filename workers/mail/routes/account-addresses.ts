/** `/v1/accounts/{user_id}/addresses`: the operator assigns addresses and wildcards to accounts. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { err, ok } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { retireAddress } from '../accounts/addresses.ts';
import { parseOwnAddress, parseWildcard } from '../domain/email-address.ts';
import { mayHaveAddresses } from '../domains/hosted-domains.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { createAccountStore } from '../store/account-store.ts';
import { addAddress } from '../store/address-store.ts';
import { OPERATOR_ROUTE } from './route.ts';

const NO_ACCOUNT = problem(404, 'no_such_account', 'Mail account not found.');
const userParam = z.object({ user_id: z.string().max(100) });
const addressSchema = z
  .object({ email: z.string().openapi({ example: 'sales-*@example.test' }), is_primary: z.boolean() })
  .openapi('AccountAddress');

/** Checks that the caller is an operator, and finds the account. */
async function findAccountOf(c: Context<JsonApiEnv>, userId: string) {
  const caller = await requireOperator(c);
  if (!caller.ok) return caller;
  const store = createAccountStore(userDatabaseOf(c.env, userId));
  const account = await store.findAccount(userId);
  return account ? ok({ store, account }) : err(NO_ACCOUNT);
}

export function addAccountAddresses(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/v1/accounts/{user_id}/addresses',
      operationId: 'listAccountAddresses',
      summary: 'Operator: list the addresses of an account',
      request: { params: userParam },
      responses: { 200: jsonContent(z.array(addressSchema), 'All addresses'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const found = await findAccountOf(c, c.req.valid('param').user_id);
      if (!found.ok) return sendProblem(c, found.error);
      const { store, account } = found.value;
      const addresses = await store.listAddresses(account.userId);
      return c.json(
        addresses.map((email) => ({ email, is_primary: email === account.email })),
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/accounts/{user_id}/addresses',
      operationId: 'addAccountAddress',
      summary: 'Operator: give an account an address',
      description:
        'An address, or a wildcard such as `sales-*@example.test`. The account receives mail for every address that matches the wildcard and ' +
        'belongs to nobody else, and may send from it. The longest wildcard wins, then the catch-all of the domain.',
      request: { params: userParam, ...jsonBody(z.strictObject({ email: z.string().max(320) })) },
      responses: { 201: jsonContent(addressSchema, 'The address'), ...problemResponses(400, 401, 403, 404, 409) },
    }),
    async (c) => {
      const found = await findAccountOf(c, c.req.valid('param').user_id);
      if (!found.ok) return sendProblem(c, found.error);
      const { account } = found.value;
      const { email } = c.req.valid('json');
      const address = parseWildcard(email) ?? parseOwnAddress(email);
      if (address === 'reserved')
        return sendProblem(c, problem(403, 'address_reserved', 'This address is reserved for the operator.'));
      if (address === 'bad_address' || !(await mayHaveAddresses(c.env, address.domain)))
        return sendProblem(c, toBadRequest('email', 'This address cannot be used for an account.'));
      if (!(await addAddress(c.env, address.email, account.userId, createClock(c.env)())))
        return sendProblem(c, problem(409, 'address_taken', 'This address was already issued.'));
      await recordAudit(c, 'address.create', { type: 'user', id: account.userId });
      return c.json({ email: address.email, is_primary: false }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'delete',
      path: '/v1/accounts/{user_id}/addresses/{email}',
      operationId: 'deleteAccountAddress',
      summary: 'Operator: take an address from an account; it is never issued again',
      request: { params: userParam.extend({ email: z.string().max(320) }) },
      responses: { 204: { description: 'Taken away' }, ...problemResponses(401, 403, 404, 409, 503) },
    }),
    async (c) => {
      const found = await findAccountOf(c, c.req.valid('param').user_id);
      if (!found.ok) return sendProblem(c, found.error);
      const { account } = found.value;
      const email = c.req.valid('param').email.toLowerCase();
      if (email === account.email)
        return sendProblem(c, problem(409, 'primary_address', 'The account logs in with this address.'));
      if (!(await retireAddress(c.env, email, account.userId)))
        return sendProblem(c, problem(404, 'not_found', 'The account has no such address.'));
      await recordAudit(c, 'address.delete', { type: 'user', id: account.userId });
      return c.body(null, 204);
    },
  );
}
