/** Sending, as one transaction: limit, repetition, the copy in Sent and the outbox together, or nothing. */
import { err, ok, type Result } from '../../workers/shared/result.ts';
import type { StoreMessageError, StoreMessageInput } from './delivered-message.ts';
import { findFolder } from './folder-store.ts';
import { findMessage, patchMessage, storeMessage } from './message-store.ts';
import {
  cancelOutbox,
  countSubmitted,
  type DeliveryState,
  insertOutbox,
  type NewOutboxMessage,
  readDelivery,
} from './outbox-store.ts';
import { first, type MailboxRow } from './store.ts';

export interface Submission {
  readonly outbox: NewOutboxMessage;
  readonly sentCopy: StoreMessageInput;
  readonly idempotency: { readonly key: string; readonly requestSha256: string } | null;
  readonly limitPerHour: number;
}

export interface Submitted {
  readonly messageId: string;
  readonly emailId: string;
  readonly delivery: readonly DeliveryState[];
  /** True when the same request was made before: nothing was written. */
  readonly duplicate: boolean;
}

export type SubmitError =
  | StoreMessageError
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  /** The same Idempotency-Key came with another request. */
  | { readonly kind: 'idempotency_conflict' };

const HOUR_MS = 3_600_000;
/** How long an Idempotency-Key is remembered. */
const KEY_AGE_MAX_MS = 7 * 24 * HOUR_MS;

/** @returns what the first request with this key made; null when there was none. */
export function findSubmission(
  sql: SqlStorage,
  key: string,
  requestSha256: string,
): Result<Submitted | null, { kind: 'idempotency_conflict' }> {
  const row = first<{ request_sha256: string; message_id: string }>(
    sql,
    `SELECT s.request_sha256, o.message_id FROM submission s JOIN outbox o ON o.outbox_id = s.outbox_id
     WHERE s.idempotency_key = ?`,
    key,
  );
  if (!row) return ok(null);
  if (row.request_sha256 !== requestSha256) return err({ kind: 'idempotency_conflict' });
  return ok(toSubmitted(sql, row.message_id, true));
}

const toSubmitted = (sql: SqlStorage, messageId: string, duplicate: boolean): Submitted => ({
  messageId,
  emailId: messageId,
  delivery: readDelivery(sql, messageId),
  duplicate,
});

/** @returns how long to wait before another message may be sent; 0 when it may now. */
export function readSendWait(sql: SqlStorage, limitPerHour: number, now: number): number {
  const { count, oldestAt } = countSubmitted(sql, now - HOUR_MS);
  return count < limitPerHour || oldestAt === null ? 0 : Math.max(1, oldestAt + HOUR_MS - now);
}

export function submitMessage(
  sql: SqlStorage,
  mailbox: MailboxRow,
  submission: Submission,
  now: number,
): Result<Submitted, SubmitError> {
  const { idempotency, outbox } = submission;
  if (idempotency) {
    const known = findSubmission(sql, idempotency.key, idempotency.requestSha256);
    if (!known.ok) return known;
    if (known.value) return ok(known.value);
  }
  const retryAfterMs = readSendWait(sql, submission.limitPerHour, now);
  if (retryAfterMs > 0) return err({ kind: 'rate_limited', retryAfterMs });
  const stored = storeMessage(sql, mailbox, submission.sentCopy, now);
  if (!stored.ok) return stored;
  insertOutbox(sql, outbox, stored.value.messageId, now);
  sql.exec('DELETE FROM submission WHERE created_at < ?', now - KEY_AGE_MAX_MS);
  if (idempotency) {
    sql.exec(
      'INSERT INTO submission (idempotency_key, request_sha256, outbox_id, created_at) VALUES (?, ?, ?, ?)',
      idempotency.key,
      idempotency.requestSha256,
      outbox.outboxId,
      now,
    );
  }
  return ok(toSubmitted(sql, stored.value.messageId, false));
}

/** @returns the states after it; `too_late` when nothing was held any more. The copy in Sent becomes one in Drafts. */
export function cancelSubmission(
  sql: SqlStorage,
  messageId: string,
  now: number,
): Result<readonly DeliveryState[], { kind: 'not_found' } | { kind: 'too_late' }> {
  const canceled = cancelOutbox(sql, messageId, now);
  if (canceled === null) return err({ kind: 'not_found' });
  if (canceled === 0) return err({ kind: 'too_late' });
  const delivery = readDelivery(sql, messageId);
  const message = findMessage(sql, messageId);
  const drafts = findFolder(sql, 'drafts');
  const isWhole = delivery.every((recipient) => recipient.state === 'canceled');
  if (message && drafts && isWhole) patchMessage(sql, message, { folder: drafts }, now);
  return ok(delivery);
}
