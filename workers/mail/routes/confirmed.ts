/**
 * Confirmed sessions. A sensitive action needs the password (and second factor) again: either at most ten minutes before, by `POST
 * /v1/auth/confirm`, or in its own request. So a stolen session alone cannot take over the account. App tokens are refused.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import {
  admitGuess,
  authorizeFirst,
  checkSecondFactor,
  createLoginStore,
  forgiveGuesses,
  readClient,
  readPasswordRule,
  recordFailedLogin,
  refusePasswords,
  requireMailUser,
  type UserPrincipal,
  verifyPasskey,
  verifyPassword,
} from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { authenticationResponseSchema } from '../../shared/web/passkey-json.ts';
import { confirmSession, SESSION_AGE_MAX_MS } from '../accounts/credentials.ts';
import { USER_ROUTE } from './route.ts';

export const CONFIRMED_MS = 10 * 60_000;

const SESSION_ONLY = problem(403, 'session_only', 'This requires a session. App tokens are not accepted.');
const CONFIRMATION_REQUIRED = problem(
  403,
  'confirmation_required',
  'Confirm this with your password: POST /v1/auth/confirm, or `password` (and `totp`) or `passkey` in the request.',
);
const WRONG_PASSWORD = problem(403, 'wrong_password', 'Wrong password.');
const FACTOR_NEEDED = problem(
  403,
  'second_factor_required',
  'A second factor is required: totp, recovery_code or passkey.',
);
const WRONG_PASSKEY = problem(403, 'wrong_passkey', 'The passkey was not accepted.');
const WRONG_FACTOR = problem(403, 'wrong_second_factor', 'The code is wrong or was already used.');

/** Members of a request that confirm it: either the password, with a second factor if the account has one, or a passkey alone. */
export const CONFIRMATION = {
  password: z.string().max(256).optional(),
  totp: z
    .string()
    .regex(/^\d{6}$/)
    .optional(),
  recovery_code: z.string().max(40).optional(),
  passkey: authenticationResponseSchema.optional(),
};
export type Confirmation = z.infer<z.ZodObject<typeof CONFIRMATION>>;

/** Request of `createRoute` with an optional JSON body that only confirms it. */
export const confirmationBody = { body: { content: { 'application/json': { schema: z.strictObject(CONFIRMATION) } } } };

/**
 * @returns the members of an optional `confirmationBody`; none if the request has no body.
 * @param json returns the validated body; called only if there is one.
 */
export const readConfirmation = (c: Context<JsonApiEnv>, json: () => Confirmation): Confirmation =>
  c.req.header('content-type') === undefined ? {} : json();

/** Requires a session. @returns the caller, or a problem for any other credential. */
export async function requireSession(c: Context<JsonApiEnv>): Promise<Result<UserPrincipal, Problem>> {
  const caller = await requireMailUser(c);
  if (!caller.ok || caller.value.via === 'session') return caller;
  return err(SESSION_ONLY);
}

/** Whether the log-in that made the session is as recent as a confirmation that still holds. */
export const isNewSession = ({ expiresAt }: UserPrincipal, now: number): boolean =>
  expiresAt !== null && expiresAt - SESSION_AGE_MAX_MS > now - CONFIRMED_MS;

/** Declaration of routes that require a session. */
export const SESSION_ROUTE = { ...USER_ROUTE, middleware: authorizeFirst(requireSession) };

/**
 * Requires a confirmed session, or a session with the password (and second factor) or a passkey in the request.
 * @returns the caller; otherwise 403 `confirmation_required`, or 429 after too many guesses.
 */
export async function requireConfirmed(
  c: Context<JsonApiEnv>,
  given: Confirmation,
): Promise<Result<UserPrincipal, Problem>> {
  const caller = await requireSession(c);
  if (!caller.ok) return caller;
  const { password, passkey } = given;
  if (passkey !== undefined) {
    const verified = await verifyPasskey(c.env, 'user', passkey, appOrigin(c.env, c.req.url), createClock(c.env)());
    return verified.ok && verified.value === caller.value.userId ? caller : err(WRONG_PASSKEY);
  }
  if (password !== undefined) return checkConfirmation(c, caller.value, { ...given, password });
  const { confirmedUntil } = caller.value;
  return confirmedUntil !== null && confirmedUntil > createClock(c.env)() ? caller : err(CONFIRMATION_REQUIRED);
}

/** Checks password and second factor. Counts guesses per client and per session. */
async function checkConfirmation(
  c: Context<JsonApiEnv>,
  user: UserPrincipal,
  given: Confirmation & { readonly password: string },
): Promise<Result<UserPrincipal, Problem>> {
  const refused = refusePasswords(c.env);
  if (refused !== null) return err(refused);
  const { userId, email, credentialId } = user;
  const now = createClock(c.env)();
  const guesser = { session: credentialId, client: readClient(c.req.raw.headers) };
  const admitted = await admitGuess(c.env, email ?? userId, guesser, now);
  if (!admitted.ok) return admitted;
  const verified = await verifyPassword(
    given.password,
    await createLoginStore(userDatabaseOf(c.env, userId)).findPassword(userId),
    'known',
  );
  if (!verified.ok) return verified;
  if (!verified.value) {
    await recordFailedLogin(c, { type: 'user', id: userId });
    return err(WRONG_PASSWORD);
  }
  const factor = await checkSecondFactor(c.env, userId, given, now);
  if (!factor.ok) {
    if (factor.error === 'required') return err(FACTOR_NEEDED);
    await recordAudit(c, 'login.second_factor_failed', { type: 'user', id: userId }, { during: 'confirmation' });
    return err(WRONG_FACTOR);
  }
  const { needsPasskey } = await readPasswordRule(userDatabaseOf(c.env, userId), userId);
  if (needsPasskey) return err(FACTOR_NEEDED);
  await forgiveGuesses(c.env, email ?? userId, guesser, now);
  return ok(user);
}

/** Requires the password or a passkey in the request. Otherwise a confirmed session could prolong its own confirmation. */
const confirmSchema = z
  .strictObject(CONFIRMATION)
  .refine(({ password, passkey }) => password !== undefined || passkey !== undefined, {
    path: ['password'],
    message: 'required, unless passkey is sent',
  })
  .openapi({ example: { password: 'correct horse battery' } });

export function addConfirmation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/auth/confirm',
      operationId: 'confirmSession',
      summary: 'Confirm the session with the password or a passkey; sensitive actions are then allowed for ten minutes',
      request: jsonBody(confirmSchema),
      responses: { 204: { description: 'Confirmed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const caller = await requireConfirmed(c, c.req.valid('json'));
      if (!caller.ok) return sendProblem(c, caller.error);
      const until = createClock(c.env)() + CONFIRMED_MS;
      const { userId, credentialId } = caller.value;
      await confirmSession(c.env, userId, credentialId, until);
      return c.body(null, 204);
    },
  );
}
