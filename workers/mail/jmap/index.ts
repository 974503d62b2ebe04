/**
 * JMAP (RFC 8620, RFC 8621, RFC 9404, RFC 9425): the mailbox for mail clients.
 *
 * `protocol/` reads a request and runs its method calls in order. `methods/` has one file per method, named after it. Each method
 * reads its arguments, makes one decision, has one effect and returns an answer. `objects/` converts between rows of the mailbox
 * and objects of JMAP. `domain/` is pure.
 *
 * Clients send a token in `Authorization`, as Bearer or as the password of Basic. Cookies are never read. So JMAP can allow pages
 * of any origin (CORS `*`), because they cannot use a user's session.
 *
 * Gaps: there are no shared accounts, so `Email/copy` and `Blob/copy` have no account to copy from. No sieve, no MDN.
 */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { authorizeWithRead, requireMailClient, type UserPrincipal } from '../../identity/index.ts';
import {
  type JsonApiEnv,
  jsonContent,
  OPEN_JSON_BYTES_MAX,
  problemResponses,
  sendProblem,
  unchecked,
} from '../../shared/json/json-api.ts';
import { readLimited, readUpload } from '../../shared/json/limited-body.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { ok, type Result } from '../../shared/pure/result.ts';
import { readAsCaller } from '../routes/route.ts';
import { methods } from './methods/index.ts';
import { readsFoldersFirst } from './methods/mailbox-get.ts';
import { toSession } from './objects/session.ts';
import { dispatch } from './protocol/dispatch.ts';
import { CONCURRENT_REQUESTS, REQUEST_BYTES_MAX, WORKING_REQUESTS } from './protocol/limits.ts';
import type { FoldersRead } from './protocol/method.ts';
import { type JmapRequest, parseRequest, tooManyAtOnce, toRequestErrorResponse } from './protocol/request.ts';
import { RunningRequests } from './protocol/running-requests.ts';
import { addBlobRoutes } from './routes/blob-routes.ts';
import { addEventSource } from './routes/event-source.ts';
import { JMAP_ROUTE, WELL_KNOWN_PATH } from './routes/jmap-route.ts';

const PREFLIGHT_AGE_SECONDS = 86_400;
const running = new RunningRequests(CONCURRENT_REQUESTS, WORKING_REQUESTS);

/** Lets pages of every origin call JMAP (CORS). Clients authenticate with `Authorization` only, never with cookies. */
const allowEveryOrigin: MiddlewareHandler<JsonApiEnv> = async (c, next) => {
  if (c.req.method === 'OPTIONS') {
    return c.body(null, 204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'Authorization, Content-Type, Last-Event-ID',
      'access-control-max-age': String(PREFLIGHT_AGE_SECONDS),
    });
  }
  await next();
  c.res.headers.set('access-control-allow-origin', '*');
  c.res.headers.set('access-control-expose-headers', 'Content-Disposition, Content-Length, X-Request-Id, Retry-After');
  if (c.res.status === 401) c.res.headers.set('www-authenticate', 'Bearer, Basic realm="JMAP", charset="UTF-8"');
  return undefined;
};

const sessionSchema = z
  .looseObject({
    capabilities: z.record(z.string(), z.unknown()),
    accounts: z.record(z.string(), z.unknown()),
    primaryAccounts: z.record(z.string(), z.string()),
    username: z.string(),
    apiUrl: z.string(),
    downloadUrl: z.string(),
    uploadUrl: z.string(),
    eventSourceUrl: z.string(),
    state: z.string(),
  })
  .openapi('JmapSession');
const responseSchema = z
  .looseObject({ methodResponses: z.array(z.unknown()), sessionState: z.string() })
  .openapi('JmapResponse');

/** The request in the API document. `parseRequest` validates it, because errors of JMAP have a form of their own. */
const REQUEST_DOCUMENT = {
  type: 'object' as const,
  required: ['using', 'methodCalls'],
  properties: {
    using: { type: 'array' as const, items: { type: 'string' as const } },
    methodCalls: {
      type: 'array' as const,
      description: 'Each call is [name, arguments, id].',
      items: { type: 'array' as const, minItems: 3, maxItems: 3, items: {} },
    },
    createdIds: { type: 'object' as const, additionalProperties: { type: 'string' as const } },
  },
  example: {
    using: ['urn:ietf:params:jmap:core', 'urn:ietf:params:jmap:mail'],
    methodCalls: [['Mailbox/get', { accountId: '3f1c7a52-8a55-4f0e-9d53-0d7b1c5a6e21' }, '0']],
  },
};

export function addJmap(api: OpenAPIHono<JsonApiEnv>): void {
  api.use('/v1/jmap/*', allowEveryOrigin);
  api.use(WELL_KNOWN_PATH, allowEveryOrigin);
  api.get(WELL_KNOWN_PATH, (c) => c.redirect('/v1/jmap/session', 307));
  api.openapi(
    createRoute({
      ...JMAP_ROUTE,
      method: 'get',
      path: '/v1/jmap/session',
      operationId: 'getJmapSession',
      summary: 'JMAP: the session (RFC 8620 §2)',
      responses: { 200: jsonContent(sessionSchema, 'The session'), ...problemResponses(401, 403, 404) },
    }),
    async (c) => {
      const caller = await requireMailClient(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      c.header('cache-control', 'no-cache, no-store, must-revalidate');
      return unchecked(c.json(await toSession(c.env, caller.value, c.req.raw), 200));
    },
  );
  api.openapi(
    createRoute({
      ...JMAP_ROUTE,
      middleware: authorizeWithRead(requireMailClient),
      method: 'post',
      path: '/v1/jmap/api',
      operationId: 'callJmap',
      summary: 'JMAP: run method calls (RFC 8620 §3)',
      request: {
        body: {
          required: true,
          content: { 'application/json': { schema: REQUEST_DOCUMENT } },
        },
      },
      responses: { 200: jsonContent(responseSchema, 'The answers'), ...problemResponses(400, 401, 403, 404) },
    }),
    async (c) => {
      const sizeBytes = Number(c.req.header('content-length') ?? Number.NaN);
      const short = sizeBytes <= OPEN_JSON_BYTES_MAX ? await readRequest(c, OPEN_JSON_BYTES_MAX) : null;
      const caller = await findCaller(c, short?.ok ? short.value : null);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { user, folders } = caller.value;
      const turn = running.begin(user.userId);
      if (!turn) return unchecked(toRequestErrorResponse(tooManyAtOnce('maxConcurrentRequests')));
      try {
        await turn.wait();
        const request = short ?? (await readRequest(c, REQUEST_BYTES_MAX));
        if (!request.ok) return unchecked(toRequestErrorResponse(request.error));
        const [answer, { state }] = await Promise.all([
          dispatch(c.env, user, request.value, methods, folders),
          toSession(c.env, user, c.req.raw),
        ]);
        // `dispatch` has measured the answers.
        return unchecked(Response.json({ ...answer, sessionState: state }));
      } finally {
        turn.end();
      }
    },
  );
  addBlobRoutes(api);
  addEventSource(api);
}

/**
 * Finds the caller. If the first method call reads the folders, the mailbox answers both in one call.
 * @param short the request, if it was short enough to be read before the caller was known.
 */
async function findCaller(
  c: Context<JsonApiEnv>,
  short: JmapRequest | null,
): Promise<Result<{ readonly user: UserPrincipal; readonly folders: FoldersRead | null }, Problem>> {
  const first = short && readsFoldersFirst(short);
  if (first) {
    const found = await readAsCaller(c, requireMailClient, (mailbox, proof) =>
      mailbox.readOwnJmapFolders(proof, first.withThreads),
    );
    return found.ok ? ok({ user: found.value.user, folders: found.value.answer }) : found;
  }
  const caller = await requireMailClient(c);
  return caller.ok ? ok({ user: caller.value, folders: null }) : caller;
}

const readRequest = async (c: Context<JsonApiEnv>, bytesMax: number) =>
  parseRequest(c.req.header('content-type') ?? '', await readLimited(readUpload(c.req.raw.body), bytesMax));
