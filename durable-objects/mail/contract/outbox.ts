/** Outgoing mail: submission, attempts, reports and the sending limit. */

import type { AttemptOutcome } from '../../../workers/mail/domain/recipient-state.ts';
import type { SendLimits, Standing } from '../../../workers/mail/domain/send-limit.ts';
import type { StoreMessageError, StoreMessageInput } from './delivered-message.ts';
import type { Idempotency } from './drafts.ts';
import type { DeliveryState } from './messages.ts';

export type OutboxKind = 'message' | 'forward' | 'vacation' | 'automatic' | 'report';

export interface NewOutboxMessage {
  readonly outboxId: string;
  readonly kind: OutboxKind;
  readonly headerMessageId: string | null;
  readonly rawKey: string;
  readonly ownsRaw: boolean;
  readonly sizeBytes: number;
  readonly bodyHash: string;
  readonly isEightBit: boolean;
  readonly envelopeFrom: string;
  readonly recipients: readonly { readonly email: string; readonly domain: string }[];
  /** Earliest time of sending. Until then, the message can be canceled. */
  readonly holdUntil: number;
}

/** State of a recipient as a report from another server says. */
export interface ReportedOutcome {
  readonly email: string;
  readonly state: 'failed' | 'delivered';
  readonly reply: string;
}

/**
 * Effect of a delivery event. `unchanged`: it was applied before or is too late. `unknown`: this mailbox sent no message with the id
 * in the last 14 days.
 */
export type EventOutcome = 'applied' | 'unchanged' | 'unknown';

export interface AppliedEvent {
  readonly outcome: EventOutcome;
  /** Standing of the account after a complaint; null for every other event. The same for a repetition. */
  readonly standing: Standing | null;
}

/** A message with the recipients that the caller must attempt now. */
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
  /** JSON of the verdicts; null until the checks have passed the message. */
  readonly verdicts: string | null;
  /** Whether the mail of the user is held. */
  readonly isSuspended: boolean;
  /** Whether it is held because of complaints. */
  readonly isSendingHeld: boolean;
  /**
   * Recipients of Email Service that the mailbox was granted, less those of accepted messages and of earlier jobs of the claim.
   * Undefined from a mailbox of 0.2.0.
   */
  readonly serviceRoom: number | undefined;
  readonly recipients: readonly { readonly ordinal: number; readonly email: string; readonly domain: string }[];
}

export interface RecipientOutcome {
  readonly ordinal: number;
  readonly outcome: AttemptOutcome;
}

/** Delays in milliseconds of the hints that the caller sends, one for each time of a next attempt. */
export interface HintRequest {
  readonly delaysMs: readonly number[];
}

export interface DueReport {
  /** Id of the report, the same for every repetition. */
  readonly reportId: string;
  readonly userId: string;
  readonly outboxId: string;
  readonly action: 'failed' | 'delayed';
  readonly envelopeFrom: string;
  readonly headerMessageId: string | null;
  readonly rawKey: string;
  readonly queuedAt: number;
  /** Time of the last attempt among the recipients that the report is about. */
  readonly attemptedAt: number;
  readonly recipients: readonly {
    readonly email: string;
    readonly code: number | null;
    readonly reply: string;
    readonly isUncertain: boolean;
    readonly isExpired: boolean;
  }[];
}

export interface OutboxDestination {
  readonly domain: string;
  readonly held: number;
  readonly queued: number;
  readonly deferred: number;
  readonly failed: number;
  /** The earliest time at which a recipient is due or its lease ends; null if none waits. */
  readonly nextAttemptAt: number | null;
  readonly lastReply: string | null;
}

/** The state of an outbox message for the operator's tables: one entry per destination domain. */
export interface OutboxSnapshot {
  readonly outboxId: string;
  readonly userId: string;
  readonly version: number;
  readonly kind: string;
  readonly sizeBytes: number;
  readonly queuedAt: number;
  readonly destinations: readonly OutboxDestination[];
}

export interface AutomaticSend {
  /**
   * `end` sends nothing and calls `endForwarded`. For an address that keeps no copy, one such row follows the forwards of each message.
   */
  readonly kind: 'forward' | 'vacation' | 'confirm' | 'end';
  /** Id of the message that caused the mail. For `confirm`, the code to mail. */
  readonly messageId: string;
  readonly recipient: string;
  readonly envelopeFrom: string;
}

/** A domain and an hour, for which the domain's recipients are counted. */
export interface DomainHour {
  readonly domain: string;
  /** The hour, as hours since 1970. */
  readonly hour: number;
}

export interface SendRoom {
  readonly accountType: string;
  readonly isRetired: boolean;
  readonly waitMs: number;
  readonly share: number;
}

export interface Submission {
  readonly outbox: NewOutboxMessage;
  readonly sentCopy: StoreMessageInput;
  readonly idempotency: Idempotency | null;
  readonly limits: SendLimits;
  /** Domain and hour whose sending limit the message counts against. */
  readonly domainHour: DomainHour;
  /** Id of the draft in which the message was written; null if there is none. The draft is removed. */
  readonly draftId: string | null;
  /** Revision of the draft whose content is sent; null if the request has its own content. */
  readonly draftRevision: number | null;
  /** Id of the message that this message forwards. */
  readonly forwardOf: string | null;
  /** Ids of the attached uploads. Their bytes are in the copy in Sent already. */
  readonly attachmentIds: readonly string[];
}

export interface Submitted {
  readonly messageId: string;
  readonly emailId: string;
  readonly delivery: readonly DeliveryState[];
  /** True if the same request was made before. Nothing was written then. */
  readonly duplicate: boolean;
}

export type SubmitError =
  | StoreMessageError
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number }
  /** The mailbox's share of the domain's limit is too small, because another submission used it meanwhile. */
  | { readonly kind: 'share_taken' }
  /** The Idempotency-Key was used before with another request. */
  | { readonly kind: 'idempotency_conflict' }
  | { readonly kind: 'no_draft' }
  | { readonly kind: 'draft_changed' };

export interface Canceled {
  readonly delivery: readonly DeliveryState[];
  /** Id of the draft that the message became; null if it did not, because some recipients have the message already. */
  readonly draftId: string | null;
}
