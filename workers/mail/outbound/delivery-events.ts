/**
 * Consumes the delivery events of Cloudflare Email Service. Each event is about one recipient of a message that the service accepted;
 * the envelope sender leads to the mailbox, and the id of the message to the recipient.
 *
 * By design, an event of an unknown id is counted and is never an error: other programs may send from the same domain. An event may be
 * faster than the record of the attempt, so an unknown one is first tried again.
 */

import { createHash } from 'node:crypto';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { countEvent } from '../../shared/telemetry/counters.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import { type DeliveryEvent, parseDeliveryEvent } from '../domain/delivery-event.ts';
import { listReceivers } from '../domain/email-address.ts';
import { parseMailPath } from '../domain/mail-path.ts';
import { readDaemonAddress, readReturnPath } from '../domain/return-path.ts';
import type { Standing } from '../domain/send-limit.ts';
import { findMainDomain } from '../domains/hosted-domains.ts';
import { readReturnPathSigners } from '../domains/return-path-keys.ts';
import { recordComplaint, recordHold } from '../store/complaint-store.ts';
import { findRecipient } from '../store/recipient-store.ts';
import { recordEvent } from '../store/sending-problem-store.ts';

/** Delays before an unknown event is tried again. The record of an attempt follows its end within a second or two. */
const UNKNOWN_DELAYS_SECONDS = [5, 20];
const FAILED_DELAY_SECONDS = 30;

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1);

type Outcome = 'applied' | 'unchanged' | 'unknown' | 'malformed';

export async function consumeDeliveryEvents(env: Env, batch: MessageBatch): Promise<void> {
  // One after another, because events of one recipient often come in one batch.
  for (const message of batch.messages) {
    try {
      await consume(env, message);
    } catch (error) {
      // The mailbox or a database could not be reached.
      logError('delivery_event_failed', error);
      message.retry({ delaySeconds: FAILED_DELAY_SECONDS });
    }
  }
}

async function consume(env: Env, message: Message): Promise<void> {
  const event = parseDeliveryEvent(message.body);
  const outcome = event === null ? 'malformed' : await apply(env, event);
  const delaySeconds = UNKNOWN_DELAYS_SECONDS[message.attempts - 1];
  if (outcome === 'unknown' && delaySeconds !== undefined) return message.retry({ delaySeconds });
  message.ack();
  countEvent(env, event?.kind ?? 'malformed', outcome);
  logInfo('delivery_event_finished', { kind: event?.kind ?? null, outcome });
}

async function apply(env: Env, event: DeliveryEvent): Promise<Outcome> {
  const userId = await findSender(env, event.sender);
  if (userId === null) return 'unknown';
  const applied = await openMailbox(env, userId).applyEvent(event, readTransportSettings(env).retry);
  if (!applied.ok) return 'unknown';
  const { outcome, standing } = applied.value;
  if (outcome === 'applied') await recordEvent(env.DIRECTORY, domainOf(event.sender));
  if (standing !== null) await reportComplaint(env, userId, event, standing);
  return outcome;
}

/** Shows a complaint to the operator, and raises an alarm if the mail of the account is held because of it. */
async function reportComplaint(env: Env, userId: string, event: DeliveryEvent, standing: Standing): Promise<void> {
  const database = userDatabaseOf(env, userId);
  const complaint = { userId, domain: domainOf(event.sender), at: createClock(env)() };
  const errorId = `complaint:${createHash('sha256').update(event.reference).digest('hex')}`;
  await recordComplaint(database, { ...complaint, errorId });
  if (standing !== 'held') return;
  await recordHold(database, complaint);
  logError('account_sending_held', new Error('recipients complained about mail of this account'), { user_id: userId });
}

/** @returns the user whose mailbox sent mail from an envelope sender; null if there is none. */
async function findSender(env: Env, sender: string): Promise<string | null> {
  const path = parseMailPath(sender);
  if (!path) return null;
  const reporting = readDaemonAddress(path);
  if (reporting !== null) return reporting;
  const main = await findMainDomain(env, path.domain);
  if (main === null) return null;
  const returned = readReturnPath(path, createClock(env)(), readReturnPathSigners(env));
  const emails = returned ? [returned.owner] : listReceivers(path, main);
  return (await findRecipient(env, emails))?.userId ?? null;
}
