/** What mail programs of IMAP read and write: folders with UIDs, marks of a message in a folder, and changes since a state. */
import type { FlagPatch, Flags } from '../../../workers/mail/domain/message-flags.ts';
import type { StoreMessageInput } from './delivered-message.ts';
import type { FolderRole } from './folders.ts';

export interface ImapFolder {
  readonly folderId: string;
  /** Whole path of the folder. */
  readonly name: string;
  readonly role: FolderRole | null;
  readonly total: number;
  readonly unread: number;
  readonly isSubscribed: boolean;
  readonly uidNext: number;
}

/** Numbers that each answer has. */
export interface ImapState {
  readonly uidValidity: number;
  /** Number of the mailbox's last change. */
  readonly state: number;
}

export interface ImapAccount extends ImapState {
  readonly accountType: string;
  readonly folders: readonly ImapFolder[];
}

/** A message in a folder. */
export interface ImapMessage extends Flags {
  readonly uid: number;
  readonly messageId: string;
  readonly isDraft: boolean;
  /** True if the message is marked for removal from this folder. */
  readonly isDeleted: boolean;
  readonly labels: readonly string[];
  readonly sizeBytes: number;
  readonly receivedAt: number;
  /** Number of the message's last change; the number before the oldest change of the log if that is longer ago. */
  readonly modseq: number;
  /** True for a draft that was written in the app. Its raw message is composed when it is read, and `sizeBytes` is not its size. */
  readonly isComposed: boolean;
}

export interface ImapPage extends ImapState {
  readonly uidNext: number;
  readonly messages: readonly ImapMessage[];
  /** UID after which the next page begins; null on the last page. */
  readonly nextAfterUid: number | null;
}

export interface ImapChanges extends ImapState {
  readonly uidNext: number;
  /** True if the log does not have all changes since the state. The client lists the folder again. */
  readonly isResync: boolean;
  /** Messages of the folder that were added or changed. */
  readonly messages: readonly ImapMessage[];
  /** Ids of changed messages that are not in the folder. */
  readonly gone: readonly string[];
}

/** Marks to change of messages in a folder. An undefined mark stays. */
export interface ImapMarks extends FlagPatch {
  readonly isDraft?: boolean | undefined;
  readonly isDeleted?: boolean | undefined;
  readonly addLabels: readonly string[];
  readonly removeLabels: readonly string[];
}

export interface ImapMarked extends ImapState {
  readonly messages: readonly ImapMessage[];
  /** Ids of messages that changed after `unchangedSince` and were left alone. */
  readonly modified: readonly string[];
}

export interface ImapCopied extends ImapState {
  readonly copied: readonly (readonly [messageId: string, oldUid: number, newUid: number])[];
}

export interface ImapExpunged extends ImapState {
  readonly gone: readonly (readonly [messageId: string, uid: number])[];
}

/** A message that a program puts into a folder. */
export interface ImapAppend {
  readonly folderKey: string;
  readonly marks: ImapMarks;
  readonly input: StoreMessageInput;
}

export interface ImapAppended extends ImapState {
  readonly uid: number;
  readonly messageId: string;
}

/** What a fetch needs of a message. */
export interface ImapSource {
  readonly messageId: string;
  /** R2 key of the raw message; null for a draft that was written in the app. */
  readonly rawKey: string | null;
  /** JSON of `StoredPart`; null if it is not stored. */
  readonly structure: string | null;
}
