/**
 * Follow-up work of the outbox: reports to senders, and updates of the operator's tables. Both are marked in the transaction that makes
 * them due and cleared when done, so a crash in between only repeats them.
 */
import { first, type MailboxRow, type Row, scheduleWake } from '../database/store.ts';

export interface DueReport {
  /** The same for every repetition of a report. */
  readonly reportId: string;
  readonly userId: string;
  readonly outboxId: string;
  readonly action: 'failed' | 'delayed';
  readonly envelopeFrom: string;
  readonly headerMessageId: string | null;
  readonly rawKey: string;
  readonly queuedAt: number;
  readonly recipients: readonly {
    readonly email: string;
    readonly code: number | null;
    readonly reply: string;
    readonly isUncertain: boolean;
    readonly isExpired: boolean;
  }[];
}

/**
 * Assigns report ids before reports are written. Recipients that fail later belong to another report, so a repetition after a crash
 * makes the same report about the same recipients.
 */
function beginReports(sql: SqlStorage, limit: number): void {
  const due = sql.exec<Row>(
    `SELECT DISTINCT outbox_id, report_due FROM outbox_recipient WHERE report_due IS NOT NULL AND report_id IS NULL LIMIT ?`,
    limit,
  );
  for (const row of [...due]) {
    sql.exec(
      'UPDATE outbox_recipient SET report_id = ? WHERE outbox_id = ? AND report_due = ? AND report_id IS NULL',
      crypto.randomUUID(),
      row.outbox_id ?? null,
      row.report_due ?? null,
    );
  }
}

export const isReportDue = (sql: SqlStorage): boolean =>
  first(sql, 'SELECT 1 AS due FROM outbox_recipient WHERE report_due IS NOT NULL LIMIT 1') !== null;

export function listDueReports(sql: SqlStorage, mailbox: MailboxRow, limit: number): DueReport[] {
  beginReports(sql, limit);
  const due = [
    ...sql.exec<Row>(
      `SELECT DISTINCT r.report_id, r.outbox_id, r.report_due, o.envelope_from, o.header_message_id, o.raw_key, o.queued_at
       FROM outbox_recipient r JOIN outbox o ON o.outbox_id = r.outbox_id
       WHERE r.report_due IS NOT NULL AND r.report_id IS NOT NULL LIMIT ?`,
      limit,
    ),
  ];
  return due.map((row) => ({
    reportId: String(row.report_id),
    userId: mailbox.userId,
    outboxId: String(row.outbox_id),
    action: row.report_due as DueReport['action'],
    envelopeFrom: String(row.envelope_from),
    headerMessageId: row.header_message_id as string | null,
    rawKey: String(row.raw_key),
    queuedAt: Number(row.queued_at),
    recipients: [
      ...sql.exec<Row>(
        `SELECT email, last_code, last_reply, is_uncertain, is_expired FROM outbox_recipient
         WHERE outbox_id = ? AND report_id = ? ORDER BY ordinal`,
        row.outbox_id ?? null,
        row.report_id ?? null,
      ),
    ].map((recipient) => ({
      email: String(recipient.email),
      code: recipient.last_code as number | null,
      reply: String(recipient.last_reply ?? ''),
      isUncertain: recipient.is_uncertain === 1,
      isExpired: recipient.is_expired === 1,
    })),
  }));
}

/** Marks a report as delivered or not needed. Recipients that failed since then stay due. */
export function finishReport(sql: SqlStorage, report: DueReport, now: number): void {
  sql.exec(
    'UPDATE outbox_recipient SET report_due = NULL, report_id = NULL WHERE outbox_id = ? AND report_id = ?',
    report.outboxId,
    report.reportId,
  );
  if (report.action === 'delayed') {
    sql.exec('UPDATE outbox SET warned_at = ? WHERE outbox_id = ?', now, report.outboxId);
  }
}

/** A message of the outbox for the operator's tables: one entry per destination domain. */
export interface OutboxSnapshot {
  readonly outboxId: string;
  readonly userId: string;
  readonly version: number;
  readonly kind: string;
  readonly sizeBytes: number;
  readonly queuedAt: number;
  readonly destinations: readonly OutboxDestination[];
}

export interface OutboxDestination {
  readonly domain: string;
  readonly held: number;
  readonly queued: number;
  readonly deferred: number;
  readonly failed: number;
  /** The earliest time that a recipient is due; null if none waits. */
  readonly nextAttemptAt: number | null;
  readonly lastReply: string | null;
}

export function listUnpublished(sql: SqlStorage, mailbox: MailboxRow, limit: number): OutboxSnapshot[] {
  const rows = [
    ...sql.exec<Row>(
      `SELECT outbox_id, version, kind, size_bytes, queued_at FROM outbox WHERE published_version < version LIMIT ?`,
      limit,
    ),
  ];
  return rows.map((row) => ({
    outboxId: String(row.outbox_id),
    userId: mailbox.userId,
    version: Number(row.version),
    kind: String(row.kind),
    sizeBytes: Number(row.size_bytes),
    queuedAt: Number(row.queued_at),
    destinations: [
      ...sql.exec<Row>(
        `SELECT domain, sum(state = 'held') AS held, sum(state = 'queued') AS queued, sum(state = 'deferred') AS deferred,
           sum(state = 'failed') AS failed, min(next_attempt_at) AS next_attempt_at,
           max(CASE WHEN state IN ('queued', 'deferred', 'failed') THEN last_reply END) AS last_reply
         FROM outbox_recipient WHERE outbox_id = ? GROUP BY domain`,
        row.outbox_id ?? null,
      ),
    ].map((group) => ({
      domain: String(group.domain),
      held: Number(group.held),
      queued: Number(group.queued),
      deferred: Number(group.deferred),
      failed: Number(group.failed),
      nextAttemptAt: group.next_attempt_at as number | null,
      lastReply: group.last_reply as string | null,
    })),
  }));
}

/** Records the versions that the operator's tables have. */
export function markPublished(
  sql: SqlStorage,
  seen: readonly { outboxId: string; version: number }[],
  now: number,
): void {
  for (const { outboxId, version } of seen) {
    sql.exec('UPDATE outbox SET published_version = max(published_version, ?) WHERE outbox_id = ?', version, outboxId);
  }
  const more = [...sql.exec('SELECT 1 AS more FROM outbox WHERE published_version < version LIMIT 1')];
  if (more.length > 0) scheduleWake(sql, 'publish', now + 1_000);
}
