/** The background work of mail: sends due messages and collects orphans. */

import type { ProductWork } from '../shared/product.ts';
import { createClock } from '../shared/settings/clock.ts';
import { boundDirectories } from '../shared/stores/bindings.ts';
import { runInvocation } from '../shared/telemetry/invocation.ts';
import { readHints } from './bindings/hints.ts';
import { findSilentMailboxes } from './bindings/namespace-owner.ts';
import { dkimSecrets, transportSecrets } from './domains/sealed-secrets.ts';
import { collectOrphans } from './maintenance/orphans.ts';
import { findOlderMailboxes, readOlderMailboxGauge } from './maintenance/restore-mailbox.ts';
import { consumeDeliveryEvents } from './outbound/delivery-events.ts';
import { removeOldErrors } from './outbound/old-errors.ts';
import { logQueue, readMailGauges } from './outbound/queue-metrics.ts';
import { sendDue } from './outbound/send-due.ts';
import { findSendingWarnings } from './outbound/sending-problems.ts';
import { createForwardInvitationStore } from './store/forward-invitation-store.ts';

/**
 * Handles a batch of hints. A failure loses no work, because each mailbox knows its work and its alarm finds it. One session of a
 * relay may carry messages of several users; they share the trace of the first hint.
 */
async function consumeMail(batch: MessageBatch, env: Env): Promise<void> {
  const hints = [...readHints(batch)];
  const users = hints.map(([userId]) => userId);
  await runInvocation(env, hints[0]?.[1], () => sendDue(env, users));
}

async function runMailSchedule(controller: ScheduledController, env: Env): Promise<void> {
  const now = createClock(env)();
  // There are two cron triggers: one per minute, and this daily one.
  if (controller.cron !== '* * * * *') {
    for (const database of boundDirectories(env)) await createForwardInvitationStore(database).pruneInvitations(now);
    await removeOldErrors(env);
    return;
  }
  await logQueue(env);
  await collectOrphans(env, now);
}

export const work: ProductWork = {
  schedules: { mail: runMailSchedule },
  consume: consumeMail,
  consumeEvents: (batch, env) => runInvocation(env, undefined, () => consumeDeliveryEvents(env, batch)),
  readGauges: async (env) => [...(await readMailGauges(env)), await readOlderMailboxGauge(env)],
  findSilent: findSilentMailboxes,
  findWarnings: async (env) => [...(await findOlderMailboxes(env)), ...(await findSendingWarnings(env))],
  secrets: [dkimSecrets, transportSecrets],
};
