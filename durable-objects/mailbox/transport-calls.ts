/**
 * What mail transport asks of a mailbox, each call one transaction. The shell has one door for them
 * (`Mailbox.transport`); `openTransport` in `workers/mail/mailbox-transport.ts` gives them back as methods.
 */
import type { RetryPolicy } from '../../workers/mail/outbound/domain/recipient-state.ts';
import { err, ok, type Result } from '../../workers/shared/result.ts';
import { storeMessage } from './arrival-store.ts';
import { listUnheld } from './blob-store.ts';
import type { StoreMessageInput } from './delivered-message.ts';
import * as incoming from './incoming-store.ts';
import * as attempts from './outbox-attempt-store.ts';
import * as owed from './outbox-report-store.ts';
import * as outbox from './outbox-store.ts';
import { readSpamModel } from './spam-lesson-store.ts';
import type { MailboxRow } from './store.ts';
import * as sending from './submission-store.ts';

/** The transaction that a call runs in. */
export interface At {
  readonly sql: SqlStorage;
  readonly mailbox: MailboxRow;
  readonly now: number;
}

type NotFound = { readonly kind: 'not_found' };

export const TRANSPORT_CALLS = {
  /** Mail for this mailbox is durable once this has answered; its raw bytes must lie in every location before. */
  acceptIncoming: ({ sql, mailbox, now }: At, message: incoming.IncomingMessage) =>
    incoming.acceptIncoming(sql, mailbox, message, now),
  /** With the user's own spam model, null when there is none: every message claimed is judged by it. */
  claimIncoming: ({ sql, mailbox, now }: At, limit: number, leaseMs: number) => {
    const messages = incoming.claimIncoming(sql, mailbox, limit, leaseMs, now);
    return ok({ messages, spamModel: messages.length > 0 ? readSpamModel(sql) : null });
  },
  /** The message into its folder and its row finished, or neither. */
  deliverIncoming: ({ sql, mailbox, now }: At, incomingId: string, input: StoreMessageInput) => {
    const stored = storeMessage(sql, mailbox, input, now);
    if (!stored.ok) return stored;
    const { folderRole, messageId } = stored.value;
    const outcome = folderRole === 'inbox' || folderRole === 'junk' ? folderRole : 'folder';
    incoming.finishIncoming(sql, incomingId, { outcome, messageId, detail: null }, now);
    return stored;
  },
  finishIncoming: ({ sql, now }: At, incomingId: string, end: incoming.IncomingEnd) =>
    ok(incoming.finishIncoming(sql, incomingId, end, now)),
  deferIncoming: ({ sql, now }: At, incomingId: string, reason: string, firstDelayMs: number) =>
    ok(incoming.deferIncoming(sql, incomingId, reason, firstDelayMs, now)),
  readQuarantined: ({ sql, mailbox }: At, incomingId: string): Result<incoming.ClaimedIncoming, NotFound> => {
    const found = incoming.readQuarantined(sql, mailbox, incomingId);
    return found ? ok(found) : err({ kind: 'not_found' });
  },

  /** Of R2 keys under this mailbox's prefix, those that no row names. */
  listUnheld: ({ sql }: At, keys: readonly string[]) => ok(listUnheld(sql, keys)),

  /** Sends: the copy in Sent and the outbox in one transaction. */
  submitMessage: ({ sql, mailbox, now }: At, submission: sending.Submission) =>
    sending.submitMessage(sql, mailbox, submission, now),
  findSubmission: ({ sql }: At, key: string, requestSha256: string) => sending.findSubmission(sql, key, requestSha256),
  /** Milliseconds until another message may be sent. */
  readSendWait: ({ sql, now }: At, limitPerHour: number) => ok(sending.readSendWait(sql, limitPerHour, now)),
  cancelSubmission: ({ sql, mailbox, now }: At, messageId: string) =>
    sending.cancelSubmission(sql, mailbox, messageId, now),

  /** Mail that no user wrote. */
  enqueueOutbox: ({ sql, now }: At, message: outbox.NewOutboxMessage, forwardsPerHour: number) => {
    const isForward = message.kind === 'forward';
    const holdUntil = isForward ? outbox.readForwardTurn(sql, forwardsPerHour) : message.holdUntil;
    outbox.insertOutbox(sql, { ...message, holdUntil }, null, now);
    return ok({ holdUntil });
  },
  claimOutbox: ({ sql, mailbox, now }: At, options: { limit: number; leaseMs: number; policy: RetryPolicy }) => {
    const more = { leaseId: crypto.randomUUID(), jitter: Math.random() };
    return ok(attempts.claimOutbox(sql, mailbox, { ...options, ...more }, now));
  },
  saveVerdicts: ({ sql }: At, outboxId: string, verdicts: string) => ok(attempts.saveVerdicts(sql, outboxId, verdicts)),
  releaseRecipients: (
    { sql }: At,
    outboxId: string,
    leaseId: string,
    ordinals: readonly number[],
    until: number,
    reason: string,
  ) => ok(attempts.releaseRecipients(sql, outboxId, leaseId, ordinals, until, reason)),
  recordOutcomes: (
    { sql, now }: At,
    outboxId: string,
    leaseId: string,
    outcomes: readonly attempts.RecipientOutcome[],
    policy: RetryPolicy,
  ) => ok(attempts.recordOutcomes(sql, outboxId, leaseId, outcomes, { policy, jitter: Math.random() }, now)),
  retryOutbox: ({ sql, now }: At, outboxId: string): Result<number, NotFound> => {
    const count = outbox.retryOutbox(sql, outboxId, now);
    return count === null ? err({ kind: 'not_found' }) : ok(count);
  },
  applyReport: ({ sql, now }: At, headerMessageId: string, reports: readonly outbox.ReportedOutcome[]) =>
    ok(outbox.applyReport(sql, headerMessageId, reports, now)),
  listDueReports: ({ sql, mailbox }: At, limit: number) => ok(owed.listDueReports(sql, mailbox, limit)),
  finishReport: ({ sql, now }: At, report: owed.DueReport) => {
    owed.finishReport(sql, report, now);
    return ok(outbox.releaseRaw(sql, report.outboxId, now));
  },
};

export type TransportCalls = typeof TRANSPORT_CALLS;
export type TransportCallName = keyof TransportCalls;

/** Runs one by name: what crosses the object's door is plain data. */
export function runTransportCall(
  at: At,
  name: TransportCallName,
  values: readonly unknown[],
): Result<unknown, unknown> {
  const call = TRANSPORT_CALLS[name] as (at: At, ...values: unknown[]) => Result<unknown, unknown>;
  return call(at, ...values);
}
