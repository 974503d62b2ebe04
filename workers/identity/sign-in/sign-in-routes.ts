/** `/v1/auth/oidc`: a sign-in with the provider, its callback, and the provider's log-out. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  createRoutes,
  type JsonApiEnv,
  jsonBody,
  jsonContent,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { readLimited } from '../../shared/json/limited-body.ts';
import { problem } from '../../shared/json/problem.ts';
import { appOrigin } from '../../shared/settings/app-origin.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { readClient } from '../callers/client.ts';
import { admitClient } from '../login/guesses.ts';
import { addSignInBindings } from './binding-routes.ts';
import { beginSignIn, CALLBACK_PATH, completeSignIn, openBegun } from './code-flow.ts';
import { refuseForeign, setBegun, setProof, takeBegun } from './cookies.ts';
import { logOut } from './log-out.ts';
import { addOperatorSignIn } from './operator-sign-in-routes.ts';
import { keepProof, PURPOSES, type Purpose } from './proof.ts';
import { recheck } from './recheck.ts';
import { addStorageSignIn } from './storage-sign-in-routes.ts';

const OPEN = { tags: ['identity'], security: [] };

/** Pages to which a callback leads. No parameter chooses one, so the callback is no open redirect. */
const PAGES: Readonly<Record<Purpose, string>> = {
  mail: '/_/mail',
  bind: '/_/mail',
  confirm: '/_/mail',
  operator: '/_/operator',
  storage: '/_/storage',
};

export function createSignInApi(): OpenAPIHono<JsonApiEnv> {
  const api = createRoutes();
  addBegin(api);
  addCallback(api);
  addLogOut(api);
  addOperatorSignIn(api);
  addStorageSignIn(api);
  addSignInBindings(api);
  return api;
}

function addBegin(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN,
      method: 'post',
      path: '/v1/auth/oidc',
      operationId: 'beginSignIn',
      summary: 'Start a sign-in with the provider: returns its page, and sets a cookie for ten minutes',
      request: jsonBody(
        z.strictObject({
          purpose: z.enum(PURPOSES).openapi({
            description:
              'Purpose of the sign-in: a session of mail, a session of an operator, keys of storage, a connection to your account, ' +
              'or the confirmation of your session.',
          }),
        }),
      ),
      responses: {
        200: jsonContent(z.object({ url: z.string() }), 'The page of the provider'),
        ...problemResponses(400, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const foreign = refuseForeign(c);
      if (foreign !== null) return sendProblem(c, foreign);
      const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const { purpose } = c.req.valid('json');
      const begun = await beginSignIn(c.env, purpose, appOrigin(c.env, c.req.url), createClock(c.env)());
      if (!begun.ok) return sendProblem(c, begun.error);
      setBegun(c, begun.value.cookie);
      return c.json({ url: begun.value.url }, 200);
    },
  );
}

function addCallback(api: OpenAPIHono<JsonApiEnv>): void {
  // A client must ignore parameters that it does not know (RFC 6749 §4.1.2), so this route is not declared with a strict query.
  api.openAPIRegistry.registerPath({
    ...OPEN,
    method: 'get',
    path: CALLBACK_PATH,
    operationId: 'finishSignIn',
    summary: 'Callback of the provider: leads to the page that began the sign-in',
    request: {
      query: z.object({ code: z.string().optional(), state: z.string().optional(), error: z.string().optional() }),
    },
    responses: { 303: { description: 'The page, with what the provider said in a cookie' } },
  });
  api.get(CALLBACK_PATH, async (c) => {
    const { searchParams } = new URL(c.req.url);
    const now = createClock(c.env)();
    const begun = openBegun(c.env, takeBegun(c), now);
    const page = PAGES[begun?.purpose ?? 'mail'];
    c.header('cache-control', 'no-store');
    c.header('referrer-policy', 'no-referrer');
    const at = { origin: appOrigin(c.env, c.req.url), now };
    const proof = await completeSignIn(c.env, begun, searchParams, at);
    if (!proof.ok || begun === null) {
      const code = proof.ok ? 'sign_in_expired' : proof.error.code;
      return c.redirect(`${page}#/sign-in-failed/${code}`, 303);
    }
    setProof(c, await keepProof(c.env, begun.purpose, proof.value, now));
    return c.redirect(`${page}#/signed-in/${begun.purpose}`, 303);
  });
}

const LOG_OUT_BYTES_MAX = 16 * 1024;
const TOO_LARGE = problem(413, 'request_too_large', `The form exceeds ${LOG_OUT_BYTES_MAX} bytes.`);
/** A plain schema: the form is read here with its own limit, because anybody may send it. */
const LOG_OUT_FORM = {
  type: 'object' as const,
  properties: { logout_token: { type: 'string' as const } },
  required: ['logout_token'],
};

function addLogOut(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...OPEN,
      method: 'post',
      path: '/v1/auth/oidc/logout',
      operationId: 'logOutByProvider',
      summary: 'Back-channel log-out of the provider: ends the sessions of an account',
      request: {
        body: {
          required: true,
          content: { 'application/x-www-form-urlencoded': { schema: LOG_OUT_FORM } },
        },
      },
      responses: { 200: { description: 'Ended' }, ...problemResponses(400, 404, 413, 429, 503) },
    }),
    async (c) => {
      c.header('cache-control', 'no-store');
      const form = await readLimited(c.req.raw.body, LOG_OUT_BYTES_MAX);
      if (form.length > LOG_OUT_BYTES_MAX) return sendProblem(c, TOO_LARGE);
      const token = new URLSearchParams(new TextDecoder().decode(form)).get('logout_token') ?? '';
      const now = createClock(c.env)();
      const rows = await logOut(c.env, token, now);
      if (!rows.ok) {
        // Only tokens that are not valid are limited: a provider may log out a whole company at once.
        const admitted = await admitClient(c.env, readClient(c.req.raw.headers));
        return sendProblem(c, admitted.ok ? rows.error : admitted.error);
      }
      const checks = rows.value.filter(({ checkAt }) => checkAt !== null);
      const check = Promise.all(checks.map((row) => recheck(c.env, row, now)));
      c.executionCtx.waitUntil(check.catch((error: unknown) => logError('sign_in_check_failed', error)));
      return unchecked(c.body(null, 200));
    },
  );
}
