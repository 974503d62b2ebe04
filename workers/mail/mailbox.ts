/** The way from mail's routes and workers to a user's mailbox object. */

/**
 * @param userId names the object: the same user is always the same mailbox.
 * @returns a stub whose methods are those of `Mailbox`. Each call is one request to the object, takes and returns plain data, and may
 * throw when the object cannot be reached. There is nothing to dispose of.
 */
export function openMailbox(env: Env, userId: string) {
  return env.MAILBOX.get(env.MAILBOX.idFromName(userId));
}

export type MailboxRpc = ReturnType<typeof openMailbox>;
