/** Tokens that users create for their own programs: app tokens with the scope `mail`, and tokens of agents. */
import { randomUUID } from 'node:crypto';
import type { AuditRow } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import {
  allDatabaseNumbers,
  compareText,
  databaseNumberOf,
  databaseOf,
  findInAny,
  readMerged,
  userDatabaseOf,
} from '../../shared/stores/directories.ts';
import type { AgentScope } from '../principal.ts';
import { publishRevocations } from '../revocations.ts';
import { hashToken, mintToken } from '../secrets/credentials.ts';
import type { TokenRow } from '../store/token-store.ts';
import * as tokens from '../store/token-store.ts';
import { endingCredentials } from './obligations.ts';

export const TOKENS_PER_USER_MAX = 100;

export interface NewUserToken extends TokenRow {
  /** The secret of the new token. Only its hash is stored, so it cannot be shown again. */
  readonly token: string;
}

/**
 * Creates a token for a user.
 * @param scopes `mail`, or scopes of an agent. The hash of an agent's token is stored here, because older code knows no scope of a
 * token that the mailbox keeps.
 * @param keep creates the secret of an app token and stores its hash where requests look it up.
 * @returns 409 if the user has 100 tokens. Concurrent requests may exceed that by a few.
 */
export async function createUserToken(
  env: Env,
  userId: string,
  {
    name,
    expiresAt,
    scopes,
  }: { readonly name: string; readonly expiresAt: number | null; readonly scopes: readonly ('mail' | AgentScope)[] },
  now: number,
  toAudit: (tokenId: string) => AuditRow,
  keep: (tokenId: string) => Promise<string>,
): Promise<Result<NewUserToken, Problem>> {
  const database = userDatabaseOf(env, userId);
  if ((await tokens.countTokens(database, userId)) >= TOKENS_PER_USER_MAX) {
    return err(problem(409, 'too_many', `A user has at most ${TOKENS_PER_USER_MAX} tokens. Revoke one first.`));
  }
  const row = {
    tokenId: randomUUID(),
    name,
    userId,
    scopes: [...scopes],
    createdAt: now,
    expiresAt,
    lastUsedAt: null,
    madeBy: null,
    clientId: null,
  };
  const isKept = scopes.includes('mail');
  const token = isKept ? await keep(row.tokenId) : mintToken(databaseNumberOf(userId));
  await tokens.insertToken(database, { ...row, tokenSha256: isKept ? null : hashToken(token) }, toAudit(row.tokenId));
  return ok({ ...row, token });
}

export const listUserTokens = (env: Env, userId: string, after: string, limit: number): Promise<TokenRow[]> =>
  tokens.listTokens(userDatabaseOf(env, userId), userId, after, limit);

/** Lists all tokens, including those without a user. */
export const listTokens = (env: Env, after: string, limit: number): Promise<TokenRow[]> =>
  readMerged(
    env,
    (database) => tokens.listTokens(database, null, after, limit),
    (a, b) => compareText(a.tokenId, b.tokenId),
    limit,
  );

/**
 * Revokes a token and closes the connections that were opened with it.
 * @param userId id of the expected owner; null accepts any owner. @returns false if there is no such token.
 */
export async function deleteUserToken(
  env: Env,
  userId: string | null,
  tokenId: string,
  audit: AuditRow,
): Promise<boolean> {
  const token = await findToken(env, userId, tokenId);
  if (token === null || (userId !== null && token.userId !== userId)) {
    // An earlier attempt may have failed after it deleted the token and before every database received the revocation.
    await publishRevocations(env, userId === null ? allDatabaseNumbers(env) : [databaseNumberOf(userId)]);
    return false;
  }
  const home = databaseNumberOf(token.userId ?? '');
  const remove = () => tokens.deleteToken(databaseOf(env, home), tokenId, audit);
  await (token.userId === null ? remove() : endingCredentials(env, token.userId, { only: tokenId }, remove));
  await publishRevocations(env, [home]);
  return true;
}

/** Revokes the tokens that an operator made. @throws if a database does not answer. */
export async function endTokensMadeBy(env: Env, operatorId: string): Promise<void> {
  const homes = allDatabaseNumbers(env);
  await Promise.all(homes.map((home) => tokens.deleteTokensMadeBy(databaseOf(env, home), operatorId)));
  await publishRevocations(env, homes);
}

/** Finds the owner of a token. @param userId the user whose home database is queried; null queries every database. */
async function findToken(env: Env, userId: string | null, tokenId: string): Promise<{ userId: string | null } | null> {
  const find = (database: D1Database) => tokens.findTokenOwner(database, tokenId);
  return userId === null ? findInAny(env, find) : find(userDatabaseOf(env, userId));
}
