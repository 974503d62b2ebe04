/** Under `/v1/me`: password, sessions, second factor, account deletion. Requires a session; app tokens are refused. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  admitGuess,
  authorizeFirst,
  beginSecondFactor,
  confirmSecondFactor,
  createLoginStore,
  eraseUser,
  forgiveGuesses,
  hashPassword,
  readClient,
  removeSecondFactor,
  requireMailUser,
  toOtpAuthUrl,
  type UserPrincipal,
  verifyPassword,
} from '../../identity/index.ts';
import { createClock } from '../../shared/clock.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json-api.ts';
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { passwordSchema } from '../schemas/account.ts';
import { NOT_FOUND } from '../schemas/errors.ts';
import { toTime, USER_ROUTE } from './route.ts';

const SESSION_ONLY = problem(403, 'session_only', 'This requires a session. App tokens are not accepted.');
/** Used instead of an address, so that these guesses are counted separately from password guesses. */
const TOTP_CONFIRMATION = 'totp confirmation';
const WRONG_PASSWORD = problem(403, 'wrong_password', 'Wrong password.');

/** The caller, authenticated by a session. */
export async function requireSession(c: Context<JsonApiEnv>): Promise<Result<UserPrincipal, Problem>> {
  const caller = await requireMailUser(c);
  if (!caller.ok || caller.value.via === 'session') return caller;
  return err(SESSION_ONLY);
}

/** Declaration of a route that requires a session. */
export const SESSION_ROUTE = { ...USER_ROUTE, middleware: authorizeFirst(requireSession) };

/** The caller, authenticated by session and password. Counts guesses per client and per session. */
async function requirePassword(c: Context<JsonApiEnv>, password: string): Promise<Result<UserPrincipal, Problem>> {
  const caller = await requireSession(c);
  if (!caller.ok) return caller;
  const { userId, email, credentialId } = caller.value;
  const now = createClock(c.env)();
  const guesser = { session: credentialId, client: readClient(c.req.raw.headers) };
  const admitted = await admitGuess(c.env, email ?? userId, guesser, now);
  if (!admitted.ok) return admitted;
  const hash = await createLoginStore(c.env.DIRECTORY).findPassword(userId);
  const verified = await verifyPassword(password, hash);
  if (!verified.ok) return verified;
  if (!verified.value) return err(WRONG_PASSWORD);
  await forgiveGuesses(c.env, email ?? userId, guesser, now);
  return ok(caller.value);
}

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
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/password',
      operationId: 'changePassword',
      summary: 'Change the password and end all other sessions',
      request: jsonBody(z.strictObject({ current_password: z.string().max(256), new_password: passwordSchema })),
      responses: { 204: { description: 'Changed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const { current_password, new_password } = c.req.valid('json');
      const caller = await requirePassword(c, current_password);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId, credentialId } = caller.value;
      const hash = await hashPassword(new_password);
      if (!hash.ok) return sendProblem(c, hash.error);
      await createLoginStore(c.env.DIRECTORY).replacePassword(userId, hash.value, credentialId, createClock(c.env)());
      await openMailbox(c.env, userId).closeSockets({ except: credentialId });
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me',
      operationId: 'deleteOwnAccount',
      summary: 'Delete the account with all its mail; its addresses are never issued again',
      responses: { 204: { description: 'Erased' }, ...problemResponses(401, 403, 404, 409) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const erased = await eraseUser(caller.value.userId, c.env);
      return erased.ok ? c.body(null, 204) : sendProblem(c, erased.error);
    },
  );
  addSessions(api);
  addSecondFactor(api);
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
        ...problemResponses(401, 403),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const now = createClock(c.env)();
      const sessions = await createLoginStore(c.env.DIRECTORY).listSessions(caller.value.userId);
      const data = sessions
        .filter((session) => session.expiresAt > now)
        .map((session) => ({
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
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { session_id } = c.req.valid('param');
      const ended = await createLoginStore(c.env.DIRECTORY).deleteSession(caller.value.userId, session_id);
      if (!ended) return sendProblem(c, NOT_FOUND);
      await openMailbox(c.env, caller.value.userId).closeSockets({ only: session_id });
      return c.body(null, 204);
    },
  );
}

const passwordBody = jsonBody(z.strictObject({ password: z.string().max(256) }));

function addSecondFactor(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/totp',
      operationId: 'beginTotp',
      summary: 'Start setting up a second factor: returns a secret for an authenticator app',
      request: passwordBody,
      responses: {
        201: jsonContent(
          z.object({ secret: z.string(), otpauth_url: z.string() }),
          'The secret; required at log-in after a code is confirmed',
        ),
        ...problemResponses(400, 401, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requirePassword(c, c.req.valid('json').password);
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
      // Counted per account; otherwise each session would have its own guesses.
      const guesser = { session: userId, client: readClient(c.req.raw.headers) };
      const admitted = await admitGuess(c.env, TOTP_CONFIRMATION, guesser, now);
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const confirmed = await confirmSecondFactor(c.env, userId, c.req.valid('json').totp, now);
      if (confirmed.ok) {
        await forgiveGuesses(c.env, TOTP_CONFIRMATION, guesser, now);
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
      request: passwordBody,
      responses: { 204: { description: 'Off' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const caller = await requirePassword(c, c.req.valid('json').password);
      if (!caller.ok) return sendProblem(c, caller.error);
      await removeSecondFactor(c.env, caller.value.userId);
      return c.body(null, 204);
    },
  );
}
