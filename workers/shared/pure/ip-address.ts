/**
 * IP addresses and networks. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) in any notation is read as its
 * IPv4 address, because one client must not have two addresses.
 */
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

export interface IpNetwork {
  readonly address: IpAddress;
  /** Number of leading bits that identify the network: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly prefixBits: number;
}

const IPV4_BITS = 32;
const IPV6_BITS = 128;
const MAPPED_PREFIX_BITS = IPV6_BITS - IPV4_BITS;
/** Maximum length of an address as text: `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255`. */
const TEXT_LENGTH_MAX = 45;

/**
 * Parses an IP address.
 * @param text one address: IPv4 as four decimal numbers without leading zeros, or IPv6 without brackets and zone.
 * @returns null for anything else. ipaddr.js alone also accepts octal, hexadecimal and short IPv4 forms.
 */
export function parseIp(text: string): IpAddress | null {
  const parsed = parseAsWritten(text);
  return parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
}

/**
 * Parses a network.
 * @param text `192.0.2.0/24`, `2001:db8::/32`, or one address. A network of mapped addresses (`::ffff:192.0.2.0/120`) is its IPv4
 * network.
 * @returns null when the text is neither a network nor an address.
 */
export function parseNetwork(text: string): IpNetwork | null {
  const [, addressText = text, prefixText] = /^([^/]*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const written = parseAsWritten(addressText);
  if (written === null) return null;
  const bits = written.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS;
  const prefixBits = prefixText === undefined ? bits : Number(prefixText);
  if (prefixBits > bits) return null;
  const isMapped = written instanceof ipaddr.IPv6 && written.isIPv4MappedAddress() && prefixBits >= MAPPED_PREFIX_BITS;
  return isMapped
    ? { address: written.toIPv4Address(), prefixBits: prefixBits - MAPPED_PREFIX_BITS }
    : { address: written, prefixBits };
}

/** Whether an address is in a network. IPv4 and IPv6 never match: `::/0` contains every IPv6 address and no IPv4 address. */
export const isInNetwork = (ip: IpAddress, { address, prefixBits }: IpNetwork): boolean =>
  ip.kind() === address.kind() && ip.match(address, prefixBits);

/** Whether an address is on the public internet: not private, loopback, link-local, multicast or reserved. */
export const isPublicIp = (ip: IpAddress): boolean => ip.range() === 'unicast';

function parseAsWritten(text: string): IpAddress | null {
  if (text.length > TEXT_LENGTH_MAX) return null;
  // ipaddr.js recognises an invalid address by an error that it throws and catches, which takes 15 µs.
  if (!text.includes(':'))
    return /^[\d.]+$/.test(text) && ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : null;
  const hexadecimal = text.includes('.') ? toHexadecimal(text) : text;
  const isIpv6 = hexadecimal !== null && /^[0-9a-f:]+$/i.test(hexadecimal) && ipaddr.IPv6.isValid(hexadecimal);
  return isIpv6 ? ipaddr.IPv6.parse(hexadecimal) : null;
}

/**
 * Rewrites the dotted end of an IPv6 address as two groups. ipaddr.js would accept octal numbers there, and would read
 * the unmapped `::192.0.2.1` as `::ffff:192.0.2.1`.
 */
function toHexadecimal(text: string): string | null {
  const [, head = '', dotted = ''] = /^(.*:)([\d.]+)$/.exec(text) ?? [];
  if (!ipaddr.IPv4.isValidFourPartDecimal(dotted)) return null;
  const [a = 0, b = 0, c = 0, d = 0] = ipaddr.IPv4.parse(dotted).octets;
  return `${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
