/**
 * Delivery attempts: leases of recipients, and their outcomes. Each function runs inside the caller's transaction. `outbound/domain`
 * decides the next state of a recipient.
 */
import {
  type AttemptOutcome,
  decideProgress,
  type RetryPolicy,
} from '../../../workers/mail/outbound/domain/recipient-state.ts';
import { first, type MailboxRow, type Row, scheduleWake } from '../database/store.ts';
import {
  announceDelivery,
  type OutboxKind,
  PUBLISH_DELAY_MS,
  releaseRaw,
  scheduleOutbox,
  touch,
} from './outbox-store.ts';

/** A message, and the recipients that the caller must attempt now. */
export interface OutboxJob {
  readonly userId: string;
  readonly outboxId: string;
  readonly kind: OutboxKind;
  readonly leaseId: string;
  readonly messageId: string | null;
  readonly headerMessageId: string | null;
  readonly rawKey: string;
  readonly sizeBytes: number;
  readonly bodyHash: string;
  readonly isEightBit: boolean;
  readonly envelopeFrom: string;
  readonly queuedAt: number;
  /** JSON; null until the checks have passed the message. */
  readonly verdicts: string | null;
  readonly recipients: readonly { readonly ordinal: number; readonly email: string; readonly domain: string }[];
}

export interface RecipientOutcome {
  readonly ordinal: number;
  readonly outcome: AttemptOutcome;
}

/** The reply recorded for an attempt whose worker died. It is retried soon. */
const INTERRUPTED = 'The attempt was interrupted on our side. The message may have arrived.';

/** Leases the recipients that are due. An expired lease counts as an attempt with unknown outcome. */
export function claimOutbox(
  sql: SqlStorage,
  mailbox: MailboxRow,
  options: {
    readonly limit: number;
    readonly leaseMs: number;
    readonly leaseId: string;
    readonly policy: RetryPolicy;
    readonly jitter: number;
  },
  now: number,
): OutboxJob[] {
  endInterrupted(sql, options, now);
  const ids = [
    ...sql.exec<{ outbox_id: string }>(
      `SELECT outbox_id, min(next_attempt_at) AS due FROM outbox_recipient WHERE next_attempt_at <= ? AND lease_until IS NULL
       GROUP BY outbox_id ORDER BY due LIMIT ?`,
      now,
      options.limit,
    ),
  ].map((row) => row.outbox_id);
  const jobs = ids.flatMap((outboxId) => claimMessage(sql, mailbox, outboxId, options, now));
  scheduleOutbox(sql);
  if (jobs.length > 0) scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
  return jobs;
}

function endInterrupted(sql: SqlStorage, options: { policy: RetryPolicy; jitter: number }, now: number): void {
  const rows = [
    ...sql.exec<{ outbox_id: string; ordinal: number }>(
      'SELECT outbox_id, ordinal FROM outbox_recipient WHERE next_attempt_at IS NOT NULL AND lease_until <= ?',
      now,
    ),
  ];
  for (const row of rows) {
    recordAttempt(sql, row.outbox_id, row.ordinal, { kind: 'unknown', reply: INTERRUPTED }, options, now);
  }
  for (const outboxId of new Set(rows.map((row) => row.outbox_id))) announceDelivery(sql, outboxId, now);
}

function claimMessage(
  sql: SqlStorage,
  mailbox: MailboxRow,
  outboxId: string,
  options: { readonly leaseMs: number; readonly leaseId: string },
  now: number,
): OutboxJob[] {
  const row = first<Row>(
    sql,
    `SELECT kind, message_id, header_message_id, raw_key, size_bytes, body_hash, is_eight_bit, envelope_from, queued_at,
       verdicts FROM outbox WHERE outbox_id = ?`,
    outboxId,
  );
  if (!row) return [];
  const recipients = [
    ...sql.exec<{ ordinal: number; email: string; domain: string }>(
      `SELECT ordinal, email, domain FROM outbox_recipient
       WHERE outbox_id = ? AND next_attempt_at <= ? AND lease_until IS NULL ORDER BY ordinal`,
      outboxId,
      now,
    ),
  ];
  sql.exec(
    `UPDATE outbox_recipient SET lease_until = ?, lease_id = ?, state = CASE state WHEN 'held' THEN 'queued' ELSE state END
     WHERE outbox_id = ? AND next_attempt_at <= ? AND lease_until IS NULL`,
    now + options.leaseMs,
    options.leaseId,
    outboxId,
    now,
  );
  touch(sql, outboxId);
  return [
    {
      userId: mailbox.userId,
      outboxId,
      kind: row.kind as OutboxKind,
      leaseId: options.leaseId,
      messageId: row.message_id as string | null,
      headerMessageId: row.header_message_id as string | null,
      rawKey: String(row.raw_key),
      sizeBytes: Number(row.size_bytes),
      bodyHash: String(row.body_hash),
      isEightBit: row.is_eight_bit === 1,
      envelopeFrom: String(row.envelope_from),
      queuedAt: Number(row.queued_at),
      verdicts: row.verdicts as string | null,
      recipients,
    },
  ];
}

/** Records that the checks passed the message. */
export function saveVerdicts(sql: SqlStorage, outboxId: string, verdicts: string): void {
  sql.exec('UPDATE outbox SET verdicts = ? WHERE outbox_id = ?', verdicts, outboxId);
}

/** Releases recipients that were not attempted, such as those of a destination on hold. Does not count as an attempt. */
export function releaseRecipients(
  sql: SqlStorage,
  outboxId: string,
  leaseId: string,
  ordinals: readonly number[],
  until: number,
  reason: string,
): void {
  for (const ordinal of ordinals) {
    sql.exec(
      `UPDATE outbox_recipient SET lease_until = NULL, lease_id = NULL, next_attempt_at = ?, last_reply = ?
       WHERE outbox_id = ? AND ordinal = ? AND lease_id = ?`,
      until,
      reason,
      outboxId,
      ordinal,
      leaseId,
    );
  }
  touch(sql, outboxId);
  scheduleOutbox(sql);
}

/** Records outcomes of delivery attempts. Skips recipients whose lease was lost; another worker holds them. */
export function recordOutcomes(
  sql: SqlStorage,
  outboxId: string,
  leaseId: string,
  outcomes: readonly RecipientOutcome[],
  options: { readonly policy: RetryPolicy; readonly jitter: number },
  now: number,
): void {
  for (const { ordinal, outcome } of outcomes) {
    const isOurs = first(
      sql,
      'SELECT 1 AS ours FROM outbox_recipient WHERE outbox_id = ? AND ordinal = ? AND lease_id = ?',
      outboxId,
      ordinal,
      leaseId,
    );
    if (isOurs) recordAttempt(sql, outboxId, ordinal, outcome, options, now);
  }
  announceDelivery(sql, outboxId, now);
  scheduleOutbox(sql);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
}

function recordAttempt(
  sql: SqlStorage,
  outboxId: string,
  ordinal: number,
  outcome: AttemptOutcome,
  { policy, jitter }: { readonly policy: RetryPolicy; readonly jitter: number },
  now: number,
): void {
  const before = first<{ attempts: number; queued_at: number; is_uncertain: number; warned: number }>(
    sql,
    `SELECT r.attempts, r.queued_at, r.is_uncertain, o.warned_at IS NOT NULL AS warned
     FROM outbox_recipient r JOIN outbox o ON o.outbox_id = r.outbox_id WHERE r.outbox_id = ? AND r.ordinal = ?`,
    outboxId,
    ordinal,
  );
  if (!before) return;
  const progress = decideProgress(
    { attempts: before.attempts, queuedAt: before.queued_at, isUncertain: before.is_uncertain === 1 },
    outcome,
    now,
    jitter,
    policy,
  );
  const isLate = progress.state === 'deferred' && before.warned === 0 && now - before.queued_at >= policy.warnAfterMs;
  const reportDue = progress.state === 'failed' ? 'failed' : isLate ? 'delayed' : null;
  sql.exec(
    `UPDATE outbox_recipient SET state = ?, attempts = ?, next_attempt_at = ?, lease_until = NULL, lease_id = NULL,
       last_code = ?, last_reply = ?, last_attempt_at = ?, is_uncertain = ?, is_expired = ?, report_due = ?, report_id = NULL
     WHERE outbox_id = ? AND ordinal = ?`,
    progress.state,
    progress.attempts,
    progress.nextAttemptAt,
    progress.lastCode,
    progress.lastReply,
    now,
    Number(progress.isUncertain),
    Number(progress.isExpired),
    reportDue,
    outboxId,
    ordinal,
  );
  if (reportDue !== null) scheduleWake(sql, 'report', now);
  touch(sql, outboxId);
  releaseRaw(sql, outboxId, now);
}
