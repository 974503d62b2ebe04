/**
 * Authenticates callers of the JSON APIs: root, an operator, a scoped token, or a mail session (bearer or cookie). SigV4 of object
 * storage is in `s3-authentication.ts`.
 */
import { equalInConstantTime } from '../../shared/pure/constant-time.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { findDatabase } from '../../shared/stores/directories.ts';
import type { OperatorRole } from '../domain/operator-roles.ts';
import { BOARD_SCOPE, isAgentScope, type Principal, type Scope, type UserPrincipal } from '../principal.ts';
import { findInPrimary, findUnrevoked } from '../revocations.ts';
import { hashToken, homeOfSecret, readKeptUser } from '../secrets/credentials.ts';
import { createOperatorStore } from '../store/operator-store.ts';
import { type CredentialRow, findToken } from '../store/store.ts';
import { type FindKept, findKeptCredential } from '../users/obligations.ts';

export type AuthenticationError =
  /** The credential is malformed, unknown, expired or revoked. The error does not say which. */
  | { readonly kind: 'invalid_credential' }
  /** The page that sent the cookie is of another origin. */
  | { readonly kind: 'foreign_origin' };

/**
 * Authenticates a caller by the Authorization header.
 * @param findKept finds a session or an app token. By default it asks the user's mailbox and nothing else.
 * @param waitUntil keeps work in the background alive after the answer.
 * @returns the caller; null without a credential.
 */
export async function authenticateBearer(
  authorization: string | null,
  env: Env,
  now: number,
  findKept: FindKept = findKeptCredential,
  waitUntil?: (work: Promise<unknown>) => void,
): Promise<Result<Principal | null, AuthenticationError>> {
  if (authorization === null) return ok(null);
  const secret = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
  if (secret === undefined) return err({ kind: 'invalid_credential' });
  const boardHash = boardHashes.get(secret);
  const hash = boardHash ?? hashToken(secret);
  // Hashes are compared, because they have equal lengths: the comparison does not reveal the length of ROOT_TOKEN.
  if (boardHash === undefined && equalInConstantTime(hash, hashOfRoot(env))) return ok({ kind: 'root' });
  const keptUser = readKeptUser(secret);
  if (keptUser !== null) return authenticateKept(keptUser, hash, env, findKept);
  if (secret.startsWith('tok_')) {
    const find = (copy: D1Database | D1DatabaseSession) => findToken(copy, hash, now);
    const database = findDatabase(env, homeOfSecret(secret));
    if (database === null) return err({ kind: 'invalid_credential' });
    const known = await findUnrevoked(database, hash, find, isForBoards, waitUntil);
    if (known?.expiresAt && known.expiresAt <= now) return err({ kind: 'invalid_credential' });
    // A revoked token of an operator or of an agent must stop working at once, so the primary is asked for it.
    const mustBeNew = known?.scopes.some((scope) => scope === 'admin' || isAgentScope(scope)) ?? false;
    const found = mustBeNew ? await findInPrimary(database, find) : known;
    if (!found) return err({ kind: 'invalid_credential' });
    if (isForBoards(found)) keepBoardHash(secret, hash);
    return ok(toTokenPrincipal(found));
  }
  if (secret.startsWith('ops_')) {
    const found = await createOperatorStore(env.DIRECTORY).findSession(hash, now);
    if (!found) return err({ kind: 'invalid_credential' });
    return ok({ kind: 'operator', ...found, role: found.role as OperatorRole });
  }
  return err({ kind: 'invalid_credential' });
}

const rootHashes = new WeakMap<Env, string>();

function hashOfRoot(env: Env): string {
  const hash = rootHashes.get(env) ?? hashToken(settingsOf(env).ROOT_TOKEN);
  rootHashes.set(env, hash);
  return hash;
}

/**
 * Whether this isolate may reuse the row of a token without a look-up. Only tokens of game servers may be reused, because these
 * send thousands of posts a second.
 */
const isForBoards = ({ userId, scopes }: { userId: string | null; scopes: string[] }): boolean =>
  userId === null && scopes.every((scope) => /^(?:scores:write|boards:create)$/.test(scope) || BOARD_SCOPE.test(scope));

/** The hashes of tokens that `isForBoards`: computing and comparing one takes 4% of the time of a post. */
const boardHashes = new Map<string, string>();
const BOARD_HASHES_MAX = 100;

function keepBoardHash(secret: string, hash: string): void {
  if (boardHashes.size >= BOARD_HASHES_MAX && !boardHashes.has(secret)) boardHashes.clear();
  boardHashes.set(secret, hash);
}

/**
 * Authenticates a session or an app token, which the user's mailbox keeps.
 * @throws ProblemError if the mailbox cannot be reached.
 */
async function authenticateKept(
  userId: string,
  hash: string,
  env: Env,
  findKept: FindKept,
): Promise<Result<UserPrincipal, AuthenticationError>> {
  const found = await findKept(userId, hash, env);
  if (found === null) return err({ kind: 'invalid_credential' });
  const { kind, ...credential } = found;
  return ok({
    kind: 'user',
    userId,
    ...credential,
    via: kind,
    scopes: kind === 'token' ? ['mail'] : null,
    policies: [],
    sessionPolicy: null,
  });
}

/** Makes the principal of a token from its row: a user, or a service if the token belongs to no user. */
export function toTokenPrincipal(row: CredentialRow & { readonly scopes: string[] }): Principal {
  const scopes = row.scopes as Scope[];
  if (row.userId !== null) return toUser(row, 'token', scopes);
  return { kind: 'service', tokenId: row.credentialId, lastUsedAt: row.lastUsedAt, scopes };
}

/** Makes the principal of a user from the row of a credential. Also used for SigV4. */
export function toUser(row: CredentialRow, via: UserPrincipal['via'], scopes: readonly Scope[] | null): UserPrincipal {
  return {
    kind: 'user',
    userId: row.userId ?? '',
    userName: row.userName ?? '',
    name: row.name ?? '',
    email: row.email,
    via,
    credentialId: row.credentialId,
    expiresAt: row.expiresAt,
    lastUsedAt: row.lastUsedAt,
    confirmedUntil: null,
    scopes,
    policies: row.policies,
    sessionPolicy: null,
  };
}

/** Name of the session cookie. The prefix `__Host-` requires HTTPS, which loopback lacks. */
export const sessionCookieName = (url: string): string => (url.startsWith('https:') ? '__Host-session' : 'session');

/**
 * Like `authenticateBearer`, but accepts the session cookie if there is no Authorization header. Writes and WebSocket upgrades by
 * cookie must come from our own Origin. An invalid Authorization header is an error, even if a valid cookie is sent too.
 */
export async function authenticateMailRequest(
  request: Request,
  env: Env,
  now: number,
  findKept: FindKept = findKeptCredential,
): Promise<Result<Principal | null, AuthenticationError>> {
  const authorization = request.headers.get('authorization');
  if (authorization !== null) return authenticateBearer(authorization, env, now, findKept);
  const name = sessionCookieName(request.url);
  const cookies = (request.headers.get('cookie') ?? '').split(/; */);
  const secret = cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1);
  if (secret === undefined) return ok(null);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isUpgrade = request.headers.has('upgrade');
  if ((!isRead || isUpgrade) && request.headers.get('origin') !== new URL(request.url).origin) {
    return err({ kind: 'foreign_origin' });
  }
  const userId = readKeptUser(secret);
  if (userId === null || !secret.startsWith('ses_')) return err({ kind: 'invalid_credential' });
  return authenticateKept(userId, hashToken(secret), env, findKept);
}
