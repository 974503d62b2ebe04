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

export type SenderKind = 'address' | 'domain' | 'list';

export type SenderStatus = 'trusted' | 'blocked';

export interface Sender {
  readonly senderId: string;
  readonly sender: string;
  readonly kind: SenderKind;
  readonly status: SenderStatus;
  /** `user`: the user entered the sender. `mail`: the user moved a message out of Junk or into it. */
  readonly origin: 'user' | 'mail';
  readonly createdAt: number;
}

export type SenderError =
  | { readonly kind: 'bad_request'; readonly path: string; readonly message: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };
