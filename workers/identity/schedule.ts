/** Scheduled work of identity. */
import { pruneAudit } from '../shared/audit/audit.ts';
import { createClock } from '../shared/settings/clock.ts';
import { boundDirectories } from '../shared/stores/bindings.ts';
import { allDatabaseNumbers } from '../shared/stores/directories.ts';
import { pruneConnections } from './connections/connections.ts';
import { publishRevocations } from './revocations.ts';
import { recheckSignIns } from './sign-in/recheck.ts';
import { createLoginStore } from './store/login-store.ts';
import { createOperatorStore } from './store/operator-store.ts';
import { createRecoveryStore } from './store/recovery-store.ts';
import { createProviderSessionStore } from './store/sign-in-store.ts';

/**
 * Runs each minute and each day. Each minute: repairs a revocation that a shard did not receive, and checks sign-ins that are due.
 * Daily: deletes expired entries of the audit log, operators' sessions, sessions at the provider, connections of agents,
 * guess counts and one-time secrets.
 */
export async function runIdentitySchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const now = createClock(env)();
  if (controller.cron === '* * * * *') {
    await publishRevocations(env, allDatabaseNumbers(env));
    return recheckSignIns(env, now);
  }
  await pruneAudit(env, now);
  await createOperatorStore(env.DIRECTORY).pruneSessions(now);
  await createProviderSessionStore(env.DIRECTORY).prune(now);
  await pruneConnections(env, now);
  for (const database of boundDirectories(env)) {
    await createLoginStore(database).pruneGuards(now);
    await createRecoveryStore(database).prune(now);
  }
}
