/** `/v1/me/address-forwards`: addresses of the caller whose mail is forwarded, with or without a copy in the mailbox. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { AddressForward } from '../../../durable-objects/mail/contract/rules.ts';

import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { createAccountStore } from '../store/account-store.ts';
import { CONFIRMATION, requireConfirmed, SESSION_ROUTE } from './confirmed.ts';
import { callMailbox, openOwnMailbox, USER_ROUTE } from './route.ts';

const TARGETS_MAX = 20;
const toSchema = z.array(z.email().max(254).toLowerCase()).min(1).max(TARGETS_MAX);
const forwardSchema = z
  .object({
    email: z.string(),
    to: z.array(z.string()),
    keeps_copy: z.boolean().openapi({ description: 'False: what was forwarded is not kept.' }),
  })
  .openapi('AddressForward');
const params = z.object({ email: z.string().max(320) });
const NO_ADDRESS = problem(404, 'not_found', 'This is not one of your addresses, or it is not forwarded.');

const toJson = ({ email, targets, keepsCopy }: AddressForward) => ({ email, to: [...targets], keeps_copy: keepsCopy });

export function addAddressForwards(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/me/address-forwards',
      operationId: 'listAddressForwards',
      summary: 'List your addresses whose mail is forwarded',
      responses: { 200: jsonContent(z.array(forwardSchema), 'All of them'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const forwards = await own.value.ask((mailbox) => mailbox.listAddressForwards());
      if (!forwards.ok) return sendProblem(c, forwards.error);
      const addresses = await createAccountStore(userDatabaseOf(c.env, own.value.user.userId)).listAddresses(
        own.value.user.userId,
      );
      return c.json(forwards.value.filter(({ email }) => addresses.includes(email)).map(toJson), 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'put',
      path: '/v1/me/address-forwards/{email}',
      operationId: 'setAddressForward',
      summary: 'Forward the mail of one of your addresses or wildcards to confirmed targets',
      description:
        'Filters and the vacation reply skip mail that is not kept. Junk, reports and mail that this account forwarded before are not ' +
        'forwarded but kept.',
      request: {
        params,
        ...jsonBody(z.strictObject({ ...CONFIRMATION, to: toSchema, keeps_copy: z.boolean().default(true) })),
      },
      responses: {
        200: jsonContent(forwardSchema, 'The forward'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const { to, keeps_copy: keepsCopy, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const email = c.req.valid('param').email.toLowerCase();
      const addresses = await createAccountStore(userDatabaseOf(c.env, userId)).listAddresses(userId);
      if (!addresses.includes(email)) return sendProblem(c, NO_ADDRESS);
      const forward = { email, targets: [...new Set(to)], keepsCopy };
      const saved = await callMailbox(c.env, userId, (mailbox) => mailbox.saveAddressForward(forward));
      if (!saved.ok) return sendProblem(c, saved.error);
      await recordAudit(c, 'address_forward.update', { type: 'user', id: userId });
      noticeOwner(c, userId, 'address_forward');
      return c.json(toJson(saved.value), 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/address-forwards/{email}',
      operationId: 'deleteAddressForward',
      summary: 'Stop forwarding the mail of an address',
      request: { params },
      responses: { 204: { description: 'No longer forwarded' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const email = c.req.valid('param').email.toLowerCase();
      const gone = await own.value.ask((mailbox) => mailbox.deleteAddressForward(email));
      if (!gone.ok) return sendProblem(c, NO_ADDRESS);
      await recordAudit(c, 'address_forward.delete', { type: 'user', id: own.value.user.userId });
      return c.body(null, 204);
    },
  );
}
