/** Operator routes for accounts: account type, rebuild, invitations. */
import { randomBytes } from 'node:crypto';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireOperator } from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { ensureMailbox, hashInvite } from '../accounts/accounts.ts';
import { ACCOUNT_TYPES } from '../bindings/account-limits.ts';
import { rebuildMailbox } from '../maintenance/rebuild-mailbox.ts';
import { recoverMessages } from '../maintenance/recover-messages.ts';
import { createAccountStore } from '../store/account-store.ts';
import { OPERATOR_ROUTE, toTime } from './route.ts';

const INVITE_AGE_MS = 14 * 24 * 3_600_000;

const accountSchema = z
  .object({ user_id: z.string(), email: z.string(), account_type: z.enum(ACCOUNT_TYPES), created_at: z.string() })
  .openapi('MailAccount');

export function addAccounts(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'patch',
      path: '/v1/accounts/{user_id}',
      operationId: 'updateAccount',
      summary: 'Operator: change the type of an account',
      request: {
        params: z.object({ user_id: z.string().max(100) }),
        ...jsonBody(z.strictObject({ account_type: z.enum(ACCOUNT_TYPES) })),
      },
      responses: { 200: jsonContent(accountSchema, 'The account'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { user_id } = c.req.valid('param');
      const store = createAccountStore(userDatabaseOf(c.env, user_id));
      const account = await store.findAccount(user_id);
      if (!account) return sendProblem(c, problem(404, 'no_such_account', 'Mail account not found.'));
      const { account_type } = c.req.valid('json');
      await store.setAccountType(account.userId, account_type);
      await ensureMailbox(c.env, { ...account, accountType: account_type });
      const { userId, email, createdAt } = account;
      await recordAudit(c, 'account.update', { type: 'user', id: userId }, { account_type });
      return c.json({ user_id: userId, email, account_type, created_at: toTime(createdAt) }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/accounts/{user_id}/rebuild',
      operationId: 'rebuildMailbox',
      summary:
        'Operator: rebuild texts, attachments, search and threads of a mailbox, or the whole mailbox, from its raw mail',
      request: { params: z.object({ user_id: z.string().max(100) }) },
      responses: {
        200: jsonContent(
          z.object({
            messages: z.int().openapi({ description: 'Messages whose derived data was made again' }),
            missing: z.array(z.string()).openapi({ description: 'Messages whose raw bytes are in no location' }),
            recovered: z.int().openapi({ description: 'Messages of a lost mailbox, restored from their raw bytes' }),
          }),
          'The rebuild report',
        ),
        ...problemResponses(401, 403, 404),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { user_id } = c.req.valid('param');
      const account = await createAccountStore(userDatabaseOf(c.env, user_id)).findAccount(user_id);
      if (!account) return sendProblem(c, problem(404, 'no_such_account', 'Mail account not found.'));
      await ensureMailbox(c.env, account);
      const { messages, missing } = await rebuildMailbox(c.env, account.userId);
      const recovered = await recoverMessages(c.env, account.userId);
      await recordAudit(c, 'account.rebuild', { type: 'user', id: account.userId }, { messages, recovered });
      return c.json({ messages, missing, recovered }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/v1/invites',
      operationId: 'createInvite',
      summary: 'Operator: create an invitation, valid once and for 14 days',
      responses: {
        201: jsonContent(z.object({ invite: z.string(), expires_at: z.string() }), 'The invitation, shown only once'),
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const caller = await requireOperator(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const invite = randomBytes(18).toString('base64url');
      const now = createClock(c.env)();
      await createAccountStore(c.env.DIRECTORY).insertInvite(hashInvite(invite), now, now + INVITE_AGE_MS);
      await recordAudit(c, 'invite.create', { type: 'invite', id: hashInvite(invite) });
      return c.json({ invite, expires_at: toTime(now + INVITE_AGE_MS) }, 201);
    },
  );
}
