/** Submissions of stored messages (RFC 8621 §7), and their delivery. */
import { parseEmailId } from '../../../workers/mail/domain/email-id.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/stores/statement.ts';
import type { StoredSubmission, SubmissionRecord, SubmitStoredError } from '../contract/jmap.ts';
import type { DeliveryState } from '../contract/messages.ts';
import { recordChange } from '../database/change-store.ts';
import { readDelivery } from '../messages/delivery-state-store.ts';
import { toPosition } from '../messages/position-store.ts';
import { formatThreadId } from '../messages/thread-store.ts';
import { cancelOutboxById, insertOutbox, readOutbox } from '../outbox/outbox-store.ts';
import { countSend, readSendWait, readShare } from '../rules/send-limit-store.ts';
import { findEmail } from './email-read-store.ts';
import type { emailSubmission } from './schema.ts';

type SubmissionRow = RowOf<typeof emailSubmission>;

const insert = statement<{
  id: string;
  emailId: string;
  thread: number;
  identityId: string;
  envelope: string;
  sendAt: number;
  now: number;
}>(
  `INSERT INTO email_submission (submission_id, email_id, thread, identity_id, envelope, send_at, created_at)
   VALUES (:id, :emailId, :thread, :identityId, :envelope, :sendAt, :now)`,
);

export function submitStored(
  sql: SqlStorage,
  { outbox, emailId, identityId, limits, domainHour }: StoredSubmission,
  now: number,
): Result<SubmissionRecord, SubmitStoredError> {
  const message = findEmail(sql, emailId);
  if (!message) return err({ kind: 'no_email' });
  const recipients = outbox.recipients.length;
  const retryAfterMs = readSendWait(sql, limits, recipients, now);
  if (retryAfterMs > 0) return err({ kind: 'rate_limited', retryAfterMs });
  if (readShare(sql, domainHour) < recipients) return err({ kind: 'share_taken' });
  countSend(sql, recipients, domainHour, now);
  insertOutbox(sql, outbox, message.position, now);
  const { outboxId: id } = outbox;
  const envelope = { from: outbox.envelopeFrom, to: outbox.recipients.map(({ email }) => email) };
  execute(sql, insert, {
    id,
    emailId,
    thread: message.thread,
    identityId,
    envelope: JSON.stringify(envelope),
    sendAt: Math.max(now, outbox.holdUntil),
    now,
  });
  recordChange(sql, { type: 'submission_created', submission_id: id }, now);
  const [record] = readSubmissions(sql, [id]);
  return record ? ok(record) : err({ kind: 'no_email' });
}

const readOne = statement<{ id: string }, SubmissionRow>(
  `SELECT submission_id, email_id, thread, identity_id, envelope, send_at, is_canceled, delivery, created_at FROM email_submission
   WHERE submission_id = :id`,
);

/** @returns those of the given submissions that exist, in the order of the ids. */
export const readSubmissions = (sql: SqlStorage, ids: readonly string[]): SubmissionRecord[] =>
  ids.flatMap((id) => [...execute(sql, readOne, { id })].map((row) => toRecord(sql, row)));

const toRecord = (sql: SqlStorage, row: SubmissionRow): SubmissionRecord => ({
  id: row.submission_id,
  identityId: row.identity_id,
  emailId: row.email_id,
  threadId: formatThreadId(row.thread),
  envelope: JSON.parse(row.envelope) as SubmissionRecord['envelope'],
  sendAt: row.send_at,
  isCanceled: row.is_canceled === 1,
  recipients: readStates(sql, row),
});

/**
 * True if `later` is `state` after a report from another server: the message was accepted, then reported as failed or delivered.
 */
const isReported = (later: DeliveryState, state: DeliveryState): boolean =>
  state.state === 'sent' &&
  (later.state === 'failed' || later.state === 'delivered') &&
  later.attempts === state.attempts;

function readStates(sql: SqlStorage, row: SubmissionRow): SubmissionRecord['recipients'] {
  const final = JSON.parse(row.delivery ?? '[]') as DeliveryState[];
  const waiting = readOutbox(sql, row.submission_id);
  if (waiting) {
    // After a late failure, the outbox has only the recipients that failed.
    const isWaiting = ({ email }: DeliveryState) => waiting.recipients.some((each) => each.email === email);
    return [...final.filter((state) => !isWaiting(state)), ...waiting.recipients];
  }
  const known = readDelivery(sql, toPosition(parseEmailId(row.email_id)?.messageId ?? ''));
  // A report that arrived after the last attempt is stored only in the message row, not in the submission.
  const reported = (state: DeliveryState) =>
    known.find((each) => each.email === state.email && isReported(each, state));
  return final.map((state) => reported(state) ?? state);
}

/** Cancels a submission. @returns false if it is too late. */
export const cancelSubmission = (sql: SqlStorage, id: string, now: number): boolean =>
  cancelOutboxById(sql, id, now) > 0;

const listNewest = statement<{ limit: number }, { submission_id: string }>(
  'SELECT submission_id FROM email_submission ORDER BY created_at DESC LIMIT :limit',
);

export const listSubmissionIds = (sql: SqlStorage, limit: number): string[] =>
  [...execute(sql, listNewest, { limit })].map((row) => row.submission_id);

const remove = statement<{ id: string }>('DELETE FROM email_submission WHERE submission_id = :id');

/**
 * Deletes the record of a submission. This does not cancel it: a queued message is still sent.
 * @returns false if there is no record.
 */
export function forgetSubmission(sql: SqlStorage, id: string, now: number): boolean {
  if (readSubmissions(sql, [id]).length === 0) return false;
  execute(sql, remove, { id });
  recordChange(sql, { type: 'submission_deleted', submission_id: id }, now);
  return true;
}
