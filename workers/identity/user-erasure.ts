/** Deleting a user for good: every product is asked first, then lets go of what it keeps, then the user is forgotten. */
import { type Problem, problem } from '../shared/problem.ts';
import { err, ok, type Result } from '../shared/result.ts';
import { createIdentityStore } from './store.ts';

/** What a product holds for a user. Identity does not know the products: the entry registers one of each. */
export interface UserObligation {
  /** @returns why the user cannot be deleted now, or null. */
  findObstacle(userId: string, env: Env): Promise<string | null>;
  /** Removes what the product keeps of the user; may be run twice. */
  erase(userId: string, env: Env): Promise<void>;
  /** Ends what was opened with a credential that has just been revoked. */
  endCredential?(userId: string, credentialId: string, env: Env): Promise<void>;
}

const obligations: UserObligation[] = [];

export function registerUserObligation(obligation: UserObligation): void {
  obligations.push(obligation);
}

/** What is still open with a revoked token of this user ends. */
export async function endCredential(userId: string, credentialId: string, env: Env): Promise<void> {
  for (const obligation of obligations) await obligation.endCredential?.(userId, credentialId, env);
}

/**
 * The user's keys, tokens, policies and sessions go with it. Interrupted, it may be repeated: the user itself goes last.
 * @returns 404 `no_such_user`, or 409 `user_in_use` with the reason while a product cannot let go.
 */
export async function eraseUser(userId: string, env: Env): Promise<Result<null, Problem>> {
  const store = createIdentityStore(env.DIRECTORY);
  if (!(await store.findUser(userId))) return err(problem(404, 'no_such_user', 'There is no such user.'));
  for (const obligation of obligations) {
    const obstacle = await obligation.findObstacle(userId, env);
    if (obstacle !== null) return err(problem(409, 'user_in_use', obstacle));
  }
  for (const obligation of obligations) await obligation.erase(userId, env);
  await store.deleteUser(userId);
  return ok(null);
}
