/** Mail about an account that goes to an address outside the mailbox: links and codes for recovery of the account. */
import { randomUUID } from 'node:crypto';
import { createClock } from '../../shared/settings/clock.ts';
import { composeAutomatic } from '../domain/automatic-message.ts';
import type { AccountRow } from '../store/account-store.ts';
import { enqueueMessage } from './enqueue-message.ts';

/**
 * Puts a message into the outbox of the account's mailbox, without a copy in Sent. The sender is the postmaster, because the
 * service writes the message, not the account.
 * @throws when a store cannot be reached.
 */
export async function sendAccountMail(
  env: Env,
  account: AccountRow,
  { to, subject, text }: { readonly to: string; readonly subject: string; readonly text: string },
): Promise<void> {
  const domain = account.email.slice(account.email.lastIndexOf('@') + 1);
  const raw = composeAutomatic({
    from: { name: 'Tessera', email: `postmaster@${domain}` },
    to,
    subject,
    text,
    messageId: `<${randomUUID()}@${domain}>`,
    inReplyTo: null,
    references: [],
    now: createClock(env)(),
    autoSubmitted: 'auto-generated',
  });
  await enqueueMessage(env, account.userId, { kind: 'automatic', raw: Buffer.from(raw), from: '', to });
}
