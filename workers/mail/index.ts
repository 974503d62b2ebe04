/**
 * Entry point of mail: the JSON API (each part adds its own routes), the email handler, the queue consumer and the schedule.
 *
 * Each user's mailbox is one Durable Object (`durable-objects/mailbox`). A route only calls the caller's own mailbox, so ids of
 * other users are not found.
 */
import { createLoginStore } from '../identity/index.ts';
import { createClock } from '../shared/clock.ts';
import { allowJson, createJsonApi } from '../shared/json-api.ts';
import { readHints } from './bindings/hints.ts';
import { dkimSecrets, transportSecrets } from './domains/sealed-secrets.ts';
import { processIncoming } from './inbound/process-incoming.ts';
import { collectOrphans } from './maintenance/orphans.ts';
import { logQueue } from './outbound/queue-metrics.ts';
import { sendDue } from './outbound/send-due.ts';
import { addAccounts } from './routes/accounts.ts';
import { addAuth } from './routes/auth.ts';
import { addContacts } from './routes/contacts.ts';
import { addDomains } from './routes/domains.ts';
import { addDrafts } from './routes/drafts.ts';
import { addEvents } from './routes/events.ts';
import { addFilters } from './routes/filters.ts';
import { addFolders } from './routes/folders.ts';
import { addInbound } from './routes/inbound.ts';
import { addLabels } from './routes/labels.ts';
import { addMe } from './routes/me.ts';
import { addAddresses, addAppTokens } from './routes/me-credentials.ts';
import { addForwardTargets, addVacation } from './routes/me-mail.ts';
import { addSecurity } from './routes/me-security.ts';
import { addMessageChanges } from './routes/message-changes.ts';
import { addMessages } from './routes/messages.ts';
import { addOutbound } from './routes/outbound.ts';
import { addQuarantine } from './routes/quarantine.ts';
import { addSearch } from './routes/search.ts';
import { addSending } from './routes/sending.ts';
import { addTransfer } from './routes/transfer.ts';
import { createForwardInvitationStore } from './store/forward-invitation-store.ts';

/** 50 MB of files of a business account in Base64, and their text. */
const MESSAGE_JSON_BYTES_MAX = 80 * 1024 * 1024;
/** Text and HTML of 1.9 million characters each, of up to 6 bytes. */
const DRAFT_JSON_BYTES_MAX = 24 * 1024 * 1024;

export const mailApi = createJsonApi();
mailApi.use('/v1/messages', allowJson(MESSAGE_JSON_BYTES_MAX));
for (const path of ['/v1/drafts', '/v1/drafts/*']) mailApi.use(path, allowJson(DRAFT_JSON_BYTES_MAX));
addAuth(mailApi);
addMe(mailApi);
addSecurity(mailApi);
addAppTokens(mailApi);
addAddresses(mailApi);
addAccounts(mailApi);
addFolders(mailApi);
addLabels(mailApi);
addMessageChanges(mailApi);
addMessages(mailApi);
addSearch(mailApi);
addEvents(mailApi);
addDrafts(mailApi);
addFilters(mailApi);
addContacts(mailApi);
addTransfer(mailApi);
addVacation(mailApi);
addForwardTargets(mailApi);
addSending(mailApi);
addInbound(mailApi);
addOutbound(mailApi);
addDomains(mailApi);
addQuarantine(mailApi);

export { totpSecrets } from '../identity/index.ts';
/** Secrets sealed with MASTER_KEY. */
export const mailSecrets = [dkimSecrets, transportSecrets];

export { mailboxObligation } from './accounts/user-obligation.ts';
export { receiveEmail } from './inbound/receive-email.ts';

/** Handles hints. A failure loses nothing: mailboxes know their work and find it through their alarm. */
export async function consumeMail(batch: MessageBatch, env: Env, _ctx: ExecutionContext): Promise<void> {
  const users = readHints(batch);
  if (batch.queue.includes('outbound')) await sendDue(env, users);
  else await Promise.all(users.map((userId) => processIncoming(env, userId)));
}

export async function runMailSchedule(
  controller: ScheduledController,
  env: Env,
  _ctx: ExecutionContext,
): Promise<void> {
  const now = createClock(env)();
  if (controller.cron !== '* * * * *') return pruneExpired(env, now);
  await logQueue(env);
  await collectOrphans(env, now);
}

/** Daily: deletes expired guess counts, sessions and forwarding invitations from DIRECTORY. */
async function pruneExpired(env: Env, now: number): Promise<void> {
  await createLoginStore(env.DIRECTORY).pruneGuards(now);
  await createForwardInvitationStore(env.DIRECTORY).pruneInvitations(now);
}
