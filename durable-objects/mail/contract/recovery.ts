/** What a lost mailbox is rebuilt from, and which stored objects no mailbox holds. */
import type { Flags } from '../../../workers/mail/domain/message-flags.ts';
import type { FolderRole } from './folders.ts';

export interface Unheld {
  readonly keys: string[];
  /**
   * Time when the mailbox was created, milliseconds since 1970. For objects stored before it, the mailbox cannot tell whether
   * they have an owner.
   */
  readonly createdAt: number;
}

export interface RebuildSource {
  readonly position: number;
  readonly messageId: string;
  readonly rawKey: string;
  /**
   * True for a sent message. Its files must have R2 objects of their own, because they become files of a draft if sending is
   * canceled.
   */
  readonly isSent: boolean;
}

export interface FolderState {
  readonly id: string;
  readonly role: FolderRole | null;
  readonly name: string;
  /** UIDVALIDITY of the mailbox; absent in snapshots by 0.2.0. */
  readonly uidValidity?: number;
}

export interface MessageSnapshot extends Flags {
  readonly id: string;
  readonly rawKey: string;
  readonly receivedAt: number;
  /** Ids of the message's folders, the first folder first. */
  readonly folders: readonly string[];
  readonly snoozedUntil: number | null;
  readonly labels: readonly string[];
  /** UIDs of the message in `folders`, in the same order; null where it had none. Absent in snapshots by 0.2.0. */
  readonly uids?: readonly (number | null)[];
}

/** What is known of the UIDs of a lost mailbox. */
export interface FormerUids {
  /** UIDVALIDITY of the lost mailbox; null if it is not known. */
  readonly validity: number | null;
  /** The greatest UID in the snapshot. */
  readonly last: number;
  /** True if every stored raw message is in the snapshot with its UIDs. */
  readonly isComplete: boolean;
}

/** Reason of the end of an object that was put back to an earlier state, which its caller expects. */
export const PUT_BACK = 'the mailbox is put back';

/** A list of mailboxes that were put back to an earlier state (`workers/shared/stores/object-ages.ts`). */
export interface ObjectNumberList {
  readonly version: number;
  readonly numbers: Readonly<Record<string, number>>;
}
