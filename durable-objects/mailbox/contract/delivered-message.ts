/** Input and result of `Mailbox.storeMessage`: plain data. */

export const FOLDER_ROLES = ['inbox', 'all', 'archive', 'drafts', 'flagged', 'junk', 'sent', 'trash'] as const;
export type FolderRole = (typeof FOLDER_ROLES)[number];
/** Roles whose folder is a view over all mail and holds no message itself. */
export const VIEW_ROLES: readonly FolderRole[] = ['all', 'flagged'];

/** The delivery key of an accepted message, from the hash of its content and envelope. */
export const toDeliveryKey = (contentKey: string): string => `in:${contentKey}`;

export interface MailAddress {
  readonly name: string;
  readonly email: string;
}

/** Bytes of a file inside the raw message. */
export interface RawRange {
  readonly offset: number;
  readonly length: number;
  /** The transfer encoding; empty if the bytes are the file. */
  readonly encoding: string;
  /**
   * Set if the bytes are lines of Base64 and nothing else, which are decoded while they stream. `width` is the number of characters of
   * every line but the last, `end` that of its line end. If lines differ, `width` is 0, and a range of the file is read from its start.
   */
  readonly lines?: { readonly width: number; readonly end: number };
}

export interface StoredAttachment {
  /** Unique within its message. */
  readonly fileName: string;
  readonly contentType: string;
  /** Size of the decoded file. */
  readonly sizeBytes: number;
  readonly isInline: boolean;
  /** Without angle brackets. */
  readonly contentId: string | null;
  /** Key of the object with the decoded bytes; null if they are a range of the raw message. */
  readonly r2Key: string | null;
  readonly range?: RawRange;
}

/** A text, in R2 if it is over 1 MB. `value` is then its first part, for the search. */
export interface StoredText {
  readonly value: string;
  readonly r2Key: string | null;
}

/** A parsed message. The types of its texts and its attachments depend on where their bytes are. */
export interface MessageContent<Text, Attachment> {
  readonly from: MailAddress | null;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly subject: string;
  /** The Date header, milliseconds since 1970; null if it is absent or invalid. */
  readonly sentAt: number | null;
  /** Message-IDs with their angle brackets. */
  readonly messageId: string | null;
  readonly inReplyTo: string | null;
  readonly references: readonly string[];
  /** Plain text, made from the HTML if the message has none. */
  readonly text: Text;
  /** Cleaned HTML; null if the message has none. */
  readonly html: Text | null;
  /** Every header in order, name as it was written, value unfolded; at most 64 KB in all. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly attachments: readonly Attachment[];
}

/** A message whose long texts and attachments are in R2. */
export type ParsedMessage = MessageContent<StoredText, StoredAttachment>;

/** Findings of the checks about the sender of received mail, and the certainty that it is junk. */
export interface ArrivalJudgement {
  /** From and List-Id as far as authentication proves them. */
  readonly sender: { readonly address: string | null; readonly list: string | null };
  /**
   * `content`: the text or the rules say so. `certain`: a virus test, or the sender domain's own policy, which no trust overrides.
   */
  readonly junk: 'no' | 'content' | 'certain';
}

export interface StoreMessageInput {
  /**
   * A message with a known key and the same bytes is not stored again, even if other fields differ, or if a received message was
   * erased since.
   */
  readonly deliveryKey: string;
  /** The id that the message had in a lost mailbox. Default: a new one. */
  readonly messageId?: string;
  /** R2 key of the raw bytes, under `mail/<user_id>/`, already in a quorum of the locations. The mailbox then owns the object. */
  readonly rawKey: string;
  readonly rawSha256: string;
  /** Size of the raw bytes, which counts against the quota. */
  readonly sizeBytes: number;
  readonly receivedAt: number;
  readonly origin: 'received' | 'sent' | 'imported';
  /** The folder's role or id. A filter may choose another folder. */
  readonly folder: string;
  /** Other folders of the message, by role or id. */
  readonly alsoIn?: readonly string[];
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly parsed: ParsedMessage;
  /** SMTP's MAIL FROM; empty for the null sender. */
  readonly envelopeFrom: string;
  /** The address it was accepted for; null for mail that was not received. */
  readonly envelopeTo: string | null;
  /** The address or wildcard that received it, if the message was accepted. */
  readonly deliveredTo?: string;
  /** JSON of the verdicts, kept and returned unchanged. */
  readonly spam: string | null;
  readonly authentication: string | null;
  /** True to run the user's filters and vacation reply: for received mail that is not spam. */
  readonly applyRules: boolean;
  /**
   * Set for received mail: known senders then decide between Inbox and Junk, and filters that move messages also run on mail in
   * Junk.
   */
  readonly judgement?: ArrivalJudgement;
  /** False for messages that must be stored at any size: copies in Sent, delivery reports. */
  readonly enforceQuota: boolean;
}

export interface StoredMessage {
  readonly messageId: string;
  readonly emailId: string;
  readonly threadId: string;
  readonly folderId: string;
  /** Null for a folder that the user created. */
  readonly folderRole: FolderRole | null;
  /** True if the delivery key was known: nothing changed, and objects passed under other R2 keys become garbage. */
  readonly duplicate: boolean;
}

export type StoreMessageError =
  | { readonly kind: 'no_mailbox' }
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'no_folder' };
