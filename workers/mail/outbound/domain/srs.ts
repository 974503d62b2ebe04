/**
 * Sender rewriting (SRS0, https://www.libsrs2.net/srs/srs.pdf): a forwarded message gets an envelope sender of ours, so
 * that SPF passes at the next hop, from which the first sender can be read again when a report comes back. A hash keeps
 * strangers from making us relay to anybody.
 */
import { createHmac } from 'node:crypto';

const DAY_MS = 86_400_000;
/** Reports arrive within days; after that the address is worth nothing. */
const VALID_DAYS = 21;
const TIME_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * @param sender the first envelope sender; the null sender stays null, so that no report about a report is made.
 * @param domain one of ours.
 */
export function rewriteSender(sender: string, domain: string, secret: string, now: number): string {
  const at = sender.lastIndexOf('@');
  if (at <= 0) return '';
  const body = `${formatDay(now)}=${sender.slice(at + 1).toLowerCase()}=${sender.slice(0, at)}`;
  return `SRS0=${hashOf(body, secret)}=${body}@${domain}`;
}

/** @returns the first sender, or null when the address is not one of ours, is too old, or was tampered with. */
export function restoreSender(localPart: string, secret: string, now: number): string | null {
  const match = /^SRS0[=+-]([a-z2-7]+)=(([a-z2-7]{2})=([^=@\s]+)=([^@\s]+))$/i.exec(localPart);
  const [, hash, body, day, domain, local] = match ?? [];
  if (!hash || !body || !day || !domain || !local) return null;
  // Some servers fold the case of what they answer to: the hash is compared without it.
  const isOurs = hashOf(body, secret) === hash.toLowerCase();
  const age = (dayOf(now) - parseDay(day) + 1024) % 1024;
  return isOurs && age <= VALID_DAYS ? `${local}@${domain}` : null;
}

const dayOf = (now: number): number => Math.floor(now / DAY_MS) % 1024;
const formatDay = (now: number): string =>
  `${TIME_ALPHABET[dayOf(now) >> 5] ?? ''}${TIME_ALPHABET[dayOf(now) & 31] ?? ''}`;
const parseDay = (text: string): number =>
  [...text.toLowerCase()].reduce((sum, letter) => sum * 32 + TIME_ALPHABET.indexOf(letter), 0);

function hashOf(body: string, secret: string): string {
  const bytes = createHmac('sha256', secret).update(body.toLowerCase()).digest().subarray(0, 6);
  return (
    [...bytes].map((byte) => TIME_ALPHABET[byte & 31] ?? '').join('') + (TIME_ALPHABET[(bytes[0] ?? 0) >> 3] ?? '')
  );
}
