/** Finds users for whom work runs without a request of their own. */
import type { Scope, UserPrincipal } from '../principal.ts';
import { findActiveUser } from '../store/store.ts';
import { toUser } from './authenticate.ts';

/**
 * Reads a user with its present policies, for work that outlives the request in which the user started it.
 * @param scopes scopes of the token that started the work; null if it was no token. @returns null if the user is suspended or gone.
 */
export async function findActingUser(
  directory: D1Database,
  userId: string,
  scopes: readonly string[] | null,
): Promise<UserPrincipal | null> {
  const row = await findActiveUser(directory, userId);
  return row && toUser(row, scopes === null ? 'access_key' : 'token', scopes as readonly Scope[] | null);
}
