/** Access to a user's mailbox object. */
import { openObject } from '../../shared/object-namespace.ts';

/**
 * @param userId names the object: one user always has the same mailbox.
 * @returns a stub with the methods of `Mailbox`. Each call is one request to the object, passes plain data, and throws when the
 * object cannot be reached. The stub needs no disposal.
 */
export function openMailbox(env: Env, userId: string) {
  return openObject(env, env.MAILBOX, userId);
}

export type MailboxRpc = ReturnType<typeof openMailbox>;
