/**
 * The outbox: outgoing mail, with a state per recipient. A queue message is only a hint to look here. Each function runs inside the
 * caller's transaction. Leases and attempts are in `outbox-attempt-store.ts`.
 */
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';
import { recordChange } from '../database/change-store.ts';
import { addGarbage, first, scheduleWake } from '../database/store.ts';

export type OutboxKind = 'message' | 'forward' | 'vacation' | 'automatic' | 'report';

export interface NewOutboxMessage {
  readonly outboxId: string;
  readonly kind: OutboxKind;
  readonly headerMessageId: string | null;
  readonly rawKey: string;
  readonly ownsRaw: boolean;
  readonly sizeBytes: number;
  readonly bodyHash: string;
  readonly isEightBit: boolean;
  readonly envelopeFrom: string;
  readonly recipients: readonly { readonly email: string; readonly domain: string }[];
  /** Not sent before this time. A held message can be canceled. */
  readonly holdUntil: number;
}

/** The state of a recipient according to a report from another server. */
export interface ReportedOutcome {
  readonly email: string;
  readonly state: 'failed' | 'delivered';
  readonly reply: string;
}

const HOUR_MS = 3_600_000;
const SWEEP_DELAY_MS = 5_000;
/** Collects changes within a second into one update of the operator's tables. */
export const PUBLISH_DELAY_MS = 1_000;

/** Idempotent by `outboxId`. */
export function insertOutbox(sql: SqlStorage, message: NewOutboxMessage, messageId: string | null, now: number): void {
  if (first(sql, 'SELECT 1 AS known FROM outbox WHERE outbox_id = ?', message.outboxId)) return;
  sql.exec(
    `INSERT INTO outbox (outbox_id, kind, message_id, header_message_id, raw_key, owns_raw, size_bytes, body_hash,
       is_eight_bit, envelope_from, queued_at, hold_until)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    message.outboxId,
    message.kind,
    messageId,
    message.headerMessageId,
    message.rawKey,
    Number(message.ownsRaw),
    message.sizeBytes,
    message.bodyHash,
    Number(message.isEightBit),
    message.envelopeFrom,
    now,
    message.holdUntil,
  );
  const isHeld = message.holdUntil > now;
  for (const [ordinal, recipient] of message.recipients.entries()) {
    sql.exec(
      `INSERT INTO outbox_recipient (outbox_id, ordinal, email, domain, state, queued_at, next_attempt_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      message.outboxId,
      ordinal,
      recipient.email,
      recipient.domain,
      isHeld ? 'held' : 'queued',
      Math.max(now, message.holdUntil),
      Math.max(now, message.holdUntil),
    );
  }
  scheduleOutbox(sql);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
}

/**
 * Delays forwards and vacation replies beyond an hourly limit, so that a flood of incoming mail does not become a flood of
 * outgoing mail. @returns the earliest time to send.
 */
export function readAutomaticTurn(sql: SqlStorage, limitPerHour: number): number {
  const nth = first<{ at: number }>(
    sql,
    `SELECT max(queued_at, hold_until) AS at FROM outbox WHERE kind IN ('forward', 'vacation')
     ORDER BY at DESC LIMIT 1 OFFSET ?`,
    Math.max(0, limitPerHour - 1),
  );
  return nth ? nth.at + HOUR_MS : 0;
}

/** Releases raw bytes that only the outbox needed, once no recipient waits and every report is written. */
export function releaseRaw(sql: SqlStorage, outboxId: string, now: number): void {
  const row = first<{ raw_key: string; owns_raw: number; waiting: number }>(
    sql,
    `SELECT raw_key, owns_raw, (SELECT count(*) FROM outbox_recipient r WHERE r.outbox_id = o.outbox_id
       AND (r.next_attempt_at IS NOT NULL OR r.report_due IS NOT NULL)) AS waiting FROM outbox o WHERE outbox_id = ?`,
    outboxId,
  );
  if (!row || row.waiting > 0) return;
  // If the copy in Sent was erased while the message waited, its bytes are in the garbage and were kept until now.
  if (row.owns_raw === 1) addGarbage(sql, [row.raw_key], now);
  else scheduleWake(sql, 'garbage', now);
}

/** Marks the message as changed since the operator's tables were updated. */
export function touch(sql: SqlStorage, outboxId: string): void {
  sql.exec('UPDATE outbox SET version = version + 1 WHERE outbox_id = ?', outboxId);
}

/** Records a change of delivery for the copy in Sent. Automatic mail has no such copy. */
export function announceDelivery(sql: SqlStorage, outboxId: string, now: number): void {
  const copy = first<{ message_id: string; folder_id: string }>(
    sql,
    `SELECT m.message_id, f.folder_id FROM outbox o JOIN message m ON m.message_id = o.message_id
     JOIN folder f ON f.folder = m.folder WHERE o.outbox_id = ?`,
    outboxId,
  );
  if (copy) recordChange(sql, { type: 'delivery_updated', ...copy }, now);
}

export const isOutboxPending = (sql: SqlStorage): boolean =>
  first(sql, 'SELECT 1 AS pending FROM outbox_recipient WHERE next_attempt_at IS NOT NULL LIMIT 1') !== null;

/** Schedules a wake for when the next recipient is due or its lease expires. */
export function scheduleOutbox(sql: SqlStorage): void {
  const next = first<{ at: number | null }>(
    sql,
    'SELECT min(max(next_attempt_at, coalesce(lease_until, 0))) AS at FROM outbox_recipient WHERE next_attempt_at IS NOT NULL',
  )?.at;
  if (next) scheduleWake(sql, 'outbox', next + SWEEP_DELAY_MS / 5);
}

/** Cancels the recipients that are still held. @returns how many; null if the message is not in the outbox. */
export function cancelOutbox(sql: SqlStorage, messageId: string, now: number): number | null {
  const row = first<{ outbox_id: string }>(sql, 'SELECT outbox_id FROM outbox WHERE message_id = ?', messageId);
  return row ? cancelOutboxById(sql, row.outbox_id, now) : null;
}

/** The same for one of the submissions of a message. */
export function cancelOutboxById(sql: SqlStorage, outboxId: string, now: number): number {
  const { rowsWritten } = sql.exec(
    `UPDATE outbox_recipient SET state = 'canceled', next_attempt_at = NULL WHERE outbox_id = ? AND state = 'held'
     AND lease_until IS NULL AND next_attempt_at > ?`,
    outboxId,
    now,
  );
  if (rowsWritten === 0) return 0;
  touch(sql, outboxId);
  announceDelivery(sql, outboxId, now);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
  releaseRaw(sql, outboxId, now);
  return (
    first<{ count: number }>(
      sql,
      `SELECT count(*) AS count FROM outbox_recipient WHERE outbox_id = ? AND state = 'canceled'`,
      outboxId,
    )?.count ?? 0
  );
}

export interface RecipientRecord {
  readonly email: string;
  readonly state: RecipientState;
  readonly lastCode: number | null;
  readonly lastReply: string | null;
}

/** @returns the recipients of one outgoing message; empty if the outbox has forgotten it. */
export const listRecipientStates = (sql: SqlStorage, outboxId: string): RecipientRecord[] =>
  [
    ...sql.exec<{ email: string; state: RecipientState; last_code: number | null; last_reply: string | null }>(
      'SELECT email, state, last_code, last_reply FROM outbox_recipient WHERE outbox_id = ? ORDER BY ordinal',
      outboxId,
    ),
  ].map(({ email, state, last_code, last_reply }) => ({ email, state, lastCode: last_code, lastReply: last_reply }));

/**
 * Makes recipients due now: those that wait, or only the named ones. A failed recipient must be named. It restarts with another five days.
 * @param named addresses in lower case; null for all that wait.
 * @returns how many, and the names that are not recipients; null if the message is unknown.
 */
export function retryOutbox(
  sql: SqlStorage,
  outboxId: string,
  named: readonly string[] | null,
  now: number,
): { readonly count: number; readonly unknown: readonly string[] } | null {
  if (!first(sql, 'SELECT 1 AS here FROM outbox WHERE outbox_id = ?', outboxId)) return null;
  const recipients = [
    ...sql.exec<{ ordinal: number; email: string; state: RecipientState; is_leased: number }>(
      `SELECT ordinal, lower(email) AS email, state, lease_until IS NOT NULL AS is_leased FROM outbox_recipient WHERE outbox_id = ?`,
      outboxId,
    ),
  ];
  const unknown = (named ?? []).filter((email) => !recipients.some((each) => each.email === email));
  if (unknown.length > 0) return { count: 0, unknown };
  const chosen = recipients.filter(
    ({ email, state, is_leased }) =>
      is_leased === 0 &&
      (named === null || named.includes(email)) &&
      (state === 'deferred' || state === 'queued' || (state === 'failed' && named !== null)),
  );
  for (const { ordinal } of chosen) restartRecipient(sql, outboxId, ordinal, now);
  if (chosen.length > 0) sql.exec('UPDATE outbox SET warned_at = NULL WHERE outbox_id = ?', outboxId);
  touch(sql, outboxId);
  announceDelivery(sql, outboxId, now);
  scheduleOutbox(sql);
  return { count: chosen.length, unknown };
}

function restartRecipient(sql: SqlStorage, outboxId: string, ordinal: number, now: number): void {
  sql.exec(
    `UPDATE outbox_recipient SET state = 'queued', next_attempt_at = ?1, report_due = NULL, report_id = NULL,
       queued_at = CASE state WHEN 'failed' THEN ?1 ELSE queued_at END,
       attempts = CASE state WHEN 'failed' THEN 0 ELSE attempts END
     WHERE outbox_id = ?2 AND ordinal = ?3`,
    now,
    outboxId,
    ordinal,
  );
}

/** Applies a delivery report from another server. @returns false if it is about a message that is not in this outbox. */
export function applyReport(
  sql: SqlStorage,
  headerMessageId: string,
  reports: readonly ReportedOutcome[],
  now: number,
): boolean {
  const row = first<{ outbox_id: string }>(
    sql,
    'SELECT outbox_id FROM outbox WHERE header_message_id = ?',
    headerMessageId,
  );
  if (!row) return false;
  for (const report of reports) {
    sql.exec(
      `UPDATE outbox_recipient SET state = ?, last_reply = ?, last_attempt_at = ?
       WHERE outbox_id = ? AND lower(email) = ? AND state IN ('sent', 'delivered')`,
      report.state,
      report.reply,
      now,
      row.outbox_id,
      report.email,
    );
  }
  touch(sql, row.outbox_id);
  announceDelivery(sql, row.outbox_id, now);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
  return true;
}
