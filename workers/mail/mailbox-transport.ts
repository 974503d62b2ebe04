/** Transport's calls of a mailbox object, as methods that give promises. */
import type { TransportCallName, TransportCalls } from '../../durable-objects/mailbox/transport-calls.ts';
import { openMailbox } from './mailbox.ts';

type NoMailbox = { readonly ok: false; readonly error: { readonly kind: 'no_mailbox' } };

export type MailboxTransport = {
  readonly [N in TransportCallName]: TransportCalls[N] extends (at: never, ...values: infer V) => infer R
    ? (...values: V) => Promise<R | NoMailbox>
    : never;
};

/** Every call may throw when the object cannot be reached. */
export function openTransport(env: Env, userId: string): MailboxTransport {
  const mailbox = openMailbox(env, userId);
  return new Proxy({} as MailboxTransport, {
    get:
      (_, name) =>
      (...values: unknown[]) =>
        mailbox.transport(name as TransportCallName, values),
  });
}
