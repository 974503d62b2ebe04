/**
 * Connections of agents by OAuth: a code that works once for a minute, access tokens of an hour, and refresh tokens that each work
 * once. A code or a refresh token that is used again ends the connection, because somebody else has it too (RFC 9700 §4.14.2).
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { toSystemAuditRow } from '../../shared/audit/audit.ts';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import { databaseNumberOf, findDatabase, userDatabaseOf } from '../../shared/stores/directories.ts';
import type { AgentScope } from '../principal.ts';
import { publishRevocations } from '../revocations.ts';
import { hashToken, homeOfSecret, mintSecret, mintToken } from '../secrets/credentials.ts';
import {
  deleteEndedConnections,
  exchangeCode,
  findUsedCode,
  findUsedRefreshToken,
  insertConnection,
  type NewTokens,
  rotateRefreshToken,
} from '../store/connection-store.ts';
import { countTokens, deleteToken } from '../store/token-store.ts';
import { TOKENS_PER_USER_MAX } from '../users/user-tokens.ts';
import type { ConnectionRequest } from './requests.ts';

const CODE_AGE_MS = 60_000;
export const ACCESS_AGE_MS = 3_600_000;
/** Time after which a connection that nobody uses ends. */
const UNUSED_MS_MAX = 90 * 86_400_000;

export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scopes: readonly string[];
}

/**
 * Makes a connection that a person approved.
 * @returns the code; 409 if the user has 100 tokens.
 */
export async function approveConnection(
  env: Env,
  request: ConnectionRequest,
  scopes: readonly AgentScope[],
  { now, toAudit }: { readonly now: number; readonly toAudit: (tokenId: string) => AuditRow },
): Promise<Result<string, Problem>> {
  const { userId, clientId, clientName: name, redirectUri, codeChallenge } = request;
  const database = userDatabaseOf(env, userId);
  if ((await countTokens(database, userId)) >= TOKENS_PER_USER_MAX)
    return err(problem(409, 'too_many', `A user has at most ${TOKENS_PER_USER_MAX} tokens. Revoke one first.`));
  const tokenId = randomUUID();
  const code = mintSecret('cod', databaseNumberOf(userId));
  const endsAt = now + CODE_AGE_MS;
  await insertConnection(
    database,
    { tokenId, name, userId, scopes: [...scopes], createdAt: now, expiresAt: endsAt },
    { tokenId, clientId, redirectUri, codeChallenge, codeSha256: hashToken(code), endsAt },
    toAudit(tokenId),
  );
  return ok(code);
}

/** What a client sends with a code. */
export interface SentCode {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** Exchanges a code for tokens. @returns null for a code that does not fit. */
export async function redeemCode(env: Env, sent: SentCode, now: number): Promise<IssuedTokens | null> {
  const { clientId, redirectUri } = sent;
  const home = homeOfSecret(sent.code);
  const database = findDatabase(env, home);
  if (database === null) return null;
  const codeChallenge = createHash('sha256').update(sent.verifier).digest('base64url');
  const proof = { codeSha256: hashToken(sent.code), clientId, redirectUri, codeChallenge };
  const made = mintTokens(mintSecret('ref', home), home, now);
  const scopes = await exchangeCode(database, proof, made.hashes, now);
  if (scopes !== null) return { ...made.tokens, scopes };
  await endReused(env, home, await findUsedCode(database, proof), now);
  return null;
}

/** Replaces a refresh token. @returns null for one that does not fit. */
export async function refreshConnection(
  env: Env,
  refreshToken: string,
  clientId: string,
  now: number,
): Promise<IssuedTokens | null> {
  const [family = '', part] = refreshToken.split('.');
  const home = homeOfSecret(family);
  const database = findDatabase(env, home);
  if (database === null || part === undefined) return null;
  const proof = { familySha256: hashToken(family), refreshSha256: hashToken(refreshToken), clientId };
  const made = mintTokens(family, home, now);
  const scopes = await rotateRefreshToken(database, proof, made.hashes, now);
  if (scopes !== null) return { ...made.tokens, scopes };
  await endReused(env, home, await findUsedRefreshToken(database, proof), now);
  return null;
}

/** @param family the part that all refresh tokens of the connection share. It tells an earlier one from an invented one. */
function mintTokens(family: string, home: number, now: number) {
  const accessToken = mintToken(home);
  const refreshToken = `${family}.${randomBytes(32).toString('base64url')}`;
  const hashes: NewTokens = {
    newFamily: hashToken(family),
    newRefresh: hashToken(refreshToken),
    newAccess: hashToken(accessToken),
    accessEndsAt: now + ACCESS_AGE_MS,
    endsAt: now + UNUSED_MS_MAX,
  };
  return { tokens: { accessToken, refreshToken }, hashes };
}

async function endReused(env: Env, home: number, tokenId: string | null, now: number): Promise<void> {
  const database = findDatabase(env, home);
  if (tokenId === null || database === null) return;
  const target = { type: 'token', id: tokenId } as const;
  const details = { reason: 'reused' };
  await deleteToken(
    database,
    tokenId,
    toSystemAuditRow({ at: now, id: randomUUID(), action: 'token.delete', target, details }),
  );
  await publishRevocations(env, [home]);
}

/** Deletes codes that nobody used, and connections that nobody used for 90 days. */
export async function pruneConnections(env: Env, now: number): Promise<void> {
  for (const database of boundDirectories(env)) await deleteEndedConnections(database, now);
}
