/** What only JMAP reads and writes. */

import type { EmailQuery } from '../../../workers/mail/domain/email-filter.ts';
import type { FlagPatch } from '../../../workers/mail/domain/message-flags.ts';
import type { RecipientState } from '../../../workers/mail/domain/recipient-state.ts';
import type { SendLimits } from '../../../workers/mail/domain/send-limit.ts';
import type { FolderRole } from './folders.ts';
import type { ListedFacts, OpenedFacts } from './messages.ts';
import type { DomainHour, NewOutboxMessage } from './outbox.ts';

export interface JmapFolder {
  readonly folderId: string;
  /** Whole path of the folder. */
  readonly name: string;
  readonly role: FolderRole | null;
  readonly total: number;
  readonly unread: number;
  readonly totalThreads: number;
  readonly unreadThreads: number;
  readonly sortOrder: number;
  readonly isSubscribed: boolean;
}

export interface Arrangement {
  readonly sortOrder?: number | undefined;
  readonly isSubscribed?: boolean | undefined;
}

export type DestroyRound = 'done' | 'has_mail' | 'more' | 'not_found';

export interface TypeChanges {
  readonly newState: string;
  readonly hasMoreChanges: boolean;
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly destroyed: readonly string[];
  /** True if nothing but counts changed in the updated mailboxes. */
  readonly onlyCounts: boolean;
  /** Ids of the changed messages' threads. */
  readonly threadIds: readonly string[];
  /** If the caller named a folder: emails that changed, but were never in it during these changes. */
  readonly outside: readonly string[];
}

/** Stands for all objects of a type, in place of an id. */
export const ALL_OBJECTS = '*';

export interface EmailRecord extends ListedFacts, Omit<OpenedFacts, 'headerMessageId'> {
  readonly id: string;
  readonly folderIds: readonly string[];
  readonly isDraft: boolean;
  readonly labels: readonly string[];
  readonly messageId: string | null;
}

export interface EmailText {
  readonly id: string;
  readonly subject: string;
  /** Beginning of the message's text. */
  readonly text: string;
}

export interface ThreadRecord {
  readonly id: string;
  /** Ids of the thread's emails, oldest first. */
  readonly emailIds: readonly string[];
}

/** New flags and labels of an email. An undefined flag stays unchanged. */
export interface MarkPatch extends FlagPatch {
  readonly isDraft?: boolean | undefined;
  /** Labels to change: true adds the label, false removes it. */
  readonly labels: Readonly<Record<string, boolean>>;
  /** True to remove all labels that `labels` does not name. */
  readonly replacesLabels: boolean;
}

export interface EmailPatch {
  readonly marks: MarkPatch | null;
  /** Folders to change, by id: true adds the email to the folder, false removes it. */
  readonly folders: Readonly<Record<string, boolean>>;
  /** True to remove the email from all folders that `folders` does not name. */
  readonly replacesFolders: boolean;
}

export type EmailSetFailure =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'bad_folder'; readonly folderId: string }
  | { readonly kind: 'no_folder_left' }
  | { readonly kind: 'too_many_folders' }
  /** The patch would end a draft of the web app, which stays a draft until it is sent. */
  | { readonly kind: 'draft_fixed' };

export interface EmailSetAnswer {
  readonly oldState: string;
  readonly newState: string;
  /** One entry per message: null if it was updated, otherwise the reason why it was not. */
  readonly updated: Readonly<Record<string, EmailSetFailure | null>>;
  readonly destroyed: Readonly<Record<string, boolean>>;
}

export interface IdentityChange {
  readonly type: 'identity_created' | 'identity_updated' | 'identity_deleted';
  readonly identityId: string;
}

export interface EmailQueryRequest extends EmailQuery {
  readonly position: number;
  readonly anchor: string | null;
  readonly anchorOffset: number;
  readonly limit: number;
  readonly calculateTotal: boolean;
}

export interface EmailQueryAnswer {
  readonly position: number;
  readonly ids: readonly string[];
  /** Number of all matches; null if the client did not request it. */
  readonly total: number | null;
}

export type QueryFailure = 'anchor_not_found' | 'too_many_to_sort';

export interface StoredSubmission {
  /**
   * The outgoing message. It has raw bytes of its own, because the stored message may be changed or erased while the submission
   * waits.
   */
  readonly outbox: NewOutboxMessage;
  readonly emailId: string;
  readonly identityId: string;
  readonly limits: SendLimits;
  readonly domainHour: DomainHour;
}

export interface SubmissionRecord {
  readonly id: string;
  readonly identityId: string;
  readonly emailId: string;
  readonly threadId: string;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly sendAt: number;
  readonly isCanceled: boolean;
  /** Delivery states; empty if neither the outbox nor the submission has any. */
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
