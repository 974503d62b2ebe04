/** Cards: contacts as programs on phones and computers know them (vCard, by CardDAV). */

export interface Card {
  /** Last part of the card's address, chosen by the program that made it. */
  readonly name: string;
  /** Number of the change that wrote the card. Its ETag. */
  readonly state: number;
  readonly sizeBytes: number;
  /** The card as it was stored; null if only its state was asked for. */
  readonly vcard: string | null;
}

/** A page of cards, by name. */
export interface CardPage {
  readonly cards: readonly Card[];
  /** Name after which the next page begins; null at the end. */
  readonly next: string | null;
}

export interface CardChangePage {
  readonly changes: readonly (Card & { readonly isDeleted: boolean })[];
  /** Place after which the next page begins; null at the end. */
  readonly next: CardChangePlace | null;
}

export interface CardChangePlace {
  readonly state: number;
  readonly name: string;
}

/** State of the book of cards. */
export interface CardBook {
  /** Number of the last change of a card. */
  readonly state: number;
  /** Changes after an earlier number than this one are not known completely. */
  readonly floor: number;
}

/** What a request says of the card that it overwrites (RFC 9110 §13.1). */
export interface CardCondition {
  /** States of which the card must have one; null for any state. `[]` is met by any card that there is. */
  readonly ifMatch: readonly number[] | null;
  /** Whether there must be no card with the name. */
  readonly ifAbsent: boolean;
}

export type CardError =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'condition_failed' }
  | { readonly kind: 'uid_conflict'; readonly name: string }
  | { readonly kind: 'too_many'; readonly what: string; readonly max: number };

export interface NewCard {
  readonly name: string;
  readonly vcard: string;
}

export interface SavedCard {
  readonly state: number;
  readonly isNew: boolean;
}
