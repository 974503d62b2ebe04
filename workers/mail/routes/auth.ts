/** `/v1/auth`: register, login, logout. */
import { randomBytes } from 'node:crypto';
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import {
  forgiveGuesses,
  KNOWN_PLACE_AGE_MS,
  readClient,
  recordFailedLogin,
  requireMailUser,
  sessionCookieName,
} from '../../identity/index.ts';
import { recordAudit } from '../../shared/audit/audit.ts';
import {
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { checkLogin, ensureMailbox, registerAccount } from '../accounts/accounts.ts';
import { createSession, endSession, SESSION_AGE_MAX_MS } from '../accounts/credentials.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { continentOf } from '../bindings/mailbox.ts';
import { loginSchema, registerSchema, sessionAnswerSchema } from '../schemas/account.ts';
import type { AccountRow } from '../store/account-store.ts';
import { readProfile } from './profile.ts';
import { OPEN_ROUTE, toTime, USER_ROUTE } from './route.ts';

/**
 * Options of the session and device cookies, which only mail routes accept. On loopback there is no HTTPS, so the cookies have no
 * `__Host-` prefix and no Secure there.
 */
function cookieOptions(c: Context<JsonApiEnv>) {
  const isSecure = c.req.url.startsWith('https:');
  return { httpOnly: true, secure: isSecure, sameSite: 'Strict', path: '/' } as const;
}

const deviceCookieName = (c: Context<JsonApiEnv>) => (c.req.url.startsWith('https:') ? '__Host-device' : 'device');

/**
 * @returns the source of a login. The device cookie grants nothing; it only lets password guesses from this device be counted apart
 * from those of others.
 */
export function readGuesser(c: Context<JsonApiEnv>): { client: string; device: string } {
  const given = getCookie(c, deviceCookieName(c));
  const device = given !== undefined && /^[\w-]{20,60}$/.test(given) ? given : randomBytes(24).toString('base64url');
  return { client: readClient(c.req.raw.headers), device };
}

/** Creates a session and sets its cookies. @returns the answer to the login. */
export async function openSession(
  c: Context<JsonApiEnv>,
  account: AccountRow & { readonly isPasswordStill?: () => Promise<boolean> },
  { device }: { device: string },
  status: 200 | 201,
) {
  const now = createClock(c.env)();
  const userAgent = c.req.header('user-agent') ?? null;
  const session = await createSession(c.env, account.userId, userAgent, now, account.isPasswordStill);
  const profile = await readProfile(c.env, account.userId);
  if (!profile.ok) return sendProblem(c, profile.error);
  setCookie(c, sessionCookieName(c.req.url), session.secret, {
    ...cookieOptions(c),
    maxAge: SESSION_AGE_MAX_MS / 1000,
  });
  setCookie(c, deviceCookieName(c), device, { ...cookieOptions(c), maxAge: KNOWN_PLACE_AGE_MS / 1000 });
  return c.json({ user: profile.value, token: session.secret, expires_at: toTime(session.expiresAt) }, status);
}

export function addAuth(api: OpenAPIHono<JsonApiEnv>): void {
  addRegistration(api);
  addLogin(api);
}

function addRegistration(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/register',
      operationId: 'register',
      summary: 'Register a mail account',
      request: jsonBody(registerSchema),
      responses: {
        201: jsonContent(sessionAnswerSchema, 'The account and a session'),
        ...problemResponses(400, 403, 409, 429, 503),
      },
    }),
    async (c) => {
      const now = createClock(c.env)();
      const guesser = readGuesser(c);
      const account = await registerAccount(
        c.env,
        c.req.valid('json'),
        { client: guesser.client, url: c.req.url, continent: continentOf(c.req.raw) },
        now,
      );
      if (!account.ok) return sendProblem(c, account.error);
      await forgiveGuesses(c.env, account.value.email, guesser, now);
      return unchecked(await openSession(c, account.value, guesser, 201));
    },
  );
}

function addLogin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN_ROUTE,
      method: 'post',
      path: '/v1/auth/login',
      operationId: 'login',
      summary: 'Log in',
      request: jsonBody(loginSchema),
      responses: { 200: jsonContent(sessionAnswerSchema, 'The session'), ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const guesser = readGuesser(c);
      const source = { guesser, url: c.req.url };
      const account = await checkLogin(c.env, c.req.valid('json'), source, createClock(c.env)(), async (event, id) => {
        if (event === 'login.failed' || id === null) {
          return recordFailedLogin(c, id === null ? null : { type: 'user', id });
        }
        await recordAudit(c, event, { type: 'user', id }, {}, { kind: 'user', id });
        if (event === 'login.new_place') noticeOwner(c, id, 'login');
      });
      if (!account.ok) return sendProblem(c, account.error);
      await ensureMailbox(c.env, account.value, continentOf(c.req.raw));
      return unchecked(await openSession(c, account.value, guesser, 200));
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/auth/logout',
      operationId: 'logout',
      summary: 'Log out: end the current session',
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403, 503) },
    }),
    async (c) => {
      const caller = await requireMailUser(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { via, userId, credentialId } = caller.value;
      if (via === 'session') {
        await endSession(c.env, userId, credentialId);
      }
      deleteCookie(c, sessionCookieName(c.req.url), cookieOptions(c));
      return c.body(null, 204);
    },
  );
}
