/**
 * Stores news about messages that another server accepted: delivery reports (RFC 3464), and delivery events of Cloudflare Email
 * Service. Each function runs inside the caller's transaction.
 *
 * By design, nothing here makes a recipient due, so no report and no event can send a message a second time.
 */
import {
  ACCEPTED,
  type AcceptedDelivery,
  type DeliveryEvent,
  applyDeliveryEvent as decideDelivery,
} from '../../../workers/mail/domain/delivery-event.ts';
import type { RecipientState, RetryPolicy } from '../../../workers/mail/domain/recipient-state.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { DeliveryState } from '../contract/messages.ts';
import type { AppliedEvent, ReportedOutcome } from '../contract/outbox.ts';
import { executeFirst, first } from '../database/store.ts';
import { readSaved, saveDelivery, saveSubmissionDelivery } from '../messages/delivery-state-store.ts';
import { countComplaint, countFailures, readStanding } from '../rules/send-limit-store.ts';
import {
  announceDelivery,
  findOutboxByHeader,
  type OutboxMessage,
  type OutboxRecipient,
  readOutbox,
  reinsertOutbox,
  saveOutbox,
} from './outbox-store.ts';
import type { acceptedRecipient } from './schema.ts';

/**
 * Applies a delivery report from another server.
 * @returns false if the report is about a message that was not sent from this mailbox.
 */
export function applyReport(
  sql: SqlStorage,
  headerMessageId: string,
  reports: readonly ReportedOutcome[],
  now: number,
): boolean {
  const message = findOutboxByHeader(sql, headerMessageId);
  const position = message ? message.position : findSent(sql, headerMessageId);
  if (!message && position === null) return false;
  let failures = 0;
  const apply = <T extends DeliveryState>(each: T): T => {
    const report = reports.find(({ email }) => email === each.email.toLowerCase());
    if (!report || (each.state !== 'sent' && each.state !== 'delivered')) return each;
    if (report.state === 'failed') failures += 1;
    return { ...each, state: report.state as RecipientState, lastReply: report.reply };
  };
  if (message) saveOutbox(sql, { ...message, recipients: message.recipients.map(apply) }, now);
  else if (position !== null) saveDelivery(sql, position, readSaved(sql, position).map(apply));
  if (failures > 0) countFailures(sql, failures, now);
  announceDelivery(sql, position, now);
  return true;
}

/** Finds a copy in Sent by its Message-ID. Searches only the thread of that Message-ID. */
const findSent = (sql: SqlStorage, headerMessageId: string): number | null =>
  first<{ position: number }>(
    sql,
    `SELECT m.position FROM thread_reference AS r CROSS JOIN message AS m ON m.thread = r.thread
     WHERE r.reference = ?1 AND m.header_message_id = ?1 AND m.delivery IS NOT NULL LIMIT 1`,
    headerMessageId,
  )?.position ?? null;

type AcceptedRow = RowOf<typeof acceptedRecipient>;

const insertAccepted = statement<{ day: number; reference: string; delivery: string; message: string }>(
  'INSERT OR REPLACE INTO accepted_recipient (day, reference, delivery, message) VALUES (:day, :reference, :delivery, :message)',
);
const findAccepted = statement<{ days: string; reference: string }, AcceptedRow>(
  `SELECT day, reference, delivery, message FROM accepted_recipient
   WHERE day IN (SELECT value FROM json_each(:days)) AND reference = :reference`,
);
const saveAccepted = statement<{ day: number; reference: string; delivery: string }>(
  'UPDATE accepted_recipient SET delivery = :delivery WHERE day = :day AND reference = :reference',
);

const DAY_MS = 24 * 3_600_000;
/** Days for which an accepted recipient is kept. Cloudflare tries for less long, and complaints come within days. */
const DAYS_KEPT = 14;
export const toDay = (at: number): number => Math.floor(at / DAY_MS);

const countSince = statement<{ day: number }, { count: number }>(
  'SELECT count(*) AS count FROM accepted_recipient WHERE day >= :day',
);

/** Counts the recipients that a transport accepted since the beginning of a day. */
export const countAccepted = (sql: SqlStorage, day: number): number =>
  executeFirst(sql, countSince, { day })?.count ?? 0;

/** Records that a transport accepted a message for a recipient, so that its events find them. */
export function addAccepted(
  sql: SqlStorage,
  message: OutboxMessage,
  { recipient, reference }: { readonly recipient: OutboxRecipient; readonly reference: string },
  now: number,
): void {
  execute(sql, insertAccepted, {
    day: toDay(now),
    reference,
    delivery: JSON.stringify(ACCEPTED),
    // A retry by the operator checks the message again, so the verdicts are not needed.
    message: JSON.stringify({ ...message, verdicts: null, recipients: [recipient] }),
  });
}

/** Applies a delivery event to the recipient that it is about. Idempotent, in any order of the events. */
export function applyEvent(sql: SqlStorage, event: DeliveryEvent, policy: RetryPolicy, now: number): AppliedEvent {
  const days = Array.from({ length: DAYS_KEPT + 2 }, (_, age) => toDay(now) + 1 - age);
  const row = executeFirst(sql, findAccepted, { days: JSON.stringify(days), reference: event.reference });
  if (!row) return { outcome: 'unknown', standing: null };
  const before = JSON.parse(row.delivery) as AcceptedDelivery;
  const after = decideDelivery(before, event);
  const isComplaint = event.kind === 'complained';
  if (after === null) return { outcome: 'unchanged', standing: isComplaint ? readStanding(sql, now) : null };
  execute(sql, saveAccepted, { day: row.day, reference: row.reference, delivery: JSON.stringify(after) });
  if (isComplaint) return { outcome: 'applied', standing: countComplaint(sql, now) };
  const message = JSON.parse(row.message) as OutboxMessage;
  const [recipient] = message.recipients;
  const isApplied =
    recipient !== undefined &&
    updateRecipient(sql, message, toReported(message, recipient, { ...event, state: after.state }, policy), now);
  return { outcome: isApplied ? 'applied' : 'unchanged', standing: null };
}

/** A sender whose mail is still delayed after some hours is warned, as by SMTP. */
function toReported(
  { queuedAt }: OutboxMessage,
  recipient: OutboxRecipient,
  { state, at, code, reply }: Pick<AcceptedDelivery, 'state'> & Pick<DeliveryEvent, 'at' | 'code' | 'reply'>,
  { warnAfterMs }: RetryPolicy,
): OutboxRecipient {
  const isLate = state === 'sent' && at - Math.max(queuedAt, recipient.queuedAt) >= warnAfterMs;
  const due = state === 'failed' ? 'failed' : isLate ? 'delayed' : null;
  return {
    ...{ ...recipient, state, lastCode: code, lastReply: reply },
    report: due === null ? null : { due, id: null },
  };
}

/**
 * Writes what an event says to the outbox row, or to the copy in Sent if there is no such row.
 * @param message as it was when the transport accepted it.
 * @returns false if the recipient is no longer in state `sent`: a report was faster, or the operator retried the recipient.
 */
function updateRecipient(sql: SqlStorage, message: OutboxMessage, reported: OutboxRecipient, now: number): boolean {
  const { outboxId, position, kind } = message;
  const waiting = readOutbox(sql, outboxId);
  const known = waiting?.recipients.find(({ ordinal }) => ordinal === reported.ordinal);
  const saved = position === null ? undefined : readSaved(sql, position).find(({ email }) => email === reported.email);
  const isStale = known ? known.state !== 'sent' || known.lastAttemptAt !== reported.lastAttemptAt : isReplaced(saved);
  if (isStale) return false;
  const isWarned = waiting ? waiting.warnedAt !== null : message.warnedAt !== null;
  const report = reported.report?.due === 'delayed' && isWarned ? null : reported.report;
  const recipient = { ...reported, report };
  if (waiting) {
    const others = waiting.recipients.filter(({ ordinal }) => ordinal !== recipient.ordinal);
    const recipients = [...others, recipient].sort((a, b) => a.ordinal - b.ordinal);
    saveOutbox(sql, { ...waiting, recipients }, now);
  } else {
    if (report !== null) reinsertOutbox(sql, { ...message, recipients: [recipient] }, now);
    if (position !== null) saveDelivery(sql, position, [recipient]);
    saveSubmissionDelivery(sql, outboxId, [recipient]);
  }
  if (recipient.state === 'failed' && kind === 'message') countFailures(sql, 1, now);
  announceDelivery(sql, position, now);
  return true;
}

const isReplaced = (saved: DeliveryState | undefined): boolean => saved !== undefined && saved.state !== 'sent';

const pruneBefore = statement<{ day: number }>('DELETE FROM accepted_recipient WHERE day < :day');

/** Query of the time at which the oldest accepted recipients are deleted. */
export const NEXT_ACCEPTED_END = `SELECT (min(day) + ${DAYS_KEPT + 1}) * ${DAY_MS} FROM accepted_recipient`;

export const pruneAccepted = (sql: SqlStorage, now: number): void =>
  void execute(sql, pruneBefore, { day: toDay(now) - DAYS_KEPT });
