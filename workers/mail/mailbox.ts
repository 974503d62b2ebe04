/** The way from mail's routes and workers to a user's mailbox object. */
import type { Mailbox } from '../../durable-objects/mailbox/index.ts';

/** What can be called from outside: the object's public methods, plain data in and out. */
export type MailboxRpc = Omit<Mailbox, 'alarm' | 'webSocketMessage' | 'webSocketClose' | 'webSocketError'>;

/**
 * @param userId names the object: the same user is always the same mailbox.
 * The stub's own type maps every member through "is this serialisable?", which turns records of unknown into nothing; all
 * methods of `Mailbox` take and give plain data, so its declared type is the truth.
 */
export function openMailbox(env: Env, userId: string): MailboxRpc {
  return env.MAILBOX.get(env.MAILBOX.idFromName(userId)) as unknown as MailboxRpc;
}
