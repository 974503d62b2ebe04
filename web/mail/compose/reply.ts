/** Builds a reply or a forwarded message: recipients, subject, quoted text. */
import { formatAddresses, quote, replyRecipients, withPrefix } from '../model/addresses.ts';
import type { Message } from '../model/api.ts';
import type { Writing } from './writing.ts';

export type ReplyKind = 'reply' | 'all' | 'forward';

/** Accepts only the form of a Message-ID, because the value goes into a header. */
function toMessageId(text: string | null): string | null {
  const id = text?.trim().replaceAll(/^<|>$/g, '');
  return id && /^[^<>\s\p{Cc}]+$/u.test(id) ? `<${id}>` : null;
}

/** The user's address that received the message. The reply is sent from it. */
function toOwnSender(message: Message, own: readonly string[]): string {
  const received = [...message.to, ...message.cc].map((address) => address.email.toLowerCase());
  const at = own.findIndex((address) => received.includes(address.toLowerCase()));
  return at > 0 ? (own[at] ?? '') : '';
}

/**
 * @param own the user's addresses, the default one first.
 * @param signed the body of a new message: the signature, or empty.
 */
export function toReply(kind: ReplyKind, message: Message, own: readonly string[], signed: string): Partial<Writing> {
  const when = new Date(message.date).toLocaleString();
  const sender = message.from ? formatAddresses([message.from]) : 'somebody';
  const from = toOwnSender(message, own);
  if (kind === 'forward') {
    const head = `---------- Forwarded message ----------\nFrom: ${sender}\nDate: ${when}\nSubject: ${message.subject}\nTo: ${formatAddresses(message.to)}`;
    return { from, subject: withPrefix('Fwd', message.subject), body: `${signed}\n\n${head}\n\n${message.body}` };
  }
  const { to, cc } = replyRecipients(message, own, kind === 'all');
  return {
    from,
    to: formatAddresses(to),
    cc: formatAddresses(cc),
    subject: withPrefix('Re', message.subject),
    body: `${signed}\n\nOn ${when}, ${sender} wrote:\n${quote(message.body)}`,
    inReplyTo: toMessageId(message.headers.message_id),
    references: [...message.headers.references, message.headers.message_id].flatMap((id) => toMessageId(id) ?? []),
  };
}
