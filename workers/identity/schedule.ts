/** Scheduled work of identity. */
import { pruneAudit } from '../shared/audit.ts';
import { createClock } from '../shared/clock.ts';
import { createOperatorStore } from './operator-store.ts';

/** Daily: deletes expired entries of the audit log and expired sessions of operators. */
export async function runIdentitySchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  if (controller.cron === '* * * * *') return;
  const now = createClock(env)();
  await pruneAudit(env, now);
  await createOperatorStore(env.DIRECTORY).pruneSessions(now);
}
