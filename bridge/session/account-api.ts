/** The routes of the Worker that the bridge uses, and the shapes of their answers. */

export type Role = 'inbox' | 'drafts' | 'sent' | 'junk' | 'trash' | 'archive';

export interface Folder {
  readonly folder_id: string;
  /** The whole path, with parts separated by `/`. */
  readonly name: string;
  readonly role: Role | null;
  readonly total: number;
  readonly unread: number;
  readonly uid_next: number;
  readonly is_subscribed: boolean;
}

export interface Overview {
  readonly user_id: string;
  readonly address: string;
  readonly addresses: readonly string[];
  readonly message_bytes_max: number;
  readonly uid_validity: number;
  readonly state: string;
  readonly folders: readonly Folder[];
}

/** uid, message id, keywords, size in bytes, time of arrival in milliseconds, change number. */
export type MessageRow = readonly [
  uid: number,
  messageId: string,
  keywords: readonly string[],
  sizeBytes: number,
  receivedAtMs: number,
  modseq: number | string,
];

export interface MessagePage {
  readonly uid_validity: number;
  readonly uid_next: number;
  readonly state: string;
  readonly messages: readonly MessageRow[];
  readonly next_after_uid: number | null;
}

export interface FolderChanges {
  readonly state: string;
  readonly uid_validity: number;
  readonly uid_next: number;
  readonly resync: boolean;
  readonly messages: readonly MessageRow[];
  readonly gone: readonly string[];
}

/** A part of a MIME tree. `start`, `body` and `end` are offsets in the raw message: of its header, its body and its end. */
export interface Part {
  readonly type: string;
  readonly subtype: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly id?: string | null;
  readonly description?: string | null;
  readonly encoding: string;
  readonly octets: number;
  readonly lines?: number | null;
  readonly md5?: string | null;
  readonly disposition?: { readonly type: string; readonly parameters: Readonly<Record<string, string>> } | null;
  readonly language?: string | readonly string[] | null;
  readonly location?: string | null;
  readonly start: number;
  readonly body: number;
  readonly end: number;
  readonly parts?: readonly Part[];
  /** Header block of an enclosed message, in Base64. */
  readonly envelope_header?: string;
  readonly message?: Part;
}

export interface FetchedMessage {
  readonly message_id: string;
  readonly header?: string;
  readonly structure?: Part;
}

export interface FlagResult {
  readonly state: string;
  readonly messages: readonly MessageRow[];
  readonly modified: readonly string[];
}

export interface CopyResult {
  readonly uid_validity: number;
  readonly state: string;
  readonly copied: readonly (readonly [messageId: string, oldUid: number, newUid: number])[];
}

export interface ExpungeResult {
  readonly state: string;
  readonly gone: readonly (readonly [messageId: string, uid: number])[];
}

export interface AppendResult {
  readonly uid_validity: number;
  readonly uid: number;
  readonly message_id: string;
  readonly state: string;
}

/** Messages per request of `POST /v1/imap/fetch`. */
export const MESSAGES_PER_FETCH = 170;
/** Messages per request of flags, copy and expunge. */
export const MESSAGES_PER_CHANGE = 1_000;
export const ROWS_PER_PAGE = 10_000;
