/**
 * Guards of JSON routes: `const caller = await requireScope(c, 'scores:write')`, then `if (!caller.ok) return
 * sendProblem(c, caller.error)`.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { createClock } from '../shared/clock.ts';
import { type JsonApiEnv, sendProblem } from '../shared/json-api.ts';
import { type Problem, problem } from '../shared/problem.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { type AuthenticationError, authenticateBearer, authenticateMailRequest } from './authenticate.ts';
import { isOperator, type Principal, type Scope, type UserPrincipal } from './principal.ts';

const UNAUTHENTICATED = problem(401, 'unauthenticated', 'Send a credential: Authorization: Bearer <token>.');

const toProblem = (error: AuthenticationError): Problem =>
  error.kind === 'foreign_origin'
    ? problem(403, 'foreign_origin', 'A session cookie is accepted only from pages of this service.')
    : problem(401, 'invalid_credential', 'The credential is not valid.');

type Authenticated = Promise<Result<Principal | null, AuthenticationError>>;

/** Looks up the caller of a request once, although both the middleware and the handler of a route need it. */
function once(authenticate: (c: Context<JsonApiEnv>) => Authenticated): (c: Context<JsonApiEnv>) => Authenticated {
  const found = new WeakMap<Request, Authenticated>();
  return (c) => {
    const caller = found.get(c.req.raw) ?? authenticate(c);
    found.set(c.req.raw, caller);
    return caller;
  };
}

const findBearer = once((c) => authenticateBearer(c.req.header('authorization') ?? null, c.env, createClock(c.env)()));
const findMailCaller = once((c) => authenticateMailRequest(c.req.raw, c.env, createClock(c.env)()));

/** @returns the caller by bearer token, or 401 without a valid credential. Ignores cookies. */
async function requirePrincipal(c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> {
  const caller = await findBearer(c);
  if (!caller.ok) return err(toProblem(caller.error));
  return caller.value === null ? err(UNAUTHENTICATED) : ok(caller.value);
}

export async function requireRoot(c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok || caller.value.kind === 'root') return caller;
  return err(problem(403, 'root_only', 'Only root may do this.'));
}

/** Root or an `admin` token. */
export async function requireOperator(c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok || isOperator(caller.value)) return caller;
  return err(problem(403, 'operator_only', 'Only an operator may do this.'));
}

/** Requires a token with this scope. Root has no scopes, so root is refused unless `rootToo`. */
export async function requireScope(
  c: Context<JsonApiEnv>,
  scope: Scope,
  { rootToo = false }: { rootToo?: boolean } = {},
): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok) return caller;
  const principal = caller.value;
  if (principal.kind === 'root') return rootToo ? caller : err(missingScope(scope));
  return principal.scopes?.includes(scope) ? caller : err(missingScope(scope));
}

/**
 * For a route's `middleware`: authorizes the caller before the request is validated, so that an unknown caller gets 401
 * for any request. The handler calls the same guard to get the caller.
 */
export const authorizeFirst =
  (guard: (c: Context<JsonApiEnv>) => Promise<Result<unknown, Problem>>): MiddlewareHandler<JsonApiEnv> =>
  async (c, next) => {
    const caller = await guard(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  };

const missingScope = (scope: Scope) => problem(403, 'missing_scope', `Requires a token with the scope ${scope}.`);

/** The user of a mail session (bearer or cookie) or of a token with the scope `mail`. */
export async function requireMailUser(c: Context<JsonApiEnv>): Promise<Result<UserPrincipal, Problem>> {
  const caller = await findMailCaller(c);
  if (!caller.ok) return err(toProblem(caller.error));
  const principal = caller.value;
  if (principal === null) return err(UNAUTHENTICATED);
  const isMailUser =
    principal.kind === 'user' && (principal.via === 'session' || (principal.scopes?.includes('mail') ?? false));
  return isMailUser ? ok(principal) : err(missingScope('mail'));
}
