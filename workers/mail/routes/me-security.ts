/**
 * Routes under `/v1/me` for password, sessions, second factor and account deletion. They require a session; app tokens are refused.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  admitGuess,
  beginSecondFactor,
  changePassword,
  confirmSecondFactor,
  ENDS_SINCE_MS,
  endingCredentials,
  eraseUser,
  forgiveGuesses,
  hashPassword,
  publishRevocations,
  readClient,
  refusePasswords,
  removeSecondFactor,
  toOtpAuthUrl,
} from '../../identity/index.ts';
import { recordAudit, toAuditRow } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { databaseNumberOf, userDatabaseOf } from '../../shared/stores/directories.ts';
import { endSession, listSessions } from '../accounts/credentials.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { passwordSchema } from '../schemas/account.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import {
  CONFIRMATION,
  confirmationBody,
  readConfirmation,
  requireConfirmed,
  requireSession,
  SESSION_ROUTE,
} from './confirmed.ts';
import { toTime } from './route.ts';

/**
 * Name under which guesses of a TOTP code are counted, in place of an address. They are therefore counted apart from password
 * guesses.
 */
const TOTP_CONFIRMATION = 'totp confirmation';

const sessionSchema = z
  .object({
    session_id: z.string(),
    user_agent: z.string().nullable(),
    created_at: z.string(),
    last_seen_at: z.string(),
    expires_at: z.string(),
    is_current: z.boolean(),
  })
  .openapi('Session');

export function addSecurity(api: OpenAPIHono<JsonApiEnv>): void {
  addPasswordChange(api);
  addDeletion(api);
  addSessions(api);
  addSecondFactor(api);
}

function addPasswordChange(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/password',
      operationId: 'changePassword',
      summary: 'Change the password, end all other sessions and revoke all app tokens',
      description:
        'Also ends the passkeys and access keys that other sessions made in the last 30 days. `GET /v1/me/security-review` ' +
        'says what ended, and lists what you should look at.',
      request: jsonBody(
        z.strictObject({
          ...CONFIRMATION,
          current_password: z.string().max(256).optional().openapi({ description: 'The same as `password`' }),
          new_password: passwordSchema,
          keep_tokens: z.boolean().optional().openapi({ description: 'True does not revoke app tokens' }),
          since: z.iso.datetime({ offset: true }).optional().openapi({
            description: 'Passkeys and access keys that other sessions made since then end. Default: 30 days ago',
          }),
        }),
      ),
      responses: { 204: { description: 'Changed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const refused = refusePasswords(c.env);
      if (refused !== null) return sendProblem(c, refused);
      const { current_password, new_password, keep_tokens, since, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, { ...given, password: given.password ?? current_password });
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId, credentialId } = caller.value;
      const hash = await hashPassword(new_password, 'known');
      if (!hash.ok) return sendProblem(c, hash.error);
      const keepsTokens = keep_tokens ?? false;
      const audit = toAuditRow(c, 'password.change', { type: 'user', id: userId }, { keeps_tokens: keepsTokens });
      const now = createClock(c.env)();
      const others = { except: credentialId, ...(keepsTokens ? { kind: 'session' as const } : {}) };
      await endingCredentials(c.env, userId, others, () =>
        changePassword(
          userDatabaseOf(c.env, userId),
          {
            userId,
            hash: hash.value,
            now,
            since: since === undefined ? now - ENDS_SINCE_MS : Date.parse(since),
            keptSession: credentialId,
            keepsTokens,
            secretSha256: null,
          },
          audit,
        ),
      );
      await publishRevocations(c.env, [databaseNumberOf(userId)]);
      noticeOwner(c, userId, 'password');
      return c.body(null, 204);
    },
  );
}

function addDeletion(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me',
      operationId: 'deleteOwnAccount',
      summary: 'Delete the account with all its mail; its addresses are never issued again',
      request: confirmationBody,
      responses: { 204: { description: 'Erased' }, ...problemResponses(400, 401, 403, 404, 409, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId: id } = caller.value;
      const erased = await eraseUser(id, c.env, toAuditRow(c, 'account.delete', { type: 'user', id }));
      return erased.ok ? c.body(null, 204) : sendProblem(c, erased.error);
    },
  );
}

function addSessions(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/sessions',
      operationId: 'listSessions',
      summary: 'List your sessions, newest first',
      responses: {
        200: jsonContent(z.object({ data: z.array(sessionSchema), next_cursor: z.null() }), 'All sessions'),
        ...problemResponses(401, 403, 503),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const sessions = await listSessions(c.env, caller.value.userId);
      const data = sessions.map((session) => ({
        session_id: session.sessionId,
        user_agent: session.userAgent,
        created_at: toTime(session.createdAt),
        last_seen_at: toTime(session.lastSeenAt),
        expires_at: toTime(session.expiresAt),
        is_current: session.sessionId === caller.value.credentialId,
      }));
      return c.json({ data, next_cursor: null }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/sessions/{session_id}',
      operationId: 'deleteSession',
      summary: 'End a session',
      request: { params: z.object({ session_id: z.string().max(100) }) },
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { session_id } = c.req.valid('param');
      const isEnded = await endSession(c.env, caller.value.userId, session_id);
      if (!isEnded) return sendProblem(c, NOT_FOUND);
      return c.body(null, 204);
    },
  );
}

function addSecondFactor(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/totp',
      operationId: 'beginTotp',
      summary: 'Start setting up a second factor: returns a secret for an authenticator app',
      request: confirmationBody,
      responses: {
        201: jsonContent(
          z.object({ secret: z.string(), otpauth_url: z.string() }),
          'The secret; required at log-in after a code is confirmed',
        ),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId, email } = caller.value;
      const begun = await beginSecondFactor(c.env, userId);
      if (!begun.ok) return sendProblem(c, problem(409, 'totp_already_on', 'A second factor is already enabled.'));
      return c.json({ secret: begun.value, otpauth_url: toOtpAuthUrl(begun.value, email ?? userId) }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/totp/confirm',
      operationId: 'confirmTotp',
      summary: 'Enable the second factor with a first code; recovery codes are shown only once',
      request: jsonBody(z.strictObject({ totp: z.string().regex(/^\d{6}$/) })),
      responses: {
        200: jsonContent(z.object({ recovery_codes: z.array(z.string()) }), 'The second factor is enabled'),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const now = createClock(c.env)();
      const { userId } = caller.value;
      // Guesses are counted per account. Otherwise each session would have guesses of its own.
      const guesser = { session: userId, client: readClient(c.req.raw.headers) };
      const admitted = await admitGuess(c.env, TOTP_CONFIRMATION, guesser, now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const confirmed = await confirmSecondFactor(c.env, userId, c.req.valid('json').totp, now);
      if (confirmed.ok) {
        await forgiveGuesses(c.env, TOTP_CONFIRMATION, guesser, now);
        await recordAudit(c, 'totp.enable', { type: 'user', id: userId });
        noticeOwner(c, userId, 'second_factor_on');
        return c.json({ recovery_codes: confirmed.value }, 200);
      }
      if (confirmed.error === 'wrong') return sendProblem(c, problem(400, 'wrong_second_factor', 'Wrong code.'));
      const code = confirmed.error === 'already_on' ? 'totp_already_on' : 'totp_not_begun';
      return sendProblem(c, problem(409, code, 'No second factor is waiting for a code.'));
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/totp',
      operationId: 'deleteTotp',
      summary: 'Disable the second factor',
      request: confirmationBody,
      responses: { 204: { description: 'Off' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(
        c,
        readConfirmation(c, () => c.req.valid('json')),
      );
      if (!caller.ok) return sendProblem(c, caller.error);
      await removeSecondFactor(c.env, caller.value.userId);
      await recordAudit(c, 'totp.disable', { type: 'user', id: caller.value.userId });
      noticeOwner(c, caller.value.userId, 'second_factor_off');
      return c.body(null, 204);
    },
  );
}
