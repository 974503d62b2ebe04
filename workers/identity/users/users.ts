/** Users by id, for products. */
import { toUser } from '../callers/authenticate.ts';
import type { Scope, UserPrincipal } from '../principal.ts';
import { createIdentityStore, findActiveUser, type UserRow } from '../store/store.ts';

export const findUserById = (env: Env, userId: string): Promise<UserRow | null> =>
  createIdentityStore(env.DIRECTORY).findUser(userId);

/** @returns those of the users that are suspended. */
export const findSuspended = (env: Env, userIds: readonly string[]): Promise<string[]> =>
  createIdentityStore(env.DIRECTORY).listSuspended(userIds);

/** The default `user_name`. */
export const inventUserName = (userId: string): string => userId;

export const forgetUser = (env: Env, userId: string): Promise<void> =>
  createIdentityStore(env.DIRECTORY).deleteUser(userId);

/**
 * For work that a user started and that outlives the request: the user with its policies as they are now.
 * @param scopes of the token that started it. @returns null if the user is suspended or gone.
 */
export async function findActingUser(
  directory: D1Database,
  userId: string,
  scopes: readonly string[] | null,
): Promise<UserPrincipal | null> {
  const row = await findActiveUser(directory, userId);
  return row && toUser(row, scopes === null ? 'access_key' : 'token', scopes as readonly Scope[] | null);
}
