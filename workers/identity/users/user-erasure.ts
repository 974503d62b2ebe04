/**
 * Deletes users. First every product is asked for obstacles, then every product erases its data, then the user row is
 * deleted, then the user's sessions end.
 */
import { mintPseudonym } from '../../shared/audit/audit.ts';
import { type AuditRow, createAuditStore } from '../../shared/audit/audit-store.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { allDatabaseNumbers, databaseNumberOf, databaseOf } from '../../shared/stores/directories.ts';
import { publishRevocations } from '../revocations.ts';
import { createSignInStore } from '../store/sign-in-store.ts';
import { createIdentityStore } from '../store/store.ts';
import { endCredentials, obligations } from './obligations.ts';

/**
 * Erases a user with keys, tokens, policies and sessions. After a failure it can be repeated, even by the user, because sessions
 * end last.
 * @param audit audit entry of the erasure. Earlier entries of the audit log no longer name the user afterwards.
 * @returns 404 `no_such_user`, or 409 `user_in_use` with the reason.
 */
export async function eraseUser(userId: string, env: Env, audit: AuditRow): Promise<Result<null, Problem>> {
  const home = databaseNumberOf(userId);
  const store = createIdentityStore(databaseOf(env, home));
  if (!(await store.findUser(userId))) {
    // The user is already gone: an earlier attempt may have failed after it deleted the user. Its last steps are repeated.
    await publishRevocations(env, [home]);
    await endCredentials(userId, {}, env);
    return err(problem(404, 'no_such_user', 'User not found.'));
  }
  for (const obligation of obligations) {
    const obstacle = await obligation.findObstacle(userId, env);
    if (obstacle !== null) return err(problem(409, 'user_in_use', obstacle));
  }
  for (const obligation of obligations) await obligation.erase(userId, env);
  // If users erase themselves, the audit entry must not keep their network or device.
  const entry = audit.actorKind === 'user' ? { ...audit, network: null, userAgentDigest: null } : audit;
  const pseudonym = mintPseudonym();
  for (const number of allDatabaseNumbers(env)) {
    if (number !== home) await createAuditStore(databaseOf(env, number)).eraseUser(userId, pseudonym);
  }
  await createSignInStore(env.DIRECTORY).deleteOf('user', userId);
  await store.eraseUser(userId, pseudonym, entry);
  await publishRevocations(env, [home]);
  await endCredentials(userId, {}, env);
  return ok(null);
}
