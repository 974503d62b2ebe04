/** Users who act without a request of their own. */
import type { Scope, UserPrincipal } from '../principal.ts';
import { findActiveUser } from '../store/store.ts';
import { toUser } from './authenticate.ts';

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
