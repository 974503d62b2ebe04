/** Builds a reply or a forwarded message: recipients, subject, quoted text. */
import { formatDateTime } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { formatAddresses, quote, replyRecipients, withPrefix } from '../model/addresses.ts';
import type { Message } from '../model/api.ts';
import { escapeHtml } from '../model/message-html.ts';
import { type Quote, quotePlain } from './quoted-html.ts';
import type { Writing } from './writing.ts';

const t = mailTexts.writing;

export type ReplyKind = 'reply' | 'all' | 'forward';

/** Accepts a text only if it has the form of a Message-ID, because it goes into a header. */
export function toMessageId(text: string | null): string | null {
  const id = text?.trim().replaceAll(/^<|>$/g, '');
  return id && /^[^<>\s\p{Cc}]+$/u.test(id) ? `<${id}>` : null;
}

/** The user's address that received the message. The reply is sent from it. */
function toOwnSender(message: Message, own: readonly string[]): string {
  const shown = [...message.to, ...message.cc].map((address) => address.email.toLowerCase());
  const received = [...shown, ...(message.delivered_to ? [message.delivered_to.toLowerCase()] : [])];
  const at = own.findIndex((address) => received.includes(address.toLowerCase()));
  return at > 0 ? (own[at] ?? '') : '';
}

/** Makes the line or lines above the quoted text, such as "On …, … wrote:". */
function toIntroduction(kind: ReplyKind, message: Message): string {
  const when = formatDateTime(message.date);
  const sender = message.from ? formatAddresses([message.from]) : t.unknownSender;
  if (kind !== 'forward') return fill(t.wrote, { when, sender });
  return fill(t.forwarded, { sender, when, subject: message.subject, to: formatAddresses(message.to) });
}

const REPLY_QUOTE_STYLE = 'margin:0 0 0 0.8ex;border-left:1px solid #cccccc;padding-left:1ex';

/** Makes a quote with an introduction. @param html the sanitised HTML of the message. */
function toQuote(kind: ReplyKind, message: Message, html: string): Quote {
  const introduction = toIntroduction(kind, message);
  const head = `<div dir="auto">${escapeHtml(introduction).replaceAll('\n', '<br>')}</div><br>`;
  return kind === 'forward'
    ? { html: head + html, text: `${introduction}\n\n${message.body}` }
    : {
        html: `${head}<blockquote style="${REPLY_QUOTE_STYLE}">${html}</blockquote>`,
        text: `${introduction}\n${quote(message.body)}`,
      };
}

/**
 * Builds a reply or a forwarded message.
 * @param own the user's addresses, the default one first.
 * @param signed the body of a new message: the signature, or empty.
 * @param html the sanitised HTML of the message; null to quote its plain text. The quote of a reply is kept outside the editor.
 */
export function toReply(
  kind: ReplyKind,
  message: Message,
  own: readonly string[],
  signed: string,
  html: string | null,
): Partial<Writing> {
  const from = toOwnSender(message, own);
  const introduction = toIntroduction(kind, message);
  const toTexts = (): Pick<Writing, 'body'> & Partial<Writing> => {
    if (html !== null) return { body: signed, quote: toQuote(kind, message, html) };
    if (kind === 'forward') return { body: `${signed}\n\n${introduction}\n\n${message.body}` };
    return { body: signed, quote: quotePlain(`${introduction}\n${quote(message.body)}`) };
  };
  const texts = toTexts();
  if (kind === 'forward') return { from, subject: withPrefix('Fwd', message.subject), forwardOf: message.id, ...texts };
  const { to, cc } = replyRecipients(message, own, kind === 'all');
  return {
    from,
    to: formatAddresses(to),
    cc: formatAddresses(cc),
    subject: withPrefix('Re', message.subject),
    ...texts,
    inReplyTo: toMessageId(message.headers.message_id),
    references: [...message.headers.references, message.headers.message_id].flatMap((id) => toMessageId(id) ?? []),
  };
}
