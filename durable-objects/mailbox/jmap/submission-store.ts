/** Submissions of messages that the mailbox has already (RFC 8621 §7), and what became of all submissions. */
import type { RecipientState } from '../../../workers/mail/outbound/domain/recipient-state.ts';
import type { SendLimits } from '../../../workers/mail/outbound/domain/send-limit.ts';
import { err, ok, type Result } from '../../../workers/shared/result.ts';
import { execute, statement } from '../../../workers/shared/statement.ts';
import { recordChange } from '../database/change-store.ts';
import { findMessage } from '../messages/message-store.ts';
import { formatThreadId } from '../messages/thread-store.ts';
import { insertOutbox, type NewOutboxMessage } from '../outbox/outbox-store.ts';
import { changeShare, countSend, type DomainHour, readSendWait, readShare } from '../rules/send-limit-store.ts';

export interface StoredSubmission {
  /** Owns its bytes: the message may be changed or erased while it waits. */
  readonly outbox: NewOutboxMessage;
  readonly emailId: string;
  readonly identityId: string;
  readonly limits: SendLimits;
  readonly domainHour: DomainHour;
}

export interface SubmissionRecord {
  readonly id: string;
  readonly identityId: string | null;
  readonly emailId: string;
  readonly threadId: string;
  readonly envelopeFrom: string;
  readonly sendAt: number;
  readonly recipients: readonly {
    readonly email: string;
    readonly state: RecipientState;
    readonly lastCode: number | null;
    readonly lastReply: string | null;
  }[];
}

export type SubmitStoredError =
  | { readonly kind: 'no_email' }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  | { readonly kind: 'share_taken' };

const setSubmission = statement<{ outboxId: string; identityId: string; thread: number }>(
  'UPDATE outbox SET identity_id = :identityId, thread = :thread WHERE outbox_id = :outboxId',
);

export function submitStored(
  sql: SqlStorage,
  { outbox, emailId, identityId, limits, domainHour }: StoredSubmission,
  now: number,
): Result<SubmissionRecord, SubmitStoredError> {
  const message = findMessage(sql, emailId);
  if (!message) return err({ kind: 'no_email' });
  const recipients = outbox.recipients.length;
  const retryAfterMs = readSendWait(sql, limits, recipients, now);
  if (retryAfterMs > 0) return err({ kind: 'rate_limited', retryAfterMs });
  if (readShare(sql, domainHour) < recipients) return err({ kind: 'share_taken' });
  changeShare(sql, domainHour, -recipients);
  countSend(sql, recipients, now);
  insertOutbox(sql, outbox, emailId, now);
  execute(sql, setSubmission, { outboxId: outbox.outboxId, identityId, thread: message.thread });
  recordChange(sql, { type: 'submission_created', submission_id: outbox.outboxId }, now);
  const [record] = readSubmissions(sql, [outbox.outboxId]);
  return record ? ok(record) : err({ kind: 'no_email' });
}

interface SubmissionRow extends Record<string, SqlStorageValue> {
  outbox_id: string;
  message_id: string;
  identity_id: string | null;
  thread: number | null;
  envelope_from: string;
  queued_at: number;
  hold_until: number;
}

const readOne = statement<{ id: string }, SubmissionRow>(
  `SELECT outbox_id, message_id, identity_id, thread, envelope_from, queued_at, hold_until FROM outbox
   WHERE outbox_id = :id AND kind = 'message' AND message_id IS NOT NULL`,
);
const listRecipients = statement<
  { id: string },
  { email: string; state: RecipientState; last_code: number | null; last_reply: string | null }
>('SELECT email, state, last_code, last_reply FROM outbox_recipient WHERE outbox_id = :id ORDER BY ordinal');

/** @returns those of the submissions that exist, in the order of the ids. */
export const readSubmissions = (sql: SqlStorage, ids: readonly string[]): SubmissionRecord[] =>
  ids.flatMap((id) => [...execute(sql, readOne, { id })].map((row) => toRecord(sql, row)));

function toRecord(sql: SqlStorage, row: SubmissionRow): SubmissionRecord {
  // A submission of the app names no thread: its copy in Sent does.
  const thread = row.thread ?? findMessage(sql, row.message_id)?.thread ?? null;
  return {
    id: row.outbox_id,
    identityId: row.identity_id,
    emailId: row.message_id,
    threadId: thread === null ? '' : formatThreadId(thread),
    envelopeFrom: row.envelope_from,
    sendAt: Math.max(row.queued_at, row.hold_until),
    recipients: [...execute(sql, listRecipients, { id: row.outbox_id })].map((each) => ({
      email: each.email,
      state: each.state,
      lastCode: each.last_code,
      lastReply: each.last_reply,
    })),
  };
}

const listNewest = statement<{ limit: number }, { outbox_id: string }>(
  `SELECT outbox_id FROM outbox WHERE kind = 'message' AND message_id IS NOT NULL ORDER BY queued_at DESC LIMIT :limit`,
);

export const listSubmissionIds = (sql: SqlStorage, limit: number): string[] =>
  [...execute(sql, listNewest, { limit })].map((row) => row.outbox_id);
