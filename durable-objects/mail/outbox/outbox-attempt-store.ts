/**
 * Delivery attempts: leases of recipients, and outcomes of attempts. Each function runs inside the caller's transaction.
 * `workers/mail/domain` decides the next state of a recipient. Leases are stored in the row, because a lost lease would
 * send a message twice.
 */
import {
  type AttemptOutcome,
  decideProgress,
  type RetryPolicy,
  retryWindow,
  waitWindow,
} from '../../../workers/mail/domain/recipient-state.ts';
import type { MailboxRow } from '../contract/mailbox.ts';
import type { OutboxJob, RecipientOutcome } from '../contract/outbox.ts';
import { isSuspended } from '../credentials/credential-store.ts';
import type { AttemptPlan } from '../database/attempt-plan.ts';
import { readMessageId } from '../messages/message-read-store.ts';
import { countFailures, isSendingHeld } from '../rules/send-limit-store.ts';
import {
  announceDelivery,
  listDueOutbox,
  type OutboxMessage,
  type OutboxRecipient,
  readOutbox,
  saveOutbox,
} from './outbox-store.ts';
import { addAccepted } from './reported-delivery-store.ts';
import { readServiceRoom } from './service-share-store.ts';

interface AttemptOptions {
  readonly policy: RetryPolicy;
  readonly jitter: number;
  readonly plan: AttemptPlan;
}

/** Reply that is recorded for an attempt whose worker died. The recipient is retried soon. */
const INTERRUPTED = 'The attempt was interrupted on our side. The message may have arrived.';

/** Leases the recipients that are due. If a lease has expired, its attempt is recorded with unknown outcome first. */
export function claimOutbox(
  sql: SqlStorage,
  mailbox: MailboxRow,
  options: AttemptOptions & { readonly limit: number; readonly leaseMs: number; readonly leaseId: string },
  now: number,
): OutboxJob[] {
  let room = readServiceRoom(sql, now);
  return listDueOutbox(sql, now, options.limit).flatMap((due) => {
    const message = endInterrupted(sql, due, options, now);
    const isDue = ({ nextAttemptAt, lease }: OutboxRecipient) =>
      nextAttemptAt !== null && nextAttemptAt <= now && lease === null;
    const claimed = message.recipients.filter(isDue);
    const lease = { id: options.leaseId, until: now + options.leaseMs };
    const recipients = message.recipients.map((each) =>
      isDue(each) ? { ...each, lease, state: each.state === 'held' ? ('queued' as const) : each.state } : each,
    );
    saveOutbox(sql, { ...message, recipients }, now);
    if (claimed.length === 0) return [];
    const serviceRoom = room;
    room -= claimed.length;
    const { position, outboxId, kind, headerMessageId, rawKey, sizeBytes, bodyHash, isEightBit } = message;
    return [
      {
        userId: mailbox.userId,
        ...{ outboxId, kind, headerMessageId, rawKey, sizeBytes, bodyHash, isEightBit },
        leaseId: options.leaseId,
        messageId: position === null ? null : readMessageId(sql, position),
        envelopeFrom: message.envelopeFrom,
        queuedAt: message.queuedAt,
        verdicts: message.verdicts,
        isSuspended: isSuspended(sql),
        isSendingHeld: isSendingHeld(sql),
        serviceRoom: Math.max(0, serviceRoom),
        recipients: claimed.map(({ ordinal, email, domain }) => ({ ordinal, email, domain })),
      },
    ];
  });
}

function endInterrupted(sql: SqlStorage, message: OutboxMessage, options: AttemptOptions, now: number): OutboxMessage {
  const isLost = ({ nextAttemptAt, lease }: OutboxRecipient) =>
    nextAttemptAt !== null && lease !== null && lease.until <= now;
  if (!message.recipients.some(isLost)) return message;
  const lost = { kind: 'unknown', reply: INTERRUPTED } as const;
  const recipients = message.recipients.map((each) =>
    isLost(each) ? endAttempt(message, each, lost, options, now) : each,
  );
  announceDelivery(sql, message.position, now);
  return { ...message, recipients };
}

/** Records that the checks passed the message. */
export function saveVerdicts(sql: SqlStorage, outboxId: string, verdicts: string, now: number): void {
  const message = readOutbox(sql, outboxId);
  if (message) saveOutbox(sql, { ...message, verdicts }, now);
}

/**
 * Changes the recipients that a lease still holds. Skips recipients whose lease was lost to another worker.
 * @returns null if the lease holds none of the recipients.
 */
function changeLeased(
  sql: SqlStorage,
  outboxId: string,
  leaseId: string,
  change: (recipient: OutboxRecipient, message: OutboxMessage) => OutboxRecipient,
  now: number,
): OutboxMessage | null {
  const message = readOutbox(sql, outboxId);
  if (!message?.recipients.some(({ lease }) => lease?.id === leaseId)) return null;
  const recipients = message.recipients.map((each) => (each.lease?.id === leaseId ? change(each, message) : each));
  const changed = { ...message, recipients };
  saveOutbox(sql, changed, now);
  return changed;
}

/**
 * Releases recipients that were not attempted, such as those of a destination on hold. This does not count as an attempt.
 * @param until time at which they are due again.
 */
export function releaseRecipients(
  sql: SqlStorage,
  { outboxId, leaseId }: Pick<OutboxJob, 'outboxId' | 'leaseId'>,
  {
    ordinals,
    until,
    reason,
  }: { readonly ordinals: readonly number[]; readonly until: number; readonly reason: string },
  plan: AttemptPlan,
  now: number,
): void {
  const nextAttemptAt = plan.join(until, waitWindow(until, now), now);
  const release = (each: OutboxRecipient): OutboxRecipient =>
    ordinals.includes(each.ordinal) ? { ...each, lease: null, nextAttemptAt, lastReply: reason } : each;
  changeLeased(sql, outboxId, leaseId, release, now);
}

/** Records outcomes of delivery attempts, for the recipients that the lease still holds. */
export function recordOutcomes(
  sql: SqlStorage,
  outboxId: string,
  leaseId: string,
  outcomes: readonly RecipientOutcome[],
  options: AttemptOptions,
  now: number,
): void {
  const byOrdinal = new Map(outcomes.map(({ ordinal, outcome }) => [ordinal, outcome]));
  let failures = 0;
  const end = (each: OutboxRecipient, message: OutboxMessage): OutboxRecipient => {
    const outcome = byOrdinal.get(each.ordinal);
    if (!outcome) return each;
    const ended = endAttempt(message, each, outcome, options, now);
    if (outcome.kind === 'sent' && outcome.reference)
      addAccepted(sql, message, { recipient: ended, reference: outcome.reference }, now);
    if (ended.state === 'failed' && message.kind === 'message') failures += 1;
    return ended;
  };
  const changed = changeLeased(sql, outboxId, leaseId, end, now);
  if (failures > 0) countFailures(sql, failures, now);
  if (changed) announceDelivery(sql, changed.position, now);
}

function endAttempt(
  message: OutboxMessage,
  before: OutboxRecipient,
  outcome: AttemptOutcome,
  { policy, jitter, plan }: AttemptOptions,
  now: number,
): OutboxRecipient {
  const decided = { ...before, isSuppressed: false, ...decideProgress(before, outcome, now, jitter, policy) };
  const progress = { ...decided, nextAttemptAt: joinOthers(decided, policy, plan, now) };
  // The sender of a message to a suppressed address is warned at once, because no attempt is made before the suppression ends.
  const reachesTo = outcome.kind === 'suppressed' ? (progress.nextAttemptAt ?? now) : now;
  const isSlow = reachesTo - before.queuedAt >= policy.warnAfterMs;
  const isLate = progress.state === 'deferred' && message.warnedAt === null && isSlow;
  const due = progress.state === 'failed' ? 'failed' : isLate ? 'delayed' : null;
  return { ...progress, lease: null, lastAttemptAt: now, report: due === null ? null : { due, id: null } };
}

/** Joins the next attempt to others of the mailbox. After a suppression it is at its exact time, because an earlier one would fail. */
function joinOthers(recipient: OutboxRecipient, policy: RetryPolicy, plan: AttemptPlan, now: number): number | null {
  const { nextAttemptAt, isSuppressed } = recipient;
  if (nextAttemptAt === null) return null;
  const exact = { earliest: nextAttemptAt, latest: nextAttemptAt };
  return plan.join(nextAttemptAt, isSuppressed === true ? exact : retryWindow(recipient, now, policy), now);
}
