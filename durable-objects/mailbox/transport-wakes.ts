/** What of mail transport the mailbox's alarm does when no hint did it. */
import { processIncoming } from '../../workers/mail/inbound/process-incoming.ts';
import { publishLedger, publishOutbox } from '../../workers/mail/outbound/queue-store.ts';
import { sendDue } from '../../workers/mail/outbound/send-due.ts';
import { sendReports } from '../../workers/mail/outbound/send-reports.ts';
import { logError } from '../../workers/shared/log.ts';
import { pruneIncoming, readLedger } from './incoming-store.ts';
import { listUnpublished, markPublished } from './outbox-report-store.ts';
import { type Database, first, readMailbox, scheduleWake } from './store.ts';

const RETRY_DELAY_MS = 30_000;
const PUBLISH_MAX = 100;

const PENDING: Readonly<Record<string, string>> = {
  incoming: 'SELECT 1 AS pending FROM incoming WHERE next_attempt_at IS NOT NULL LIMIT 1',
  outbox: 'SELECT 1 AS pending FROM outbox_recipient WHERE next_attempt_at IS NOT NULL LIMIT 1',
  report: 'SELECT 1 AS pending FROM outbox_recipient WHERE report_due IS NOT NULL LIMIT 1',
};

/**
 * In the transaction that takes due wakes: asks for another, should the work that begins now die before it has said when
 * it wants to be woken next.
 */
export function keepTransportWakes(sql: SqlStorage, due: readonly string[], now: number): void {
  for (const name of due) {
    const query = PENDING[name];
    if (query !== undefined && first(sql, query)) scheduleWake(sql, name, now + RETRY_DELAY_MS);
    if (name === 'publish') scheduleWake(sql, name, now + RETRY_DELAY_MS);
  }
}

/** Long work is not waited for, so that a slow destination never holds up the alarm's other duties. */
export async function runTransportWake(
  name: string,
  database: Database,
  env: Env,
  ctx: DurableObjectState,
  now: () => number,
): Promise<void> {
  const mailbox = readMailbox(database.sql);
  if (!mailbox) return;
  const start = (work: Promise<unknown>) =>
    ctx.waitUntil(work.catch((error: unknown) => logError('transport_wake_failed', error, { wake: name })));
  switch (name) {
    case 'incoming':
      start(processIncoming(env, mailbox.userId));
      return;
    case 'outbox':
      start(sendDue(env, [mailbox.userId]));
      return;
    case 'report':
      start(sendReports(env, mailbox.userId));
      return;
    case 'prune_incoming':
      database.transaction(() => pruneIncoming(database.sql, now()));
      return;
    case 'publish':
      await publish(database, env, now);
      return;
  }
}

/** The operator's tables get to know this mailbox's numbers. Exact once it has run, however often it died before. */
async function publish(database: Database, env: Env, now: () => number): Promise<void> {
  const mailbox = readMailbox(database.sql);
  if (!mailbox) return;
  const snapshots = listUnpublished(database.sql, mailbox, PUBLISH_MAX);
  await publishLedger(env.DIRECTORY, mailbox.userId, readLedger(database.sql));
  if (snapshots.length > 0) await publishOutbox(env.DIRECTORY, snapshots, now());
  database.transaction(() => {
    database.sql.exec(`DELETE FROM wake WHERE name = 'publish' AND wake_at > ?`, now() + RETRY_DELAY_MS / 2);
    markPublished(database.sql, snapshots, now());
  });
}
