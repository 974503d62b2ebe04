/** Messages as calls return them, and changes to messages. */
import type { FlagPatch, Flags } from '../../../workers/mail/domain/message-flags.ts';
import type { RecipientState } from '../../../workers/mail/domain/recipient-state.ts';
import type { HeaderField } from '../../../workers/mail/domain/written-fields.ts';
import type { MailAddress, StoredAttachment } from './delivered-message.ts';
import type { FolderRole } from './folders.ts';

export interface DeliveryState {
  readonly email: string;
  readonly state: RecipientState;
  readonly attempts: number;
  /** Time of the next attempt for the recipient; null once the state is final. */
  readonly nextAttemptAt: number | null;
  readonly lastCode: number | null;
  readonly lastReply: string | null;
  readonly isUncertain: boolean;
}

/** Fields of a message in lists of the JSON API and of JMAP. */
export interface ListedFacts extends Flags {
  readonly threadId: string;
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly subject: string;
  readonly preview: string;
  readonly sentAt: number | null;
  readonly receivedAt: number;
  readonly sizeBytes: number;
  readonly hasAttachment: boolean;
}

/** Further fields of a message that is read alone. */
export interface OpenedFacts {
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly headerMessageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  /** R2 key of the raw message; null for a draft that was written in the app. */
  readonly rawKey: string | null;
}

export interface MessageSummary extends ListedFacts {
  readonly position: number;
  readonly messageId: string;
  readonly folderId: string;
  readonly folderRole: FolderRole | null;
  readonly origin: string;
  readonly snoozedUntil: number | null;
  readonly labels: readonly string[];
}

export interface TextRow {
  readonly value: string | null;
  readonly r2Key: string | null;
}

export interface MessageDetail extends MessageSummary, OpenedFacts {
  readonly headers: readonly HeaderField[];
  /** Verdict as JSON, unchanged since `storeMessage` received it. */
  readonly authentication: string | null;
  readonly spam: string | null;
  readonly text: TextRow;
  readonly html: TextRow | null;
  readonly attachments: readonly StoredAttachment[];
  /** Delivery state of each recipient; empty unless the message was sent. */
  readonly delivery: readonly DeliveryState[];
}

/** Start of a list page: before a position (exclusive), or after skipping the newest `offset` messages. */
export type ListPlace = { readonly before: number } | { readonly offset: number };

export interface ThreadPage {
  readonly messages: readonly MessageDetail[];
  readonly isMuted: boolean;
  readonly hasMore: boolean;
}

export interface LabelCounts {
  readonly label: string;
  readonly total: number;
  readonly unread: number;
}

export interface LabelPatch {
  /** Labels that replace all present ones. */
  readonly labels?: readonly string[] | undefined;
  readonly addLabels?: readonly string[] | undefined;
  readonly removeLabels?: readonly string[] | undefined;
}

export interface BatchPatch extends LabelPatch, FlagPatch {
  /** Time at which the message returns to the Inbox; null for no snooze. A move without this member ends the snooze. */
  readonly snoozedUntil?: number | null | undefined;
  /** Id or role of the folder to move the message to. */
  readonly folderKey?: string | undefined;
}

export type BatchStatus = 'updated' | 'unchanged' | 'deleted' | 'not_found';

export interface BatchResult {
  readonly id: string;
  readonly status: BatchStatus;
}

export interface ExportedMessage {
  readonly position: number;
  readonly messageId: string;
  readonly rawKey: string;
  readonly receivedAt: number;
  readonly sender: string;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly folder: string;
}
