/** Access to a user's mailbox object. */
import { openObject } from '../../shared/stores/object-namespace.ts';

/**
 * Opens a user's mailbox.
 * @param userId names the object, so a user always has the same mailbox.
 * @returns a stub with the methods of `Mailbox`. Each call is one request to the object, passes plain data, and throws when the
 * object cannot be reached. The stub needs no disposal.
 */
export function openMailbox(env: Env, userId: string) {
  return openObject(env, env.MAILBOX, userId);
}

const HINTS: Readonly<Record<ContinentCode, DurableObjectLocationHint | null>> = {
  AF: 'afr',
  AN: null,
  AS: 'apac',
  EU: 'weur',
  NA: 'enam',
  OC: 'oc',
  SA: 'sam',
};

/** @returns the continent of a request; null on a local server, where requests have no location. */
export const continentOf = (request: Request): ContinentCode | null =>
  (request.cf?.continent as ContinentCode | undefined) ?? null;

/**
 * Opens a mailbox as `openMailbox` does, for the call that creates it. Places a new object on its owner's continent. The placement
 * does not change which object it is, and an existing object does not move.
 */
export function placeMailbox(env: Env, userId: string, continent: ContinentCode | null) {
  const locationHint = continent === null ? null : HINTS[continent];
  return openObject(env, env.MAILBOX, userId, locationHint === null ? {} : { locationHint });
}

/**
 * True if a call failed because the object was not reached. An error that the object's own code threw is `remote` and neither
 * `retryable` nor `overloaded`.
 */
export function isUnreachable(error: unknown): boolean {
  const { remote, retryable, overloaded } = error as { remote?: boolean; retryable?: boolean; overloaded?: boolean };
  return !remote || retryable === true || overloaded === true;
}

export type MailboxRpc = ReturnType<typeof openMailbox>;
