/**
 * Guards of JSON routes: `const caller = await requireScope(c, 'scores:write')`, then `if (!caller.ok) return
 * sendProblem(c, caller.error)`.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { sharedTurns } from '../../shared/concurrency/shared-turns.ts';
import { admitToRoute, type JsonApiEnv, rateLimited, sendProblem } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { wasRefused } from '../../shared/json/request-rates.ts';
import type { AuditActor } from '../../shared/pure/audit-actor.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { isPossibleUserId } from '../../shared/stores/directories.ts';
import { mayOperate } from '../domain/operator-roles.ts';
import {
  isAgentScope,
  isOperator,
  type OperatorPrincipal,
  type Principal,
  type RootPrincipal,
  type Scope,
  type UserPrincipal,
} from '../principal.ts';
import { type FindKept, findKeptCredential } from '../users/obligations.ts';
import { type AuthenticationError, authenticateBearer, authenticateMailRequest } from './authenticate.ts';
import { recordUse } from './credential-use.ts';

const UNAUTHENTICATED = problem(401, 'unauthenticated', 'Send a credential: Authorization: Bearer <token>.');

type CallerError = AuthenticationError | { readonly kind: 'rate_limited' };

const ROLE_NOT_ALLOWED = problem(403, 'role_not_allowed', 'Your role does not allow this.');

function toProblem(error: CallerError): Problem {
  switch (error.kind) {
    case 'foreign_origin':
      return problem(403, 'foreign_origin', 'A session cookie is accepted only from pages of this service.');
    case 'rate_limited':
      return rateLimited('user');
    case 'invalid_credential':
      return problem(401, 'invalid_credential', 'The credential is not valid.');
  }
}

type Found = Promise<Result<Principal | null, CallerError>>;

const callers: WeakMap<Request, Found>[] = [];

/**
 * Looks up the caller of a request, and counts the request towards the caller's rate, only once. Both the middleware and the
 * handler of a route ask for the caller.
 */
function once(
  authenticate: (c: Context<JsonApiEnv>, findKept?: FindKept) => ReturnType<typeof authenticateBearer>,
): (c: Context<JsonApiEnv>, findKept?: FindKept) => Found {
  const found = new WeakMap<Request, Found>();
  callers.push(found);
  return (c, findKept) => {
    const caller = found.get(c.req.raw) ?? authenticate(c, findKept).then((result) => admit(c, result));
    found.set(c.req.raw, caller);
    return caller;
  };
}

/**
 * Records the use of the credential and applies the rate of a user. Root and service tokens have no rate here; score posts have a
 * rate of their own.
 */
async function admit(c: Context<JsonApiEnv>, caller: Awaited<Found>): Found {
  if (!caller.ok) return caller;
  recordUse(c.env, caller.value, createClock(c.env)(), (work) => c.executionCtx.waitUntil(work));
  if (caller.value?.kind !== 'user') return caller;
  if (c.get('endTurn') === undefined) c.set('endTurn', sharedTurns.begin(caller.value.userId));
  return (await admitToRoute(c, 'user', caller.value.userId)) ? caller : err({ kind: 'rate_limited' });
}

/**
 * If a user's last request was refused for its rate, the next one checks the credential without the handler's read. A refused
 * request thus costs no read.
 */
const unlessRefused =
  (findKept: FindKept): FindKept =>
  (userId, ...rest) =>
    (wasRefused('user', userId) ? findKeptCredential : findKept)(userId, ...rest);

const findBearer = once((c) => {
  const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
  return authenticateBearer(c.req.header('authorization') ?? null, c.env, createClock(c.env)(), undefined, waitUntil);
});
const findClientCaller = once((c, findKept) =>
  authenticateBearer(toBearer(c.req.header('authorization') ?? null), c.env, createClock(c.env)(), findKept),
);
const findMailCaller = once((c, findKept) => authenticateMailRequest(c.req.raw, c.env, createClock(c.env)(), findKept));

/** Converts the caller to the actor of the audit log. A token is the actor itself, even if it belongs to a user. */
export function toActor(caller: Principal): AuditActor {
  if (caller.kind === 'root') return { kind: 'root', id: 'root' };
  if (caller.kind === 'operator') return { kind: 'operator', id: caller.operatorId };
  return { kind: 'token', id: caller.kind === 'service' ? caller.tokenId : caller.credentialId };
}

/** Requires a caller with a bearer token. Ignores cookies. @returns the caller, or 401 without a valid credential. */
async function requirePrincipal(c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> {
  const caller = await findBearer(c);
  if (!caller.ok) return err(toProblem(caller.error));
  if (caller.value === null) return err(UNAUTHENTICATED);
  c.set('actor', toActor(caller.value));
  return ok(caller.value);
}

const NO_SUCH_USER = problem(404, 'no_such_user', 'User not found.');

/** A user id in a path. Only ids of users are UUIDs of version 8. */
const USER_ID = /\/([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})(?=\/|$)/i;

/** Whether the path has a user id that nobody can have. A lookup would report a database that is not bound as a fault. */
const namesNobody = (c: Context<JsonApiEnv>): boolean => !isPossibleUserId(c.env, USER_ID.exec(c.req.path)?.[1] ?? '');

/** Requires root or an operator with the role `admin`, for routes about users, keys and operators. An `admin` token is refused. */
export async function requireIdentityAdmin(
  c: Context<JsonApiEnv>,
): Promise<Result<RootPrincipal | OperatorPrincipal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok) return caller;
  const { value } = caller;
  if (value.kind === 'root' || (value.kind === 'operator' && value.role === 'admin'))
    return namesNobody(c) ? err(NO_SUCH_USER) : ok(value);
  return err(
    value.kind === 'operator'
      ? ROLE_NOT_ALLOWED
      : problem(403, 'root_only', 'Only root or an operator with the role admin may do this.'),
  );
}

/** Requires root, an `admin` token, or an operator whose role allows the route. */
export async function requireOperator(c: Context<JsonApiEnv>): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok) return caller;
  const { value } = caller;
  if (!isOperator(value)) return err(problem(403, 'operator_only', 'Only an operator may do this.'));
  const isAllowed = value.kind !== 'operator' || mayOperate(value.role, c.req.method, c.req.path);
  if (!isAllowed) return err(ROLE_NOT_ALLOWED);
  return namesNobody(c) ? err(NO_SUCH_USER) : caller;
}

/** Tells whether the caller of an open route is an operator. A wrong credential is refused as on every route. */
export async function findOperator(c: Context<JsonApiEnv>): Promise<Result<boolean, Problem>> {
  const caller = await findBearer(c);
  if (!caller.ok) return err(toProblem(caller.error));
  return ok(caller.value !== null && isOperator(caller.value));
}

/** Requires a token with one of these scopes. Root has no scopes, so root is refused unless `rootToo` is set. */
export async function requireScope(
  c: Context<JsonApiEnv>,
  scopes: Scope | readonly [Scope, ...Scope[]],
  { rootToo = false }: { rootToo?: boolean } = {},
): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  if (!caller.ok) return caller;
  const principal = caller.value;
  const accepted: readonly [Scope, ...Scope[]] = typeof scopes === 'string' ? [scopes] : scopes;
  if (principal.kind === 'root') return rootToo ? caller : err(missingScope(accepted[0]));
  const hasScope = principal.kind !== 'operator' && accepted.some((scope) => principal.scopes?.includes(scope));
  return hasScope ? caller : err(missingScope(accepted[0]));
}

/** Requires an operator, or a token with this scope. */
export async function requireOperatorOrScope(
  c: Context<JsonApiEnv>,
  scope: Scope,
): Promise<Result<Principal, Problem>> {
  const caller = await requirePrincipal(c);
  return caller.ok && !isOperator(caller.value) ? requireScope(c, scope) : requireOperator(c);
}

/**
 * Middleware that authorizes the caller before the request is validated, so that an unknown caller gets 401 for any request. The
 * handler calls the same guard to get the caller.
 */
export const authorizeFirst =
  (guard: (c: Context<JsonApiEnv>) => Promise<Result<unknown, Problem>>): MiddlewareHandler<JsonApiEnv> =>
  async (c, next) => {
    const caller = await guard(c);
    c.set('authorizeAgain', async () => {
      for (const found of callers) found.delete(c.req.raw);
      const again = await guard(c);
      return again.ok ? null : again.error;
    });
    return caller.ok ? next() : sendProblem(c, caller.error);
  };

/**
 * Middleware in place of `authorizeFirst`, for handlers that call the guard together with their first read, in one call of the
 * mailbox. No answer of the handler or of the validation is sent before the caller is known to be valid.
 */
export const authorizeWithRead =
  (guard: (c: Context<JsonApiEnv>) => Promise<Result<unknown, Problem>>): MiddlewareHandler<JsonApiEnv> =>
  async (c, next) => {
    await next();
    const caller = await guard(c).catch((error: unknown) => {
      // If the handler called the guard, it threw this same error, which is already answered.
      if (error !== c.error) throw error;
    });
    if (caller?.ok !== false) return;
    c.res = undefined;
    c.res = sendProblem(c, caller.error);
  };

const missingScope = (scope: Scope) => problem(403, 'missing_scope', `Requires a token with the scope ${scope}.`);

/**
 * Requires the user of a mail session (bearer or cookie) or of a token with the scope `mail`.
 * @param findKept finds a session or an app token, and may read further data in the same call.
 */
export const requireMailUser = async (
  c: Context<JsonApiEnv>,
  findKept: FindKept = findKeptCredential,
): Promise<Result<UserPrincipal, Problem>> => toMailUser(c, await findMailCaller(c, unlessRefused(findKept)));

/**
 * Requires the user of a token with the scopes of an agent, as a bearer token. A session, an app token and any other token are
 * refused: an agent never has more than the person gave it.
 */
export async function requireAgent(c: Context<JsonApiEnv>): Promise<Result<UserPrincipal, Problem>> {
  const caller = await findBearer(c);
  if (!caller.ok) return err(toProblem(caller.error));
  const principal = caller.value;
  if (principal === null) return err(UNAUTHENTICATED);
  const isAgent = principal.kind === 'user' && (principal.scopes?.some(isAgentScope) ?? false);
  if (!isAgent) return err(missingScope('mail:read'));
  c.set('actor', toActor(principal));
  return ok(principal);
}

/** Like `requireMailUser`, but looks the caller up again, for a request that was held open (a long poll). */
export const requireMailUserStill = async (c: Context<JsonApiEnv>): Promise<Result<UserPrincipal, Problem>> =>
  toMailUser(c, await authenticateMailRequest(c.req.raw, c.env, createClock(c.env)()));

/** Like `requireMailUser`, for mail clients: never by cookie, and a token may be sent as the password of Basic authentication. */
export async function requireMailClient(
  c: Context<JsonApiEnv>,
  findKept: FindKept = findKeptCredential,
): Promise<Result<UserPrincipal, Problem>> {
  const user = toMailUser(c, await findClientCaller(c, unlessRefused(findKept)));
  const name = parseBasic(c.req.header('authorization') ?? '')?.name.toLowerCase();
  if (!user.ok || name === undefined) return user;
  const isOwn = name === user.value.email?.toLowerCase() || name === user.value.userName.toLowerCase();
  return isOwn ? user : err(toProblem({ kind: 'invalid_credential' }));
}

/** Parses Basic authentication: name and password in UTF-8 (RFC 7617). */
function parseBasic(authorization: string): { readonly name: string; readonly password: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * Converts Basic authentication to a bearer credential. Its password must be a token or session; the account's own password is not
 * accepted, because Basic authentication cannot ask for a second factor.
 */
function toBearer(authorization: string | null): string | null {
  const basic = authorization === null ? null : parseBasic(authorization);
  return basic ? `Bearer ${basic.password}` : authorization;
}

function toMailUser(c: Context<JsonApiEnv>, caller: Awaited<Found>): Result<UserPrincipal, Problem> {
  if (!caller.ok) return err(toProblem(caller.error));
  const principal = caller.value;
  if (principal === null) return err(UNAUTHENTICATED);
  const isMailUser =
    principal.kind === 'user' && (principal.via === 'session' || (principal.scopes?.includes('mail') ?? false));
  if (!isMailUser) return err(missingScope('mail'));
  c.set('actor', { kind: 'user', id: principal.userId });
  return ok(principal);
}
