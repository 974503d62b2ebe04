/**
 * Entry point of mail: the email handler, the queue consumer and the schedule. `api.ts` has the JSON API.
 *
 * Each user's mailbox is one Durable Object (`durable-objects/mail`). A route calls only the caller's own mailbox, so ids of
 * other users' messages are not found.
 */

import { createClock } from '../shared/settings/clock.ts';
import { boundDirectories } from '../shared/stores/bindings.ts';
import { runInvocation } from '../shared/telemetry/invocation.ts';
import { readHints } from './bindings/hints.ts';
import { dkimSecrets, transportSecrets } from './domains/sealed-secrets.ts';
import { collectOrphans } from './maintenance/orphans.ts';
import { logQueue } from './outbound/queue-metrics.ts';
import { sendDue } from './outbound/send-due.ts';
import { createForwardInvitationStore } from './store/forward-invitation-store.ts';

export { totpSecrets } from '../identity/index.ts';
/** Secrets sealed with MASTER_KEY. */
export const mailSecrets = [dkimSecrets, transportSecrets];

export { findSilentMailboxes } from './bindings/namespace-owner.ts';
export { receiveEmail } from './inbound/accept/receive-email.ts';
export { readMailGauges } from './outbound/queue-metrics.ts';

/**
 * Handles a batch of hints. A failure loses no work, because each mailbox knows its work and its alarm finds it. One session of a
 * relay may carry messages of several users; they share the trace of the first hint.
 */
export async function consumeMail(batch: MessageBatch, env: Env): Promise<void> {
  const hints = [...readHints(batch)];
  const users = hints.map(([userId]) => userId);
  await runInvocation(env, hints[0]?.[1], () => sendDue(env, users));
}

export async function runMailSchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const now = createClock(env)();
  // There are two cron triggers: one per minute, and this daily one.
  if (controller.cron !== '* * * * *') {
    for (const database of boundDirectories(env)) await createForwardInvitationStore(database).pruneInvitations(now);
    return;
  }
  await logQueue(env);
  await collectOrphans(env, now);
}
