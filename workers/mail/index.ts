/**
 * Entry point of mail: the email handler, the queue consumer and the schedule. `api.ts` has the JSON API.
 *
 * Each user's mailbox is one Durable Object (`durable-objects/mailbox`). A route only calls the caller's own mailbox, so ids of
 * other users are not found.
 */
import { createClock } from '../shared/clock.ts';
import { runInvocation } from '../shared/invocation.ts';
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
export { receiveEmail } from './inbound/receive-email.ts';
export { readMailGauges } from './outbound/queue-metrics.ts';

/**
 * Handles hints. A failure loses nothing: mailboxes know their work and find it through their alarm. One session of a relay may carry
 * messages of several users: they share the trace of the first hint.
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
  // The daily cron trigger.
  if (controller.cron !== '* * * * *') return createForwardInvitationStore(env.DIRECTORY).pruneInvitations(now);
  await logQueue(env);
  await collectOrphans(env, now);
}
