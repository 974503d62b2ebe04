/**
 * Common parts of all JSON APIs: one Hono app type, request ids, strict validation, errors as problems, and pages by
 * opaque cursor.
 *
 * A product's `api.ts` calls `const api = createRoutes()`, declares routes with `createRoute` and strict zod schemas, and
 * answers errors with `sendProblem(c, problem(…))`. `workers/shared/compose-api.ts` joins the APIs of all products in one
 * `createJsonApi()`. The OpenAPI document is generated from the same schemas.
 */

import { OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler, TypedResponse, ValidationTargets } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { AuditActor } from '../pure/audit-actor.ts';
import { decodeCursor, encodeCursor } from '../pure/cursor.ts';
import type { Result } from '../pure/result.ts';
import { findMisconfigured, settingsOf } from '../settings/settings.ts';
import { isMissingCall } from '../stores/object-namespace.ts';
import { logError } from '../telemetry/log.ts';
import { addApiHeaders } from './api-headers.ts';
import { findAnswerProblem, parseWithinBounds } from './json-bounds.ts';
import { KeptMatches } from './kept-matches.ts';
import { readLimited } from './limited-body.ts';
import { misconfigured, type Problem, ProblemError, problem, titleOf, toProblemResponse } from './problem.ts';
import { admitRequest, RATE_POLICIES, type RatePolicy, toRateHeaders } from './request-rates.ts';
import { describeIssue } from './validation-texts.ts';

export { decodeCursor, encodeCursor } from '../pure/cursor.ts';

export interface JsonApiEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** Ends the turn of the caller's account (`shared-turns.ts`). Set by the guards. */
    endTurn?: () => void;
    /** The caller as actor of the audit log. Set by the guards. */
    actor?: AuditActor;
    /**
     * Looks the caller up again, after a body that arrived slowly. Set by the guards.
     * @returns the problem if the caller is not valid any more, or null.
     */
    authorizeAgain?: () => Promise<Problem | null>;
    /** The problem that `authorizeAgain` returned. */
    refusal?: Problem;
    /** Maximum size of the route's JSON body, if it is not `JSON_BYTES_MAX`. */
    jsonBytesMax?: number;
    isTooLarge?: boolean;
    /** Headers of the request rate that was applied to the request. */
    rateHeaders?: Readonly<Record<string, string>>;
  };
}

z.config({ localeError: describeIssue });

/** Maximum size of a JSON body: twice the largest batch of scores, with every character escaped. */
const JSON_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum size of a JSON body for routes that need no credential. */
export const OPEN_JSON_BYTES_MAX = 16 * 1024;
/** Maximum number of errors listed in a problem. A longer list could make the answer longer than the request. */
const ERRORS_MAX = 20;
/** Time after which a client retries while an object runs older code. */
const UPGRADE_SECONDS = 30;

/**
 * Creates the routes of a part of the API. They have no error handler of their own, because Hono would run each such part in a
 * further chain.
 */
export function createRoutes(): OpenAPIHono<JsonApiEnv> {
  const app = new OpenAPIHono<JsonApiEnv>({
    router: new KeptMatches(),
    defaultHook: (result, c) =>
      result.success ? undefined : sendProblem(c, toValidationProblem(result.error, result.target)),
  });
  const declare: DeclareRoute = app.openapi;
  const declareStrict: DeclareRoute = (route, ...rest) => declare(withOpenLimit(withStrictQuery(route)), ...rest);
  app.openapi = declareStrict as typeof app.openapi;
  return app;
}

/** Creates the whole API: request ids, common headers, and errors as problems. Parts are added with `route`. */
export function createJsonApi(): OpenAPIHono<JsonApiEnv> {
  const app = createRoutes();
  app.use(async (c, next) => {
    c.set('requestId', crypto.randomUUID());
    // Unlike the raw body, Hono's `arrayBuffer` still works after the body was read to check its signature.
    const readAll = c.req.arrayBuffer.bind(c.req);
    c.req.json = <T>() => readJson(c, readAll) as Promise<T>;
    const write = c.json.bind(c) as (...answer: readonly unknown[]) => Response;
    c.json = ((...answer: readonly unknown[]) => {
      const tooLarge = findAnswerProblem(answer[0]);
      return tooLarge === null ? write(...answer) : sendProblem(c, tooLarge);
    }) as typeof c.json;
    await next().finally(() => c.get('endTurn')?.());
    const { status, headers, webSocket } = c.res;
    if (status !== 101) {
      addApiHeaders(headers);
      for (const [name, value] of Object.entries(c.get('rateHeaders') ?? {})) headers.set(name, value);
    }
    if (headers.has('x-request-id')) return;
    if (status !== 101) return headers.set('x-request-id', c.get('requestId'));
    // The response headers of an upgrade from a Durable Object are immutable, so the response is made again.
    c.res = undefined;
    c.res = new Response(null, { status, webSocket, headers: { 'x-request-id': c.get('requestId') } });
  });
  app.notFound((c) => sendProblem(c, problem(404, 'not_found', 'No resource has this path.')));
  app.onError((error, c) => {
    if (c.get('isTooLarge')) {
      const detail = `The JSON body exceeds ${readJsonBytesMax(c)} bytes.`;
      return sendProblem(c, problem(413, 'request_too_large', detail));
    }
    const refusal = c.get('refusal');
    if (refusal !== undefined) return sendProblem(c, refusal);
    if (error instanceof HTTPException && error.status < 500) {
      const badRequest =
        error.status === 415
          ? problem(415, 'unsupported_media_type', error.message)
          : problem(400, 'bad_request', error.message);
      return sendProblem(c, badRequest);
    }
    const misconfiguration = findMisconfigured(error);
    if (misconfiguration) return sendProblem(c, misconfigured(misconfiguration));
    if (error instanceof ProblemError) {
      logError(error.problem.code, error.cause, { request_id: c.get('requestId') });
      return sendProblem(c, error.problem);
    }
    if (isMissingCall(error)) {
      logError('upgrade_pending', error, { request_id: c.get('requestId') });
      return sendProblem(c, problem(503, 'upgrade_pending', undefined, { retryAfterSeconds: UPGRADE_SECONDS }));
    }
    // The path of a share link is a secret.
    const path = c.req.path.replace(/\/shr_[^/]*/, '/shr_…');
    logError('unhandled', error, { request_id: c.get('requestId'), path, method: c.req.method });
    return sendProblem(c, problem(500, 'internal_error'));
  });
  return app;
}

/**
 * Counts a request towards a rate and sets its `RateLimit` headers.
 * @returns false if the request must be answered with `rateLimited(policy)`.
 */
export async function admitToRoute(
  c: Context<JsonApiEnv>,
  policy: 'user' | 'client' | 'token' | 'play' | 'player',
  key: string,
): Promise<boolean> {
  const isAdmitted = await admitRequest(c.env, policy, key);
  const quota = settingsOf(c.env)[RATE_POLICIES[policy].quota];
  c.set('rateHeaders', toRateHeaders(policy, quota, !isAdmitted));
  return isAdmitted;
}

export const rateLimited = (policy: RatePolicy): Problem =>
  problem(429, 'rate_limited', 'Too many requests. Wait, then retry.', {
    retryAfterSeconds: RATE_POLICIES[policy].periodSeconds,
  });

type DeclareRoute = (route: RouteConfig, ...rest: never[]) => OpenAPIHono<JsonApiEnv>;

const NO_PARAMETERS = z.strictObject({});

/** Middleware that refuses every query parameter. */
const refuseQuery: MiddlewareHandler<JsonApiEnv> = async (c, next) => {
  const { error } = c.req.url.includes('?') ? NO_PARAMETERS.safeParse(c.req.query()) : {};
  return error === undefined ? next() : sendProblem(c, toValidationProblem(error, 'query'));
};

/**
 * Makes a route reject unknown query parameters. A route without a query schema then accepts no parameter. The check runs after the
 * route's middleware, so that a caller without rights gets 401 or 403, and before the body is read.
 * @throws if the route's query schema would ignore unknown parameters.
 */
function withStrictQuery(route: RouteConfig): RouteConfig {
  const query = route.request?.query;
  if (query === undefined) return { ...route, middleware: [...[route.middleware ?? []].flat(), refuseQuery] };
  if (!(query instanceof z.ZodObject && query.def.catchall instanceof z.ZodNever))
    throw new Error(`The query schema of ${route.method} ${route.path} must be a strict object.`);
  return route;
}

/** Lowers the limit of JSON bodies for a route that is declared with `security: []`. */
function withOpenLimit(route: RouteConfig): RouteConfig {
  if (route.security?.length !== 0) return route;
  return { ...route, middleware: [allowJson(OPEN_JSON_BYTES_MAX), ...[route.middleware ?? []].flat()] };
}

/** Middleware that sets the maximum size of JSON bodies of a path or a route. */
export function allowJson(bytesMax: number): MiddlewareHandler<JsonApiEnv> {
  return async (c, next) => {
    c.set('jsonBytesMax', bytesMax);
    await next();
  };
}

const readJsonBytesMax = (c: Context<JsonApiEnv>): number => c.get('jsonBytesMax') ?? JSON_BYTES_MAX;

/**
 * If a body takes longer than this to arrive, the caller is looked up again, because the credential may have expired or been
 * revoked meanwhile.
 */
const SLOW_BODY_MS = 1_000;

/** Limits the size of JSON bodies when they are parsed. Routes that read raw bodies apply their own limit. */
async function readJson(c: Context<JsonApiEnv>, readAll: () => Promise<ArrayBuffer>): Promise<unknown> {
  const begunAt = Date.now();
  const bytesMax = readJsonBytesMax(c);
  const said = Number(c.req.header('content-length') ?? 0);
  // The bytes are counted if the request declares no length, or a length of 0, which a proxy may set.
  const bytes = said === 0 ? await readLimited(c.req.raw.body, bytesMax) : null;
  if ((bytes?.length ?? said) > bytesMax) {
    c.set('isTooLarge', true);
    throw new HTTPException(413);
  }
  const json = parseWithinBounds(bytes ?? new Uint8Array(await readAll()));
  const isSlow = Date.now() - begunAt >= SLOW_BODY_MS;
  const refusal = (isSlow ? await c.get('authorizeAgain')?.() : null) ?? (json.ok ? null : json.error);
  if (refusal === null && json.ok) return json.value;
  if (refusal !== null) c.set('refusal', refusal);
  throw new HTTPException(403);
}

/** A response that any route may return: a problem, a file, a socket. Hono can check only the types of JSON responses. */
export type UncheckedAnswer = Response & TypedResponse<never, never, never>;

/** Lets a route return a response that its declared JSON types do not describe. */
export const unchecked = (response: Response): UncheckedAnswer => response as UncheckedAnswer;

export function sendProblem(c: Context<JsonApiEnv>, value: Problem): UncheckedAnswer {
  return unchecked(toProblemResponse(value, c.get('requestId')));
}

/**
 * Converts the first issues of a failed parse to a problem, with their paths and with the names of unknown members and query
 * parameters.
 */
export function toValidationProblem(error: z.core.$ZodError, target: keyof ValidationTargets = 'json'): Problem {
  const unknown = target === 'query' ? 'unknown query parameter' : 'unknown member';
  const errors = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, ERRORS_MAX).map((key) => ({ path: [...issue.path, key].join('.'), message: unknown }))
      : [{ path: issue.path.join('.'), message: issue.message }],
  );
  return problem(400, 'invalid_request', 'The request does not have the documented form.', {
    errors: errors.slice(0, ERRORS_MAX),
  });
}

/** Schema of a problem, for the OpenAPI document. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    challenges: z.array(z.enum(['turnstile', 'proof_of_work', 'recovery_code_mail'])).optional(),
  })
  .openapi('Problem');

/** Entries of `responses` in a route's declaration, for the problems with these statuses. */
export function problemResponses(...statuses: number[]) {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: titleOf(status), content: { 'application/problem+json': { schema: problemSchema } } },
    ]),
  );
}

export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 200;

/** Schema of the query of every paged collection. Routes extend it with `.extend({…})`. */
export const pageQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  cursor: z.string().max(1024).optional(),
});

/** Schema of the answer of every paged collection. */
export const pageSchema = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), next_cursor: z.string().nullable() });

export const INVALID_CURSOR = problem(400, 'invalid_cursor', 'The cursor is not valid for this collection.');

interface KeyedCollection<Row, Item> {
  /** Reads rows in the order of their keys, from the first one after `after`. At the start `after` is ''. */
  readonly read: (after: string, limit: number) => Promise<readonly Row[] | Result<readonly Row[], Problem>>;
  readonly keyOf: (row: Row) => string;
  readonly toItem: (row: Row) => Item | Promise<Item>;
}

/** Answers with a page of a collection whose cursor is one text key. */
export async function sendPage<Row, Item>(
  c: Context<JsonApiEnv>,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  { read, keyOf, toItem }: KeyedCollection<Row, Item>,
) {
  const [after] = cursor === undefined ? [''] : (decodeCursor(cursor) ?? []);
  if (typeof after !== 'string') return sendProblem(c, INVALID_CURSOR);
  const found = await read(after, limit + 1);
  if ('ok' in found && !found.ok) return sendProblem(c, found.error);
  const all = 'ok' in found ? found.value : found;
  const rows = all.slice(0, limit);
  const last = all.length > limit ? rows.at(-1) : undefined;
  const next_cursor = last === undefined ? null : encodeCursor([keyOf(last)]);
  return c.json({ data: await Promise.all(rows.map(toItem)), next_cursor }, 200);
}

/** Parts of a route's declaration for `createRoute`: a JSON response, and a required JSON request body. */
export const jsonContent = <T extends z.ZodType>(schema: T, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});
export const jsonBody = <T extends z.ZodType>(schema: T) => ({
  body: { required: true, content: { 'application/json': { schema } } },
});

/**
 * Part of a route's declaration for `createRoute`: a required request body of other media types, which the route reads as bytes.
 */
export const rawBody = (...types: string[]) => ({
  body: {
    required: true,
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' as const, format: 'binary' } }])),
  },
});

/**
 * Answers requests that no route matched: 405 with `Allow` if the path has other methods, else 404. Must be called after all routes
 * are added.
 */
export function refuseUnknownRoutes(app: OpenAPIHono<JsonApiEnv>): void {
  const routes = app.routes
    .filter((route) => route.method !== 'ALL')
    .map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:[^/]+/g, '[^/]+')}$`) }));
  app.notFound((c) => {
    const methods = routes.filter(({ pattern }) => pattern.test(c.req.path)).map(({ method }) => method);
    if (methods.length === 0) return sendProblem(c, problem(404, 'not_found', 'No resource has this path.'));
    const allow = [...new Set(methods)].join(', ');
    const response = sendProblem(c, problem(405, 'method_not_allowed', `This path accepts ${allow}.`));
    response.headers.set('allow', allow);
    return response;
  });
}
