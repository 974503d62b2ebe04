/** Scheduled work of identity. */
import { pruneAudit } from '../shared/audit.ts';
import { createClock } from '../shared/clock.ts';
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
  if (controller.cron === '* * * * *') return publishRevocations(env);
  const now = createClock(env)();
  await pruneAudit(env, now);
  await createOperatorStore(env.DIRECTORY).pruneSessions(now);
  await createLoginStore(env.DIRECTORY).pruneGuards(now);
  await createRecoveryStore(env.DIRECTORY).pruneSecrets(now);
}
