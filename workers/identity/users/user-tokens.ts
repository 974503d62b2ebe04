/** Tokens that users create for their own programs. Their only scope is `mail`. */
import { randomUUID } from 'node:crypto';
import type { AuditRow } from '../../shared/audit-store.ts';
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { publishRevocations } from '../revocations.ts';
import { hashToken, mintToken } from '../secrets/credentials.ts';
import { createIdentityStore, type TokenRow } from '../store/store.ts';

export interface NewUserToken extends TokenRow {
  /** Returned only here. */
  readonly token: string;
}

const TOKENS_PER_USER_MAX = 100;

/** @returns 409 if the user has 100 tokens. Concurrent requests may exceed that by a few. */
export async function createUserToken(
  env: Env,
  userId: string,
  { name, expiresAt }: { readonly name: string; readonly expiresAt: number | null },
  now: number,
  toAudit: (tokenId: string) => AuditRow,
): Promise<Result<NewUserToken, Problem>> {
  const store = createIdentityStore(env.DIRECTORY);
  if ((await store.countTokens(userId)) >= TOKENS_PER_USER_MAX) {
    return err(problem(409, 'too_many', `A user has at most ${TOKENS_PER_USER_MAX} tokens. Revoke one first.`));
  }
  const token = mintToken();
  const row = { tokenId: randomUUID(), name, userId, scopes: ['mail'], createdAt: now, expiresAt, lastUsedAt: null };
  await store.insertToken({ ...row, tokenSha256: hashToken(token) }, toAudit(row.tokenId));
  return ok({ ...row, token });
}

export const listUserTokens = (env: Env, userId: string, after: string, limit: number): Promise<TokenRow[]> =>
  createIdentityStore(env.DIRECTORY).listTokens(userId, after, limit);

/** @returns false if the user has no such token. */
export async function deleteUserToken(env: Env, userId: string, tokenId: string, audit: AuditRow): Promise<boolean> {
  const gone = await createIdentityStore(env.DIRECTORY).deleteToken(tokenId, userId, audit);
  await publishRevocations(env);
  return gone !== null;
}
