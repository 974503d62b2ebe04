/** Routes under `/v1/me` for the recovery address and for new recovery codes. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  admitAction,
  beginRecoveryAddress,
  confirmRecoveryAddress,
  readRecoveryAddress,
  removeRecoveryAddress,
  replaceRecoveryCodes,
} from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { admitForwardInvitation } from '../accounts/forward-invitations.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { sendAccountMail } from '../outbound/account-mail.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { createAccountStore } from '../store/account-store.ts';
import { listSenders } from '../store/address-store.ts';
import {
  CONFIRMATION,
  confirmationBody,
  readConfirmation,
  requireConfirmed,
  requireSession,
  SESSION_ROUTE,
} from './confirmed.ts';
import { toTime } from './route.ts';

const CODES_PER_ACCOUNT = { max: 5, windowMs: 24 * 3_600_000 };

const recoveryAddressSchema = z
  .object({
    email: z.string().nullable(),
    works_from: z.string().nullable().openapi({
      description:
        'Time from which `email` counts, 72 hours after its confirmation or after a removal. Null if it counts',
    }),
    former_email: z.string().nullable().openapi({ description: 'The address that counts until then' }),
    pending_email: z.string().nullable().openapi({ description: 'The address that waits for its code' }),
  })
  .openapi('RecoveryAddress');
const emailSchema = z.email().max(254).toLowerCase();

/** Tells the owner of an address from when on it no longer recovers the account. Never throws. */
async function notifyFormerAddress(env: Env, userId: string, to: string, worksFrom: number): Promise<void> {
  try {
    const account = await createAccountStore(userDatabaseOf(env, userId)).findAccount(userId);
    if (!account) return;
    await sendAccountMail(env, account, {
      to,
      subject: 'Recovery address removed',
      text:
        `This address was replaced or removed as the recovery address of ${account.email}.\n` +
        `It still recovers the account until ${new Date(worksFrom).toUTCString()}.\n\n` +
        'If you did not change it, request a new password now ("Forgot your password?"), or contact the operator.\n',
    });
  } catch (error) {
    logError('recovery_mail_failed', error);
  }
}

export function addRecoveryAddress(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/recovery-address',
      operationId: 'getRecoveryAddress',
      summary: 'Read the recovery address, and one that waits for its code',
      responses: { 200: jsonContent(recoveryAddressSchema, 'The addresses'), ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const address = await readRecoveryAddress(c.env, caller.value.userId, createClock(c.env)());
      const { email, worksFrom, formerEmail: former_email, pendingEmail: pending_email } = address;
      return c.json(
        { email, works_from: worksFrom === null ? null : toTime(worksFrom), former_email, pending_email },
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'put',
      path: '/v1/me/recovery-address',
      operationId: 'setRecoveryAddress',
      summary: 'Mail a code to a new recovery address; it replaces the old one when the code is confirmed',
      request: jsonBody(z.strictObject({ email: emailSchema, ...CONFIRMATION })),
      responses: { 202: { description: 'The code was sent' }, ...problemResponses(400, 401, 403, 404, 429, 503) },
    }),
    async (c) => {
      const { email, ...confirmation } = c.req.valid('json');
      const caller = await requireConfirmed(c, confirmation);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const account = await createAccountStore(userDatabaseOf(c.env, userId)).findAccount(userId);
      if (!account) return sendProblem(c, problem(404, 'no_mailbox', 'This user has no mailbox.'));
      if ((await listSenders(c.env, userId)).includes(email)) {
        return sendProblem(c, toBadRequest('email', 'This is one of your own addresses.'));
      }
      const now = createClock(c.env)();
      const admitted = await admitAction(c.env, 'recovery address', userId, CODES_PER_ACCOUNT, now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      // Limits the codes that one address receives from all accounts. Forwarding invitations count too.
      const invited = await admitForwardInvitation(c.env, email, userId, now);
      if (!invited.ok) return sendProblem(c, invited.error);
      const code = await beginRecoveryAddress(c.env, userId, email, now);
      await sendAccountMail(c.env, account, {
        to: email,
        subject: 'Confirm your recovery address',
        text:
          `This address was given as the recovery address of ${account.email}.\n\n` +
          `If this is your account, enter this code in its settings within a day: ${code}\n\n` +
          'If you do not know the account, ignore this message.\n',
      });
      return c.body(null, 202);
    },
  );
  addConfirmationAndRemoval(api);
  addRecoveryCodes(api);
}

function addConfirmationAndRemoval(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/recovery-address/confirm',
      operationId: 'confirmRecoveryAddress',
      summary: 'Confirm the new recovery address with its code',
      request: jsonBody(z.strictObject({ code: z.string().min(1).max(40) })),
      responses: { 204: { description: 'Confirmed' }, ...problemResponses(400, 401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const done = await confirmRecoveryAddress(c.env, userId, c.req.valid('json').code, createClock(c.env)());
      if (done === null) return sendProblem(c, problem(400, 'wrong_code', 'The code is wrong or expired.'));
      await recordAudit(c, 'recovery_address.confirm', { type: 'user', id: userId });
      noticeOwner(c, userId, 'recovery_address');
      if (done.formerEmail !== null && done.formerEmail !== done.email) {
        await notifyFormerAddress(c.env, userId, done.formerEmail, done.worksFrom);
      }
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/recovery-address',
      operationId: 'deleteRecoveryAddress',
      summary: 'Remove the recovery address, and one that waits for its code',
      request: confirmationBody,
      responses: { 204: { description: 'Removed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const done = await removeRecoveryAddress(c.env, caller.value.userId, createClock(c.env)());
      await recordAudit(c, 'recovery_address.delete', { type: 'user', id: caller.value.userId });
      noticeOwner(c, caller.value.userId, 'recovery_address');
      if (done?.formerEmail) {
        await notifyFormerAddress(c.env, caller.value.userId, done.formerEmail, done.worksFrom);
      }
      return c.body(null, 204);
    },
  );
}

function addRecoveryCodes(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/totp/recovery-codes',
      operationId: 'replaceRecoveryCodes',
      summary: 'Replace the recovery codes of the second factor; the new ones are shown only once',
      request: confirmationBody,
      responses: {
        200: jsonContent(z.object({ recovery_codes: z.array(z.string()) }), 'The new codes. The old ones are void'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const replaced = await replaceRecoveryCodes(c.env, caller.value.userId);
      if (!replaced.ok) return sendProblem(c, problem(409, 'totp_not_begun', 'No second factor is enabled.'));
      await recordAudit(c, 'recovery_codes.replace', { type: 'user', id: caller.value.userId });
      noticeOwner(c, caller.value.userId, 'recovery_codes');
      return c.json({ recovery_codes: replaced.value }, 200);
    },
  );
}
