/** Expands SPF macros (RFC 7208 §7). */
import type { IpAddress } from '../../../shared/pure/ip-address.ts';

export interface SpfMacroValues {
  readonly ip: IpAddress;
  /** The envelope sender, `local@domain`. The local part is `postmaster` if the sender has none. */
  readonly sender: string;
  readonly domain: string;
  readonly helo: string;
  /** Looks up the validated name of the client. Called only if a macro uses it. */
  readonly clientName: () => Promise<string>;
  readonly now: number;
}

/** @returns the dotted form of an address. For IPv6, these are 32 single hexadecimal digits (RFC 7208 §7.3). */
export const toDotted = (ip: IpAddress): string =>
  ip.kind() === 'ipv4' ? ip.toString() : [...Buffer.from(ip.toByteArray()).toString('hex')].join('.');

/** @returns the name of the PTR record of an address. */
export const toReverseName = (ip: IpAddress): string =>
  `${toDotted(ip).split('.').reverse().join('.')}.${ip.kind() === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`;

const MACRO = /%\{([slodiphvcrt])(\d*)(r?)([.+,/_=-]*)\}|%%|%_|%-/gi;

export async function expandMacros(text: string, values: SpfMacroValues): Promise<string> {
  const pieces: string[] = [];
  let at = 0;
  for (const match of text.matchAll(MACRO)) {
    pieces.push(text.slice(at, match.index), await expandOne(match, values));
    at = match.index + match[0].length;
  }
  return pieces.join('') + text.slice(at);
}

/** Shortens a domain name to the maximum of 253 characters by dropping labels from the left (§7.3). */
export function fitDomain(name: string): string {
  const trimmed = name.replace(/\.$/, '');
  if (trimmed.length <= 253) return trimmed;
  const cut = trimmed.slice(-253);
  return cut.slice(cut.indexOf('.') + 1);
}

async function expandOne(match: RegExpMatchArray, values: SpfMacroValues): Promise<string> {
  const [whole, letter = '', digits = '', reverse = '', delimiters = ''] = match;
  if (whole === '%%') return '%';
  if (whole === '%_') return ' ';
  if (whole === '%-') return '%20';
  const value = await letterValue(letter.toLowerCase(), values);
  let labels = value.split(new RegExp(`[${(delimiters || '.').replace(/[-\]\\^/]/g, '\\$&')}]`));
  if (reverse !== '') labels = labels.reverse();
  if (digits !== '') labels = labels.slice(-Number(digits) || labels.length);
  const expanded = labels.join('.');
  return letter === letter.toUpperCase() ? escapeForUrl(expanded) : expanded;
}

/** An upper-case macro letter requests URL escaping of all but unreserved characters (§7.3, RFC 3986 §2.3). */
const escapeForUrl = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

async function letterValue(letter: string, values: SpfMacroValues): Promise<string> {
  const at = values.sender.lastIndexOf('@');
  switch (letter) {
    case 's':
      return values.sender;
    case 'l':
      return values.sender.slice(0, at);
    case 'o':
      return values.sender.slice(at + 1);
    case 'd':
      return values.domain;
    case 'i':
      return toDotted(values.ip);
    // The letter `c` expands to the readable form of the address (§7.3).
    case 'c':
      return values.ip.toString();
    case 'p':
      return values.clientName();
    case 'v':
      return values.ip.kind() === 'ipv4' ? 'in-addr' : 'ip6';
    case 'h':
      return values.helo;
    case 't':
      return String(Math.floor(values.now / 1000));
    default:
      return 'unknown';
  }
}
