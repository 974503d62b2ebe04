/** Scheduled work of identity. */
import { pruneAudit } from '../shared/audit.ts';
import { createClock } from '../shared/clock.ts';
import { createLoginStore } from './login-store.ts';
import { createOperatorStore } from './operator-store.ts';
import { createRecoveryStore } from './recovery-store.ts';

/** Daily: deletes expired entries of the audit log, sessions, guess counts and one-time secrets. */
export async function runIdentitySchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  if (controller.cron === '* * * * *') return;
  const now = createClock(env)();
  await pruneAudit(env, now);
  await createOperatorStore(env.DIRECTORY).pruneSessions(now);
  await createLoginStore(env.DIRECTORY).pruneGuards(now);
  await createRecoveryStore(env.DIRECTORY).pruneSecrets(now);
}
