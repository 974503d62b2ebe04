/** Access to a user's mailbox object. */
import { isGuarded } from '../../shared/stores/guarded-database.ts';
import { openObject } from '../../shared/stores/object-namespace.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';
import { refuseOlderMailbox } from './mailbox-age.ts';

/**
 * Opens a user's mailbox.
 * @param userId names the object, so a user always has the same mailbox.
 * @returns a stub with the methods of `Mailbox`. Each call is one request to the object, passes plain data, and throws when the
 * object cannot be reached, and `OlderStoreError` if it was put back to an earlier state. The stub needs no disposal.
 */
export const openMailbox = (env: Env, userId: string) => guardCalls(env, userId, openObject(env, env.MAILBOX, userId));

/** Members of a stub that call nothing. */
const MEMBERS = new Set<string | symbol>(['id', 'name', 'then', 'dup', 'connect']);

/** Compares the mailbox with its number outside beside each call. Work that mends mailboxes has an environment without a guard. */
function guardCalls<T extends object>(env: Env, userId: string, stub: T): T {
  if (!isGuarded(env)) return stub;
  return new Proxy(stub, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || MEMBERS.has(name)) return member;
      return async (...args: unknown[]) => {
        const call = async () => Reflect.apply(member as (...values: unknown[]) => unknown, target, args);
        try {
          return (await Promise.all([call(), refuseOlderMailbox(env, userId)]))[0];
        } catch (error) {
          // The object itself says it without the class of the error, which calls do not pass.
          const isOlder = error instanceof Error && error.message.startsWith(new OlderStoreError('MAILBOX').message);
          throw isOlder ? new OlderStoreError(`MAILBOX ${userId}`) : error;
        }
      };
    },
  });
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
  return guardCalls(env, userId, openObject(env, env.MAILBOX, userId, locationHint === null ? {} : { locationHint }));
}

/**
 * True if a call failed because the object was not reached. An error that the object's own code threw is `remote` and neither
 * `retryable` nor `overloaded`.
 */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof OlderStoreError) return false;
  const { remote, retryable, overloaded } = error as { remote?: boolean; retryable?: boolean; overloaded?: boolean };
  return !remote || retryable === true || overloaded === true;
}

export type MailboxRpc = ReturnType<typeof openMailbox>;
