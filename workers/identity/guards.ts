/**
 * What a JSON route asks before it does anything: `const caller = await requireScope(c, 'scores:write')`, then
 * `if (!caller.ok) return sendProblem(c, caller.error)`.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { createClock } from '../shared/clock.ts';
import { type JsonApiEnv, sendProblem } from '../shared/json-api.ts';
import { type Problem, problem } from '../shared/problem.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { type AuthenticationError, authenticateBearer, authenticateMailRequest } from './authenticate.ts';
import { isOperator, type Principal, type Scope, type UserPrincipal } from './principal.ts';

const UNAUTHENTICATED = problem(401, 'unauthenticated', 'This needs a credential: Authorization: Bearer <token>.');

const toProblem = (error: AuthenticationError): Problem =>
  error.kind === 'foreign_origin'
    ? problem(403, 'foreign_origin', 'A session cookie is taken only from pages of this service.')
    : problem(401, 'invalid_credential', 'The credential is not valid.');

type Authenticated = Promise<Result<Principal | null, AuthenticationError>>;

/** A request's caller is looked up once, though both the route's door and its handler ask. */
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

/** Who is calling, by bearer; 401 without a credential or with a wrong one. Cookies are not looked at. */
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

/** A token with this very scope; root has none, so root is refused unless `rootToo`. */
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
 * For a route's `middleware`: the caller is judged before the request is looked at, so that a stranger is told 401 whatever
 * they send. The handler asks the same guard for who it is.
 */
export const judge =
  (guard: (c: Context<JsonApiEnv>) => Promise<Result<unknown, Problem>>): MiddlewareHandler<JsonApiEnv> =>
  async (c, next) => {
    const caller = await guard(c);
    return caller.ok ? next() : sendProblem(c, caller.error);
  };

const missingScope = (scope: Scope) => problem(403, 'missing_scope', `This needs a token with the scope ${scope}.`);

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
