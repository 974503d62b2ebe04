/**
 * Accepted mail that has no outcome yet. The row of a message is written before the reply "250". It is removed once the message is
 * stored in a folder or refused, and stays while the message is in quarantine. Each function runs inside the caller's transaction.
 */
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import { toDeliveryKey } from '../contract/delivered-message.ts';
import type { ClaimedIncoming, IncomingEnd, IncomingLedger, IncomingMessage } from '../contract/incoming.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import type { Leases } from '../database/memory.ts';
import { addGarbage, executeFirst, first } from '../database/store.ts';
import { findDelivery } from './arrival-store.ts';
import type { incoming } from './schema.ts';

const RETRY_DELAY_MS_MAX = 15 * 60_000;

type IncomingRow = RowOf<typeof incoming>;

const findKnown = statement<{ contentKey: string }, { known: number }>(
  'SELECT 1 AS known FROM incoming WHERE content_key = :contentKey',
);
/**
 * Records an accepted message.
 * @returns `duplicate` if the same message was accepted before. Nothing is written then, and the new raw bytes are not needed.
 */
export function acceptIncoming(
  sql: SqlStorage,
  mailbox: MailboxRow,
  message: IncomingMessage,
  now: number,
): Result<{ duplicate: boolean }, { kind: 'over_quota' }> {
  const { contentKey, rawSha256 } = message;
  const known =
    executeFirst(sql, findKnown, { contentKey }) ??
    findDelivery(sql, { origin: 'received', rawSha256, deliveryKey: toDeliveryKey(contentKey) });
  if (known) return ok({ duplicate: true });
  const pending = first<{ bytes: number }>(
    sql,
    'SELECT coalesce(sum(size_bytes), 0) AS bytes FROM incoming WHERE next_attempt_at IS NOT NULL',
  );
  if (mailbox.usedBytes + (pending?.bytes ?? 0) + message.sizeBytes > mailbox.limitBytes)
    return err({ kind: 'over_quota' });
  sql.exec(
    `INSERT INTO incoming (incoming_id, content_key, accepted_at, raw_key, size_bytes, envelope_from, envelope_to, delivered_to,
       client_ip, helo, origin, verdicts, next_attempt_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?3)`,
    message.incomingId,
    contentKey,
    now,
    message.rawKey,
    message.sizeBytes,
    message.envelopeFrom,
    message.envelopeTo,
    message.deliveredTo,
    message.clientIp,
    message.helo,
    message.origin,
    message.verdicts,
  );
  return ok({ duplicate: false });
}

const listWaiting = statement<{ now: number }, IncomingRow>(
  'SELECT * FROM incoming WHERE next_attempt_at <= :now ORDER BY attempts, next_attempt_at',
);

/**
 * Leases messages that are due. No other caller gets them until the lease expires. Messages with the fewest attempts come first, so
 * a message that crashes its worker does not delay the others.
 * @param leaseMs how long the caller may work on the messages.
 */
export function claimIncoming(
  sql: SqlStorage,
  leases: Leases,
  mailbox: MailboxRow,
  limit: number,
  leaseMs: number,
  now: number,
): ClaimedIncoming[] {
  const tries = (row: IncomingRow) => Math.max(row.attempts, leases.get(row.incoming_id)?.attempts ?? 0);
  return [...execute(sql, listWaiting, { now })]
    .filter((row) => (leases.get(row.incoming_id)?.until ?? 0) <= now)
    .sort((a, b) => tries(a) - tries(b))
    .slice(0, limit)
    .map((row) => {
      const attempts = tries(row) + 1;
      leases.set(row.incoming_id, { until: now + leaseMs, attempts });
      return toClaimed(row, mailbox, attempts);
    });
}

const toClaimed = (row: IncomingRow, { userId }: MailboxRow, attempts: number): ClaimedIncoming => ({
  incomingId: row.incoming_id,
  contentKey: row.content_key,
  rawKey: row.raw_key,
  sizeBytes: row.size_bytes,
  envelopeFrom: row.envelope_from,
  envelopeTo: row.envelope_to,
  deliveredTo: row.delivered_to,
  clientIp: row.client_ip,
  helo: row.helo,
  origin: row.origin as IncomingMessage['origin'],
  verdicts: row.verdicts,
  userId,
  acceptedAt: row.accepted_at,
  attempts,
});

const remove = statement<{ incomingId: string }, { raw_key: string }>(
  'DELETE FROM incoming WHERE incoming_id = :incomingId RETURNING raw_key',
);

/** Removes the row of an accepted message that has been stored. */
export function removeIncoming(sql: SqlStorage, incomingId: string): void {
  for (const _ of execute(sql, remove, { incomingId }));
}

/** Records the outcome of an accepted message that was not stored in a folder. Idempotent. */
export function finishIncoming(sql: SqlStorage, incomingId: string, end: IncomingEnd, now: number): void {
  if (end.outcome === 'quarantine') {
    sql.exec(
      'UPDATE incoming SET next_attempt_at = NULL, detail = ? WHERE incoming_id = ? AND next_attempt_at IS NOT NULL',
      end.detail,
      incomingId,
    );
    return;
  }
  const removed = executeFirst(sql, remove, { incomingId });
  if (!removed) return;
  addGarbage(sql, [removed.raw_key], now);
  sql.exec('UPDATE mailbox SET refused = refused + 1 WHERE id = 1');
}

/** Schedules the next attempt with exponential backoff. The number of attempts is unlimited. */
export function deferIncoming(
  sql: SqlStorage,
  incomingId: string,
  attempts: number,
  reason: string,
  firstDelayMs: number,
  now: number,
): void {
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min(attempts - 1, 20), RETRY_DELAY_MS_MAX);
  sql.exec(
    `UPDATE incoming SET next_attempt_at = ?, attempts = ?, detail = ? WHERE incoming_id = ? AND next_attempt_at IS NOT NULL`,
    now + delayMs,
    attempts,
    reason.slice(0, 500),
    incomingId,
  );
}

/** Reads a message in quarantine. @returns null if the message is not in quarantine. */
export function readQuarantined(sql: SqlStorage, mailbox: MailboxRow, incomingId: string): ClaimedIncoming | null {
  const row = first<IncomingRow>(
    sql,
    'SELECT * FROM incoming WHERE incoming_id = ? AND next_attempt_at IS NULL',
    incomingId,
  );
  return row && toClaimed(row, mailbox, row.attempts);
}

/** @returns the totals since the mailbox was created. Counts of messages by folder are read from the rows of the folders. */
export function readLedger(sql: SqlStorage): IncomingLedger {
  const pending = first<{
    count: number;
    deferred: number;
    oldest: number | null;
    quarantine: number;
    refused: number;
  }>(
    sql,
    `SELECT count(next_attempt_at) AS count, count(*) - count(next_attempt_at) AS quarantine,
       count(CASE WHEN attempts > 0 THEN next_attempt_at END) AS deferred,
       min(CASE WHEN next_attempt_at IS NOT NULL THEN accepted_at END) AS oldest,
       (SELECT refused FROM mailbox WHERE id = 1) AS refused FROM incoming`,
  );
  const stored = first<{ inbox: number; junk: number; folder: number }>(
    sql,
    `SELECT coalesce(sum(CASE role WHEN 'inbox' THEN delivered END), 0) AS inbox,
       coalesce(sum(CASE role WHEN 'junk' THEN delivered END), 0) AS junk,
       coalesce(sum(CASE WHEN role IN ('inbox', 'junk') THEN 0 ELSE delivered END), 0) AS folder FROM folder`,
  );
  const outcomes = {
    ...(stored ?? { inbox: 0, junk: 0, folder: 0 }),
    quarantine: pending?.quarantine ?? 0,
    refused: pending?.refused ?? 0,
  };
  const done = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return {
    accepted: done + (pending?.count ?? 0),
    pending: pending?.count ?? 0,
    oldestPendingAt: pending?.oldest ?? null,
    deferred: pending?.deferred ?? 0,
    outcomes,
  };
}

/** @returns the totals that the operator's tables have, and since when; null before they were first published. */
export function readPublishedLedger(
  sql: SqlStorage,
): { readonly ledger: IncomingLedger; readonly publishedAt: number } | null {
  const row = first<{ ledger: string | null }>(sql, 'SELECT published_ledger AS ledger FROM mailbox WHERE id = 1');
  if (!row?.ledger) return null;
  const { publishedAt = 0, ...ledger } = JSON.parse(row.ledger) as IncomingLedger & { publishedAt?: number };
  return { ledger, publishedAt };
}

export function savePublishedLedger(sql: SqlStorage, ledger: IncomingLedger, publishedAt: number): void {
  sql.exec('UPDATE mailbox SET published_ledger = ? WHERE id = 1', JSON.stringify({ ...ledger, publishedAt }));
}

/** @returns the next time at which a message is due or its lease ends; null if none waits. */
export function nextIncomingAt(sql: SqlStorage, leases: Leases): number | null {
  const rows = sql.exec<{ incoming_id: string; at: number }>(
    'SELECT incoming_id, next_attempt_at AS at FROM incoming WHERE next_attempt_at IS NOT NULL',
  );
  let next: number | null = null;
  for (const { incoming_id, at } of rows) {
    const dueAt = Math.max(at, leases.get(incoming_id)?.until ?? 0);
    if (next === null || dueAt < next) next = dueAt;
  }
  return next;
}
