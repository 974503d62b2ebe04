/**
 * Return paths: envelope senders of forwarded mail, based on SRS (http://www.libsrs2.net/srs/srs.pdf), such as
 * `ann+SRS0=hash=day=far.test=a@ours`. SPF passes at the next server because the domain is ours. A failure report goes to the user
 * who forwarded. Forged and expired return paths are refused. Pure.
 *
 * By design, the address begins with its owner, so no table is needed to find the owner. Comparisons ignore case, because some
 * servers change it.
 */
import { type MailPath, parseMailPath } from './mail-path.ts';

const MARK = '+srs0=';
/** Days until a return path expires: twice the sum of five days of retries here and five days at the next server. */
const DAYS_VALID = 21;
/** Days are counted modulo this number, so that a day fits in two base32 digits. */
const DAYS_COUNTED = 1024;
const DAY_MS = 86_400_000;
const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567';
const LOCAL_LENGTH_MAX = 64;

/** @returns a keyed hash of the text in base32: at least 8 characters, in lower case. */
export type SignText = (text: string) => string;

/**
 * Makes a return path.
 * @param owner an address of the user who forwards.
 * @param sender envelope sender of the forwarded message.
 */
export function toReturnPath(owner: MailPath, sender: string, now: number, sign: SignText): string {
  const day = toDay(now);
  const from = parseMailPath(sender);
  const tail = from ? `=${from.domain}=${from.local}`.toLowerCase() : '';
  const local = owner.local.toLowerCase();
  const toLocal = (about: string) =>
    `${local}${MARK.toUpperCase()}${sign(`${owner.domain} ${local} ${day}${about}`).slice(0, 8)}=${day}${about}`;
  const isPlain = /^[a-z0-9=.+_-]*$/.test(tail);
  const whole = toLocal(isPlain ? tail : '');
  // The original sender only helps people who read logs. If it does not fit, it is omitted.
  return `${whole.length <= LOCAL_LENGTH_MAX ? whole : toLocal('')}@${owner.domain}`;
}

/** Reads a return path. @returns null if the address is not one; `false` if it is forged or expired. */
export function readReturnPath(
  path: MailPath,
  now: number,
  signers: readonly SignText[],
): { owner: string } | false | null {
  const local = path.local.toLowerCase();
  const at = local.indexOf(MARK);
  if (at <= 0) return null;
  const owner = local.slice(0, at);
  const parts = /^([a-z2-7]{8})=([a-z2-7]{2})(=.*)?$/.exec(local.slice(at + MARK.length));
  if (!parts) return false;
  const [, hash, day = '', about = ''] = parts;
  const isOurs = signers.some((sign) => sign(`${path.domain} ${owner} ${day}${about}`).slice(0, 8) === hash);
  const age = (Math.floor(now / DAY_MS) - fromDay(day) + DAYS_COUNTED) % DAYS_COUNTED;
  return isOurs && age <= DAYS_VALID ? { owner: `${owner}@${path.domain}` } : false;
}

const DAEMON = 'mailer-daemon+';

/** Makes the From address of a report that leaves this service. Its owner is the user whose mailbox sends the report. */
export const toDaemonAddress = (userId: string, domain: string): string => `${DAEMON}${userId}@${domain}`;

/** @returns the user id in the address of a report; null if the address is not one. */
export const readDaemonAddress = ({ local }: MailPath): string | null =>
  /^mailer-daemon\+([0-9a-f-]{36})$/i.exec(local)?.[1]?.toLowerCase() ?? null;

const toDay = (now: number): string => {
  const day = Math.floor(now / DAY_MS) % DAYS_COUNTED;
  return `${DIGITS[day >> 5]}${DIGITS[day & 31]}`;
};
const fromDay = (text: string): number => DIGITS.indexOf(text[0] ?? '') * 32 + DIGITS.indexOf(text[1] ?? '');

/** Encodes bytes as base32 (RFC 4648 §6) in lower case, without padding. */
export function toBase32(bytes: Uint8Array): string {
  let bits = 0;
  let count = 0;
  let text = '';
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xffff;
    count += 8;
    for (; count >= 5; count -= 5) text += DIGITS[(bits >> (count - 5)) & 31];
  }
  return count > 0 ? text + DIGITS[(bits << (5 - count)) & 31] : text;
}
