/** Scheduled work of identity. */
import { pruneAudit } from '../shared/audit/audit.ts';
import { createClock } from '../shared/settings/clock.ts';
import { boundDirectories } from '../shared/stores/bindings.ts';
import { allDatabaseNumbers } from '../shared/stores/directories.ts';
import { publishRevocations } from './revocations.ts';
import { createLoginStore } from './store/login-store.ts';
import { createOperatorStore } from './store/operator-store.ts';
import { createRecoveryStore } from './store/recovery-store.ts';

/**
 * Runs each minute and each day. Each minute: repairs a revocation that a shard did not receive. Daily: deletes expired entries of
 * the audit log, operators' sessions, guess counts and one-time secrets.
 */
export async function runIdentitySchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  if (controller.cron === '* * * * *') return publishRevocations(env, allDatabaseNumbers(env));
  const now = createClock(env)();
  await pruneAudit(env, now);
  await createOperatorStore(env.DIRECTORY).pruneSessions(now);
  for (const database of boundDirectories(env)) {
    await createLoginStore(database).pruneGuards(now);
    await createRecoveryStore(database).prune(now);
  }
}
