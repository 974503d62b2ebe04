/** Calls about mail that is sent: submission, the outbox, its attempts and reports. Each write is one transaction. */
import type { DeliveryEvent } from '../../../workers/mail/domain/delivery-event.ts';
import type { RetryPolicy } from '../../../workers/mail/domain/recipient-state.ts';
import type { SendLimits } from '../../../workers/mail/domain/send-limit.ts';
import { err, ok, type Result } from '../../../workers/shared/pure/result.ts';
import type { NoMailbox, ReadError } from '../contract/mailbox.ts';
import type {
  AppliedEvent,
  Canceled,
  DomainHour,
  DueReport,
  HintRequest,
  NewOutboxMessage,
  OutboxJob,
  RecipientOutcome,
  ReportedOutcome,
  SendRoom,
  Submission,
  SubmitError,
  Submitted,
} from '../contract/outbox.ts';
import type { Trace, TraceFilter } from '../contract/trace.ts';
import type { AttemptPlan } from '../database/attempt-plan.ts';
import { isRetired } from '../incoming/retired-address-store.ts';
import * as attempts from '../outbox/outbox-attempt-store.ts';
import * as reports from '../outbox/outbox-report-store.ts';
import * as outbox from '../outbox/outbox-store.ts';
import * as reported from '../outbox/reported-delivery-store.ts';
import { addServiceShare } from '../outbox/service-share-store.ts';
import * as submission from '../outbox/submission-store.ts';
import { readTrace } from '../outbox/trace-store.ts';
import { addShare, readSendWait, readShare, releaseSending } from '../rules/send-limit-store.ts';
import { IncomingCalls } from './incoming-calls.ts';
import { orNotFound } from './transactions.ts';

export class OutboxCalls extends IncomingCalls {
  get #plan(): AttemptPlan {
    return this.transactions.memory.plan;
  }

  /** Submits a message: adds the copy in Sent and the outbox row, in one transaction. */
  async submitMessage(submitted: Submission): Promise<Result<Submitted, SubmitError | NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => submission.submitMessage(sql, mailbox, submitted, now));
  }

  /** @returns the result of the first request with this Idempotency-Key; null if there was none. */
  async findSubmission(
    key: string,
    requestSha256: string,
  ): Promise<Result<Submitted | null, { readonly kind: 'idempotency_conflict' } | NoMailbox>> {
    return this.transactions.read((sql) => submission.findSubmission(sql, key, requestSha256));
  }

  /**
   * Reads the facts that decide whether the account may send a message from one of its addresses.
   * @returns `waitMs`: time until a message to this many recipients may be sent. `share`: the mailbox's share of the limit of its
   * domain. `isRetired`: the account lost the address.
   */
  async readSendRoom(
    limits: SendLimits,
    recipients: number,
    domainHour: DomainHour,
    ownAddress: string,
  ): Promise<Result<SendRoom, NoMailbox>> {
    return this.transactions.read((sql, { accountType }, now) =>
      ok({
        accountType,
        isRetired: isRetired(this.transactions.kv, ownAddress),
        waitMs: readSendWait(sql, limits, recipients, now),
        share: readShare(sql, domainHour),
      }),
    );
  }

  /**
   * Adds recipients that DIRECTORY granted to the mailbox's share of the domain's limit. If the message is then refused, later
   * messages use them.
   */
  async addShare(domainHour: DomainHour, recipients: number): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(addShare(sql, domainHour, recipients, now)));
  }

  /** Adds recipients that DIRECTORY granted to the mailbox's share of the limit of the installation per month. */
  async addServiceShare(recipients: number): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(addServiceShare(sql, recipients, now)));
  }

  async cancelSubmission(messageId: string): Promise<Result<Canceled, ReadError | { readonly kind: 'too_late' }>> {
    return this.transactions.write((sql, mailbox, now) => submission.cancelSubmission(sql, mailbox, messageId, now));
  }

  /** Queues mail that no user wrote. @returns the earliest time at which it may be sent, in milliseconds since 1970. */
  async enqueueOutbox(
    message: NewOutboxMessage,
    automaticPerHour: number,
  ): Promise<Result<{ holdUntil: number }, NoMailbox>> {
    return this.transactions.write((sql, _, now) => {
      const isLimited = message.kind === 'forward' || message.kind === 'vacation';
      const holdUntil = isLimited ? outbox.readAutomaticTurn(sql, automaticPerHour) : message.holdUntil;
      outbox.insertOutbox(sql, { ...message, holdUntil }, null, now);
      return ok({ holdUntil });
    });
  }

  async claimOutbox(options: {
    limit: number;
    leaseMs: number;
    policy: RetryPolicy;
  }): Promise<Result<OutboxJob[], NoMailbox>> {
    const random = { leaseId: crypto.randomUUID(), jitter: Math.random(), plan: this.#plan };
    return this.transactions.write((sql, mailbox, now) =>
      ok(attempts.claimOutbox(sql, mailbox, { ...options, ...random }, now)),
    );
  }

  /** @param verdicts verdicts of the checks, as JSON. */
  async saveVerdicts(outboxId: string, verdicts: string): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(attempts.saveVerdicts(sql, outboxId, verdicts, now)));
  }

  /** @returns the hints to send; undefined from a mailbox of an earlier version, whose alarm is enough. */
  async releaseRecipients(
    outboxId: string,
    leaseId: string,
    ordinals: readonly number[],
    until: number,
    reason: string,
  ): Promise<Result<HintRequest | undefined, NoMailbox>> {
    return this.transactions.write((sql, _, now) => {
      attempts.releaseRecipients(sql, { outboxId, leaseId }, { ordinals, until, reason }, this.#plan, now);
      return ok({ delaysMs: this.#plan.takeDelays(now) });
    });
  }

  /** @returns the hints to send; undefined from a mailbox of an earlier version, whose alarm is enough. */
  async recordOutcomes(
    outboxId: string,
    leaseId: string,
    outcomes: readonly RecipientOutcome[],
    policy: RetryPolicy,
  ): Promise<Result<HintRequest | undefined, NoMailbox>> {
    const options = { policy, jitter: Math.random(), plan: this.#plan };
    return this.transactions.write((sql, mailbox, now) => {
      attempts.recordOutcomes(sql, outboxId, leaseId, outcomes, options, now);
      const isBlocked = outcomes.some(({ outcome }) => outcome.kind === 'refused' && outcome.isBlocked === true);
      if (isBlocked) submission.returnToDrafts(sql, mailbox, outboxId, now);
      return ok({ delaysMs: this.#plan.takeDelays(now) });
    });
  }

  /**
   * Makes recipients due now.
   * @param named addresses in lower case; null for all recipients that wait.
   * @returns how many recipients are due now, and the named addresses that are not recipients.
   */
  async retryOutbox(
    outboxId: string,
    named: readonly string[] | null,
  ): Promise<Result<{ readonly count: number; readonly unknown: readonly string[] }, ReadError>> {
    return this.transactions.write((sql, _, now) => {
      const retried = outbox.retryOutbox(sql, outboxId, named, now);
      return retried === null ? err({ kind: 'not_found' }) : ok(retried);
    });
  }

  /** Applies a delivery report. @returns whether the report is about a message of this mailbox. */
  async applyReport(
    headerMessageId: string,
    outcomes: readonly ReportedOutcome[],
  ): Promise<Result<boolean, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(reported.applyReport(sql, headerMessageId, outcomes, now)));
  }

  /** Applies a delivery event of Cloudflare Email Service. Idempotent, in any order of the events. */
  async applyEvent(event: DeliveryEvent, policy: RetryPolicy): Promise<Result<AppliedEvent, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(reported.applyEvent(sql, event, policy, now)));
  }

  /** Ends the hold because of complaints. @returns `not_found` if mail is not held. */
  async releaseSending(): Promise<Result<null, ReadError>> {
    return this.transactions.write((sql, _, now) => orNotFound(releaseSending(sql, now)));
  }

  /**
   * Assigns an id to each due report and returns the reports. Because of the id, a repetition after a crash makes the same
   * report.
   */
  async listDueReports(limit: number): Promise<Result<DueReport[], NoMailbox>> {
    return this.transactions.write((sql, mailbox, now) => ok(reports.listDueReports(sql, mailbox, limit, now)));
  }

  async finishReport(report: DueReport): Promise<Result<void, NoMailbox>> {
    return this.transactions.write((sql, _, now) => ok(reports.finishReport(sql, report, now)));
  }

  /** @returns what became of the mail of a time. */
  async readTrace(filter: TraceFilter): Promise<Result<Trace, NoMailbox>> {
    return this.transactions.read((sql) => ok(readTrace(sql, filter)));
  }
}
