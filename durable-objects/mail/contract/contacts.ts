/** Contacts, and senders that the user trusts or blocks. */

export interface Contact {
  readonly contactId: string;
  readonly name: string;
  readonly email: string;
  readonly note: string;
  /** True if the user saved the contact; false if it was gathered from sent mail. */
  readonly isSaved: boolean;
  readonly sentCount: number;
  readonly lastSentAt: number | null;
}

export interface ContactFields {
  readonly name: string;
  readonly email: string;
  readonly note: string;
}

export interface ContactCursor {
  readonly sentCount: number;
  readonly email: string;
}

export type ContactError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'conflict'; readonly detail: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

export const SENDER_KINDS = ['address', 'domain', 'list'] as const;
export type SenderKind = (typeof SENDER_KINDS)[number];

/** Decisions about a sender. Schemas and the web app derive from this list. */
export const SENDER_STATUSES = ['trusted', 'blocked'] as const;
export type SenderStatus = (typeof SENDER_STATUSES)[number];

/** `user`: the user entered the sender. `mail`: the user moved a message out of Junk or into it. */
export const SENDER_ORIGINS = ['user', 'mail'] as const;

export interface Sender {
  readonly senderId: string;
  readonly sender: string;
  readonly kind: SenderKind;
  readonly status: SenderStatus;
  readonly origin: (typeof SENDER_ORIGINS)[number];
  readonly createdAt: number;
}

export type SenderError =
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };
