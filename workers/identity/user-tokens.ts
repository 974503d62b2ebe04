/** Tokens that a user makes for their own programs: scope `mail`, never more. */
import { randomUUID } from 'node:crypto';
import { hashToken, mintToken } from './credentials.ts';
import { createIdentityStore, type TokenRow } from './store.ts';

export interface NewUserToken extends TokenRow {
  /** Shown this once. */
  readonly token: string;
}

export async function createUserToken(
  env: Env,
  userId: string,
  { name, expiresAt }: { readonly name: string; readonly expiresAt: number | null },
  now: number,
): Promise<NewUserToken> {
  const token = mintToken();
  const row = { tokenId: randomUUID(), name, userId, scopes: ['mail'], createdAt: now, expiresAt };
  await createIdentityStore(env.DIRECTORY).insertToken({ ...row, tokenSha256: hashToken(token) });
  return { ...row, token };
}

export const listUserTokens = (env: Env, userId: string, after: string, limit: number): Promise<TokenRow[]> =>
  createIdentityStore(env.DIRECTORY).listTokens(userId, after, limit);

/** @returns false when the user has no such token. */
export const deleteUserToken = async (env: Env, userId: string, tokenId: string): Promise<boolean> =>
  (await createIdentityStore(env.DIRECTORY).deleteToken(tokenId, userId)) !== null;
