/**
 * States of masked addresses, as Fastmail's `MaskedEmail` defines them (https://www.fastmail.com/developer/maskedemail), except that
 * the sender learns the end at once: mail to a deleted address is refused at SMTP.
 */

/**
 * - `pending`: made, but no mail has come. It ends by itself after a day; the first message enables it.
 * - `enabled`: mail goes to the Inbox.
 * - `disabled`: mail is accepted and goes to Trash.
 * - `deleted`: ended. Mail to it and from it is refused. It can be opened again.
 */
export type MaskedState = 'pending' | 'enabled' | 'disabled' | 'deleted';

/** States that a person or a client may choose. */
export const CHOSEN_STATES = ['enabled', 'disabled', 'deleted'] as const;

/** Time in which the first message must come to a pending address. */
export const PENDING_MS = 24 * 3_600_000;

export interface MaskedFacts {
  readonly state: MaskedState;
  readonly createdAt: number;
  /** Time of the newest message, precise to an hour; null before the first one. */
  readonly lastMessageAt: number | null;
}

/** @returns the state as of now. A stored `pending` ends without a write. */
export const toEffectiveState = (
  { state, createdAt }: Pick<MaskedFacts, 'state' | 'createdAt'>,
  now: number,
): MaskedState => (state === 'pending' && now - createdAt > PENDING_MS ? 'deleted' : state);

/** Whether an address receives mail and may be a sender. Addresses that are not masked (null) do. */
export const isOpen = (facts: Pick<MaskedFacts, 'state' | 'createdAt'> | null, now: number): boolean =>
  facts === null || toEffectiveState(facts, now) !== 'deleted';
