/**
 * Accepted mail that has no outcome yet. The row backs the reply "250": it is written before the reply and stays until the message
 * is stored in a folder or in quarantine, or refused. Each function runs inside the caller's transaction.
 */
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { addGarbage, first, type MailboxRow, type Row, scheduleWake } from '../database/store.ts';

export interface IncomingMessage {
  readonly incomingId: string;
  /** Identifies content and envelope: a retry has the same key. */
  readonly contentKey: string;
  readonly rawKey: string;
  readonly sizeBytes: number;
  readonly envelopeFrom: string;
  readonly envelopeTo: string;
  readonly clientIp: string | null;
  readonly helo: string | null;
  readonly origin: 'smtp' | 'local';
  /** JSON. */
  readonly verdicts: string | null;
}

export interface ClaimedIncoming extends IncomingMessage {
  readonly userId: string;
  readonly acceptedAt: number;
  readonly attempts: number;
}

/** `refused`: it cannot be stored, because the mailbox was erased. */
export const INCOMING_OUTCOMES = ['inbox', 'junk', 'folder', 'quarantine', 'refused'] as const;
export type IncomingOutcome = (typeof INCOMING_OUTCOMES)[number];

export interface IncomingEnd {
  readonly outcome: IncomingOutcome;
  readonly messageId: string | null;
  readonly detail: string | null;
}

export interface IncomingLedger {
  readonly accepted: number;
  readonly pending: number;
  readonly oldestPendingAt: number | null;
  /** Pending messages whose last attempt failed: a scanner or store did not answer. */
  readonly deferred: number;
  readonly outcomes: Readonly<Record<IncomingOutcome, number>>;
}

/** A hint normally arrives within two seconds. Mail without a hint is processed after this delay. */
const SWEEP_DELAY_MS = 5_000;
/** Collects changes within a second into one update of the operator's tables. */
const PUBLISH_DELAY_MS = 1_000;
const RETRY_DELAY_MS_MAX = 15 * 60_000;
/** How long a finished row is kept to recognise a sender's retry. Senders give up earlier. */
const KEPT_MS = 30 * 24 * 3_600_000;

/** @returns `duplicate` if the same message was accepted before: nothing is written and its raw bytes are not needed. */
export function acceptIncoming(
  sql: SqlStorage,
  mailbox: MailboxRow,
  message: IncomingMessage,
  now: number,
): Result<{ duplicate: boolean; isAlone: boolean }, { kind: 'over_quota' }> {
  if (first(sql, 'SELECT 1 AS known FROM incoming WHERE content_key = ?', message.contentKey))
    return ok({ duplicate: true, isAlone: false });
  const pending = first<{ bytes: number }>(
    sql,
    'SELECT coalesce(sum(size_bytes), 0) AS bytes FROM incoming WHERE next_attempt_at IS NOT NULL',
  );
  if (mailbox.usedBytes + (pending?.bytes ?? 0) + message.sizeBytes > mailbox.limitBytes)
    return err({ kind: 'over_quota' });
  // A worker continues until nothing is due. If another message waits for its first claim, the hint sent for it serves both.
  const isAlone = !first(
    sql,
    'SELECT 1 AS due FROM incoming WHERE next_attempt_at <= ? AND lease_until IS NULL AND attempts = 0 LIMIT 1',
    now,
  );
  sql.exec(
    `INSERT INTO incoming (incoming_id, content_key, accepted_at, raw_key, size_bytes, envelope_from, envelope_to,
       client_ip, helo, origin, verdicts, next_attempt_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    message.incomingId,
    message.contentKey,
    now,
    message.rawKey,
    message.sizeBytes,
    message.envelopeFrom,
    message.envelopeTo,
    message.clientIp,
    message.helo,
    message.origin,
    message.verdicts,
    now,
  );
  addToTotal(sql, 'accepted');
  scheduleWake(sql, 'incoming', now + SWEEP_DELAY_MS);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
  scheduleWake(sql, 'prune_incoming', now + KEPT_MS);
  return ok({ duplicate: false, isAlone });
}

function addToTotal(sql: SqlStorage, outcome: string): void {
  sql.exec(
    'INSERT INTO incoming_total (outcome, count) VALUES (?, 1) ON CONFLICT (outcome) DO UPDATE SET count = count + 1',
    outcome,
  );
}

/**
 * Leases messages that are due. No other caller gets them until the lease expires. Messages with the fewest attempts come first, so
 * that a message which crashes its worker delays no other.
 * @param leaseMs how long the caller may work on them.
 */
export function claimIncoming(
  sql: SqlStorage,
  mailbox: MailboxRow,
  limit: number,
  leaseMs: number,
  now: number,
): ClaimedIncoming[] {
  const due = [
    ...sql.exec<IncomingRow>(
      `SELECT ${INCOMING_COLUMNS}
       FROM incoming WHERE next_attempt_at <= ?1 AND (lease_until IS NULL OR lease_until <= ?1)
       ORDER BY attempts, next_attempt_at LIMIT ?2`,
      now,
      limit,
    ),
  ];
  for (const row of due) {
    sql.exec(
      'UPDATE incoming SET lease_until = ?, attempts = attempts + 1 WHERE incoming_id = ?',
      now + leaseMs,
      row.incoming_id,
    );
  }
  scheduleSweep(sql);
  return due.map((row) => toClaimed(row, mailbox, row.attempts + 1));
}

const INCOMING_COLUMNS = `incoming_id, content_key, raw_key, size_bytes, envelope_from, envelope_to, client_ip, helo, origin,
  verdicts, accepted_at, attempts`;

interface IncomingRow extends Row {
  incoming_id: string;
  content_key: string;
  raw_key: string;
  size_bytes: number;
  envelope_from: string;
  envelope_to: string;
  client_ip: string | null;
  helo: string | null;
  origin: IncomingMessage['origin'];
  verdicts: string | null;
  accepted_at: number;
  attempts: number;
}

const toClaimed = (row: IncomingRow, { userId }: MailboxRow, attempts: number): ClaimedIncoming => ({
  incomingId: row.incoming_id,
  contentKey: row.content_key,
  rawKey: row.raw_key,
  sizeBytes: row.size_bytes,
  envelopeFrom: row.envelope_from,
  envelopeTo: row.envelope_to,
  clientIp: row.client_ip,
  helo: row.helo,
  origin: row.origin,
  verdicts: row.verdicts,
  userId,
  acceptedAt: row.accepted_at,
  attempts,
});

/** Records the outcome of a message. Idempotent. */
export function finishIncoming(sql: SqlStorage, incomingId: string, end: IncomingEnd, now: number): void {
  const row = first<{ outcome: string | null; raw_key: string }>(
    sql,
    'SELECT outcome, raw_key FROM incoming WHERE incoming_id = ?',
    incomingId,
  );
  if (!row || (row.outcome !== null && row.outcome !== 'quarantine') || row.outcome === end.outcome) return;
  sql.exec(
    `UPDATE incoming SET outcome = ?, message_id = ?, detail = ?, finished_at = ?, next_attempt_at = NULL, lease_until = NULL
     WHERE incoming_id = ?`,
    end.outcome,
    end.messageId,
    end.detail,
    now,
    incomingId,
  );
  if (row.outcome === 'quarantine')
    sql.exec(`UPDATE incoming_total SET count = count - 1 WHERE outcome = 'quarantine'`);
  if (end.outcome === 'refused') addGarbage(sql, [row.raw_key], now);
  addToTotal(sql, end.outcome);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
}

/** Schedules a retry with exponential backoff. Retries never end. */
export function deferIncoming(
  sql: SqlStorage,
  incomingId: string,
  reason: string,
  firstDelayMs: number,
  now: number,
): void {
  const attempts = first<{ attempts: number }>(sql, 'SELECT attempts FROM incoming WHERE incoming_id = ?', incomingId);
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min((attempts?.attempts ?? 1) - 1, 20), RETRY_DELAY_MS_MAX);
  sql.exec(
    `UPDATE incoming SET next_attempt_at = ?, lease_until = NULL, detail = ? WHERE incoming_id = ? AND outcome IS NULL`,
    now + delayMs,
    reason.slice(0, 500),
    incomingId,
  );
  scheduleSweep(sql);
  scheduleWake(sql, 'publish', now + PUBLISH_DELAY_MS);
}

/** @returns null if the message is not in quarantine. */
export function readQuarantined(sql: SqlStorage, mailbox: MailboxRow, incomingId: string): ClaimedIncoming | null {
  const row = first<IncomingRow>(
    sql,
    `SELECT ${INCOMING_COLUMNS} FROM incoming WHERE incoming_id = ? AND outcome = 'quarantine'`,
    incomingId,
  );
  return row && toClaimed(row, mailbox, row.attempts);
}

export function readLedger(sql: SqlStorage): IncomingLedger {
  const totals = new Map(
    [...sql.exec<{ outcome: string; count: number }>('SELECT outcome, count FROM incoming_total')].map((row) => [
      row.outcome,
      row.count,
    ]),
  );
  const pending = first<{ count: number; deferred: number; oldest: number | null }>(
    sql,
    `SELECT count(*) AS count, coalesce(sum(detail IS NOT NULL), 0) AS deferred, min(accepted_at) AS oldest
     FROM incoming WHERE next_attempt_at IS NOT NULL`,
  );
  return {
    accepted: totals.get('accepted') ?? 0,
    pending: pending?.count ?? 0,
    oldestPendingAt: pending?.oldest ?? null,
    deferred: pending?.deferred ?? 0,
    outcomes: Object.fromEntries(
      INCOMING_OUTCOMES.map((outcome) => [outcome, totals.get(outcome) ?? 0]),
    ) as IncomingLedger['outcomes'],
  };
}

/** Deletes finished rows that are too old for a sender's retry. Keeps those in quarantine. */
export function pruneIncoming(sql: SqlStorage, now: number): void {
  sql.exec(`DELETE FROM incoming WHERE finished_at < ? AND outcome <> 'quarantine'`, now - KEPT_MS);
  const oldest = first<{ at: number | null }>(
    sql,
    `SELECT min(finished_at) AS at FROM incoming WHERE outcome <> 'quarantine'`,
  )?.at;
  if (oldest) scheduleWake(sql, 'prune_incoming', oldest + KEPT_MS);
}

export const isIncomingPending = (sql: SqlStorage): boolean =>
  first(sql, 'SELECT 1 AS pending FROM incoming WHERE next_attempt_at IS NOT NULL LIMIT 1') !== null;

/** Schedules a wake for when the next row is due or its lease expires. */
export function scheduleSweep(sql: SqlStorage): void {
  const next = first<{ at: number | null }>(
    sql,
    'SELECT min(max(next_attempt_at, coalesce(lease_until, 0))) AS at FROM incoming WHERE next_attempt_at IS NOT NULL',
  )?.at;
  if (next) scheduleWake(sql, 'incoming', next + SWEEP_DELAY_MS / 5);
}
