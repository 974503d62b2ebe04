/** Keys of senders that a user trusts or blocks: an address, a domain (`@x.test`) or a mailing list (`<dev.x.test>`). Pure. */
import { parseMailPath, toAsciiDomain } from '../../../workers/mail/domain/mail-path.ts';

const LABELS = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;
const LENGTH_MAX = 255;

/** @returns the key in lower case with its domain in A-labels; null if the text has none of the three forms. */
export function toSenderKey(text: string): string | null {
  const value = text.trim();
  if (value.length > LENGTH_MAX) return null;
  if (value.startsWith('<')) {
    const list = value.slice(1, -1).toLowerCase();
    const isList = value.endsWith('>') && list.includes('.') && !list.includes('..') && LABELS.test(list);
    return isList ? `<${list}>` : null;
  }
  if (value.startsWith('@')) {
    const domain = toAsciiDomain(value.slice(1));
    return domain === null ? null : `@${domain}`;
  }
  return parseMailPath(value)?.email.toLowerCase() ?? null;
}

export const kindOfSender = (key: string) =>
  key.startsWith('@') ? 'domain' : key.startsWith('<') ? 'list' : 'address';

/** @returns the keys that match a sender, the most specific first. */
export function listSenderKeys(sender: { readonly address: string | null; readonly list: string | null }): string[] {
  const { address, list } = sender;
  return [
    ...(address === null ? [] : [address]),
    ...(list === null ? [] : [`<${list}>`]),
    ...(address === null ? [] : [address.slice(address.lastIndexOf('@'))]),
  ];
}
