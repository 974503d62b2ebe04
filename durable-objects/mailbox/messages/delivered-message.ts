/** What comes into a mailbox and what comes of it: the plain data of `Mailbox.storeMessage`. */

export const FOLDER_ROLES = ['inbox', 'all', 'archive', 'drafts', 'flagged', 'junk', 'sent', 'trash'] as const;
export type FolderRole = (typeof FOLDER_ROLES)[number];
/** Roles whose folder is a view over all mail: nothing lies in them. */
export const VIEW_ROLES: readonly FolderRole[] = ['all', 'flagged'];

export interface MailAddress {
  readonly name: string;
  readonly email: string;
}

export interface StoredAttachment {
  /** Made unique within its message. */
  readonly fileName: string;
  readonly contentType: string;
  /** Of the decoded file. */
  readonly sizeBytes: number;
  readonly isInline: boolean;
  /** Without angle brackets. */
  readonly contentId: string | null;
  /** Of the decoded bytes, in every location. */
  readonly r2Key: string;
}

/** A text in the row, or in R2 when it is over 1 MB; then `value` is its first part, for the search. */
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

export interface StoreMessageInput {
  /** The same key stores nothing twice, whatever else differs, even after the message was erased. */
  readonly deliveryKey: string;
  /** R2 key of the raw bytes, under `mail/<user_id>/`, already in every location. The mailbox owns it from here on. */
  readonly rawKey: string;
  readonly rawSha256: string;
  /** Of the raw bytes: what counts against the quota. */
  readonly sizeBytes: number;
  readonly receivedAt: number;
  readonly origin: 'received' | 'sent' | 'imported';
  /** Where it goes: a role, or a folder's id, unless a filter says otherwise. */
  readonly folder: string;
  readonly isRead: boolean;
  readonly isFlagged: boolean;
  readonly labels: readonly string[];
  readonly parsed: ParsedMessage;
  /** SMTP's MAIL FROM; empty for the null sender. */
  readonly envelopeFrom: string;
  /** The address it was accepted for; null for mail that was not received. */
  readonly envelopeTo: string | null;
  /** JSON of the verdicts, kept and returned as it is. */
  readonly spam: string | null;
  readonly authentication: string | null;
  /** Run the user's filters and vacation reply: for received mail that is no spam. */
  readonly applyRules: boolean;
  /** False for what must be kept at any size: a copy of what was sent, a delivery report. */
  readonly enforceQuota: boolean;
}

export interface StoredMessage {
  readonly messageId: string;
  readonly emailId: string;
  readonly threadId: string;
  readonly folderId: string;
  /** Null for a folder of the user's own. */
  readonly folderRole: FolderRole | null;
  /** True when the key was known: nothing was changed, and what was passed in R2 may be removed if its keys differ. */
  readonly duplicate: boolean;
}

export type StoreMessageError =
  | { readonly kind: 'no_mailbox' }
  | { readonly kind: 'over_quota'; readonly usedBytes: number; readonly limitBytes: number }
  | { readonly kind: 'no_folder' };
