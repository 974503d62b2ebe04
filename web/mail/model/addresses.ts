/** Formats and parses mail addresses, and finds the recipients of a reply. Pure. */

import { mailTexts } from '../../shared/texts/mail.ts';
import type { Address } from './api.ts';

export const describeAddress = (address: Address | null | undefined): string =>
  address ? address.name || address.email : mailTexts.reader.unknownSender;

export const formatAddress = (address: Address): string => {
  if (!address.name) return address.email;
  const name = /^[\w .'-]+$/.test(address.name) ? address.name : `"${address.name.replaceAll(/["\\]/g, '')}"`;
  return `${name} <${address.email}>`;
};

export const formatAddresses = (addresses: readonly Address[] | undefined): string =>
  (addresses ?? []).map(formatAddress).join(', ');

/** Parses a list such as `Ann <ann@a.test>, "B, C" <b@c.test>, d@e.test`. Parts that are not addresses are returned in `bad`. */
export function parseAddresses(text: string): { addresses: Address[]; bad: string[] } {
  const addresses: Address[] = [];
  const bad: string[] = [];
  for (const part of splitAddresses(text)) {
    const match = /^(?:"?([^"<>]*?)"?\s*)?<([^<>\s]+@[^<>\s]+)>$/.exec(part);
    if (match?.[2]) addresses.push(match[1] ? { name: match[1].trim(), email: match[2] } : { email: match[2] });
    else if (/^[^\s<>@]+@[^\s<>@]+$/.test(part)) addresses.push({ email: part });
    else bad.push(part);
  }
  return { addresses, bad };
}

/** Splits a list of addresses at commas, semicolons and line ends outside quotes. */
export function splitAddresses(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  let isQuoted = false;
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    if (!isQuoted && (char === ',' || char === ';' || char === '\n')) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  parts.push(part);
  return parts.map((one) => one.trim()).filter(Boolean);
}

/**
 * Recipients of a reply: the sender's reply address. "Reply to all" adds the other recipients, except the user. A reply
 * to the user's own message goes to its recipients.
 */
export function replyRecipients(
  message: { from: Address | null; reply_to?: Address[] | null; to: Address[]; cc: Address[] },
  own: readonly string[],
  isAll: boolean,
): { to: Address[]; cc: Address[] } {
  const isOwn = (address: Address) => own.some((email) => email.toLowerCase() === address.email.toLowerCase());
  const isFromSelf = message.from !== null && isOwn(message.from);
  const replyTo =
    message.reply_to && message.reply_to.length > 0 ? message.reply_to : message.from ? [message.from] : [];
  const to = isFromSelf ? message.to : replyTo;
  if (!isAll) return { to, cc: [] };
  const taken = new Set(to.map((address) => address.email.toLowerCase()));
  const others = (list: Address[]) =>
    list.filter((address) => {
      const email = address.email.toLowerCase();
      if (isOwn(address) || taken.has(email)) return false;
      taken.add(email);
      return true;
    });
  return isFromSelf ? { to, cc: others(message.cc) } : { to: [...to, ...others(message.to)], cc: others(message.cc) };
}

export const withPrefix = (prefix: 'Re' | 'Fwd', subject: string): string =>
  new RegExp(`^${prefix}:`, 'i').test(subject) ? subject : `${prefix}: ${subject}`;

export function quote(body: string): string {
  return body
    .trimEnd()
    .split('\n')
    .map((line) => (line.startsWith('>') ? `>${line}` : `> ${line}`))
    .join('\n');
}
