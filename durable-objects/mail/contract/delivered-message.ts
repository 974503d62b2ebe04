/** Types of the input and the result of `Mailbox.storeMessage`. They are plain data. */

import type { FolderRole } from './folders.ts';
/** @returns the delivery key of an accepted message. @param contentKey hash of the message's content and envelope. */
export const toDeliveryKey = (contentKey: string): string => `in:${contentKey}`;

export interface MailAddress {
  readonly name: string;
  readonly email: string;
}

/** Range of the raw message that holds the bytes of a file. */
export interface RawRange {
  readonly offset: number;
  readonly length: number;
  /** Transfer encoding of the range; empty if the range is the file itself. */
  readonly encoding: string;
  /**
   * Set if the range contains only lines of Base64, which are decoded while they stream. `width` is the number of characters of
   * every line but the last; `end` is the length of the line end. If lines differ, `width` is 0, and reading any part of the file
   * starts at its beginning.
   */
  readonly lines?: { readonly width: number; readonly end: number };
}

export interface StoredAttachment {
  /** File name, unique within the message. */
  readonly fileName: string;
  readonly contentType: string;
  /** Size of the decoded file. */
  readonly sizeBytes: number;
  readonly isInline: boolean;
  /** Content-ID without angle brackets. */
  readonly contentId: string | null;
  /** R2 key of the decoded bytes; null if they are a range of the raw message. */
  readonly r2Key: string | null;
  readonly range?: RawRange;
}

/** A text of a message. If it is over 1 MB, it is stored in R2, and `value` is its first part, for the search. */
export interface StoredText {
  readonly value: string;
  readonly r2Key: string | null;
}

/** A parsed message. The type parameters say how texts and attachments hold their bytes: in memory or in R2. */
export interface MessageContent<Text, Attachment> {
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly subject: string;
  /** Time of the Date header, milliseconds since 1970; null if it is absent or invalid. */
  readonly sentAt: number | null;
  /** Message-ID with angle brackets, as in `inReplyTo` and `references`. */
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  /** Plain text of the message, made from the HTML if there is none. */
  readonly text: Text;
  /** Cleaned HTML; null if the message has no HTML. */
  readonly html: Text | null;
  /** All headers in order: the name as it was written, the value unfolded. At most 64 KB in total. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly attachments: readonly Attachment[];
}

/** A parsed message whose long texts and attachments are in R2. */
export interface ParsedMessage extends MessageContent<StoredText, StoredAttachment> {
  /** The tree of the message's parts, as JSON of `StoredPart`; absent if it is too long for a row. */
  readonly structure?: string | null;
}

/** Findings of the checks about received mail: its sender, and how certain it is that the message is junk. */
export interface ArrivalJudgement {
  /** Address in From and identifier of List-Id; each is null unless authentication proves it. */
  readonly sender: { readonly address: string | null; readonly list: string | null };
  /**
   * `content`: text or rules indicate junk. `certain`: the spam verdict is `reject`, or the DMARC policy of the sender's domain asks
   * for quarantine or rejection; trusting the sender overrides neither.
   */
  readonly junk: 'no' | 'content' | 'certain';
}

export interface StoreMessageInput {
  /**
   * Identifies the delivery. If the key is known and the bytes are the same, the message is not stored again. This also holds if
   * other fields differ, or if the earlier message was received and has been erased.
   */
  readonly deliveryKey: string;
  /** Id of the message in a lost mailbox, to be kept. Default: a new id. */
  readonly messageId?: string;
  /**
   * R2 key of the raw bytes, under `mail/<user_id>/`. The bytes must be in a quorum of the locations already. The mailbox then
   * owns the object.
   */
  readonly rawKey: string;
  readonly rawSha256: string;
  /** Size of the raw bytes, which count against the quota. */
  readonly sizeBytes: number;
  readonly receivedAt: number;
  readonly origin: 'received' | 'sent' | 'imported';
  /** Id or role of the message's first folder. A filter may choose another folder. */
  readonly folder: string;
  /** Ids or roles of the message's other folders. */
  readonly alsoIn?: readonly string[];
  /** UIDs that the message had in a lost mailbox, by the id of the folder. Default: new ones. */
  readonly uids?: Readonly<Record<string, number>>;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly parsed: ParsedMessage;
  /** Envelope sender (MAIL FROM of SMTP); empty for the null sender. */
  readonly envelopeFrom: string;
  /** Envelope recipient; null for mail that was not received. */
  readonly envelopeTo: string | null;
  /** Address or wildcard of the account that matched the recipient. Set for accepted mail only. */
  readonly deliveredTo?: string;
  /** Verdict of the spam check as JSON. The mailbox returns it unchanged, as it does `authentication`. */
  readonly spam: string | null;
  readonly authentication: string | null;
  /** True to run the user's filters and vacation reply. Set for received mail that is not spam. */
  readonly applyRules: boolean;
  /**
   * Set for received mail. Trusted and blocked senders then decide between Inbox and Junk, and filters that move messages also
   * run on mail in Junk.
   */
  readonly judgement?: ArrivalJudgement;
  /** False for messages that must be stored even over quota: copies in Sent, delivery reports. */
  readonly enforceQuota: boolean;
}

export interface StoredMessage {
  readonly messageId: string;
  readonly emailId: string;
  readonly threadId: string;
  readonly folderId: string;
  /** Role of the folder; null for a folder that the user created. */
  readonly folderRole: FolderRole | null;
  /**
   * True if the delivery key was known. Nothing was changed then; objects that the caller stored under other R2 keys become
   * garbage.
   */
  readonly duplicate: boolean;
}

export type StoreMessageError =
  | { readonly kind: 'no_mailbox' }
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'no_folder' };
