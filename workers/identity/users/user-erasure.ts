/**
 * Deletes users. First every product is asked for obstacles, then every product erases its data, then the user row is
 * deleted.
 */
import { mintPseudonym } from '../../shared/audit.ts';
import type { AuditRow } from '../../shared/audit-store.ts';
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { publishRevocations } from '../revocations.ts';
import { createIdentityStore } from '../store/store.ts';

/**
 * A product's part in the deletion of users. Identity does not know the products; `workers/index.ts` registers one
 * each.
 */
export interface UserObligation {
  /** @returns why the user cannot be deleted now, or null. */
  findObstacle(userId: string, env: Env): Promise<string | null>;
  /** Erases the product's data of the user. Idempotent. */
  erase(userId: string, env: Env): Promise<void>;
  /** Closes connections that were opened with a revoked credential; with null, all of the user's. */
  endCredential?(userId: string, credentialId: string | null, env: Env): Promise<void>;
}

const obligations: UserObligation[] = [];

export function registerUserObligation(obligation: UserObligation): void {
  obligations.push(obligation);
}

/** Closes connections that were opened with a revoked token. */
export async function endCredential(userId: string, credentialId: string, env: Env): Promise<void> {
  for (const obligation of obligations) await obligation.endCredential?.(userId, credentialId, env);
}

/** Closes all connections of a user. */
export async function endEveryCredential(userId: string, env: Env): Promise<void> {
  for (const obligation of obligations) await obligation.endCredential?.(userId, null, env);
}

/**
 * Also deletes the user's keys, tokens, policies and sessions. Can be repeated after a failure: the user row is deleted
 * last.
 * @param audit the entry of the erasure. Earlier entries of the audit log no longer name the user afterwards.
 * @returns 404 `no_such_user`, or 409 `user_in_use` with the reason.
 */
export async function eraseUser(userId: string, env: Env, audit: AuditRow): Promise<Result<null, Problem>> {
  const store = createIdentityStore(env.DIRECTORY);
  if (!(await store.findUser(userId))) return err(problem(404, 'no_such_user', 'User not found.'));
  for (const obligation of obligations) {
    const obstacle = await obligation.findObstacle(userId, env);
    if (obstacle !== null) return err(problem(409, 'user_in_use', obstacle));
  }
  for (const obligation of obligations) await obligation.erase(userId, env);
  // An entry of the person's own request must not keep where it came from.
  const entry = audit.actorKind === 'user' ? { ...audit, network: null, userAgentDigest: null } : audit;
  await store.eraseUser(userId, mintPseudonym(), entry);
  await publishRevocations(env);
  return ok(null);
}
