/** Identifies the client of a request, for rate limits. */
import ipaddr from 'ipaddr.js';
import { parseIp } from '../../shared/pure/ip-address.ts';

/** Stands for the client of a request without an address, which only a local server receives. */
export const UNKNOWN_CLIENT = 'unknown';

/**
 * Number of 16-bit groups of an IPv6 address that identify a customer. A customer has at least a /64 (RFC 6177) and may use any
 * address in it.
 */
const IPV6_CUSTOMER_GROUPS = 4;

/**
 * Identifies the client of a request by its address.
 * @returns the client's IPv4 address, the /64 of an IPv6 address, or `UNKNOWN_CLIENT`.
 *
 * `CF-Connecting-IP` is trusted: Cloudflare's edge overwrites the header, and a deployed Worker is reached through the
 * edge only. A local server has no edge and listens on loopback only. There a caller may send any address.
 */
export function readClient(headers: Headers): string {
  const ip = parseIp(headers.get('cf-connecting-ip') ?? '');
  if (!(ip instanceof ipaddr.IPv6)) return ip?.toString() ?? UNKNOWN_CLIENT;
  const groups = ip.parts.slice(0, IPV6_CUSTOMER_GROUPS).map((part) => part.toString(16));
  return `${groups.join(':')}::/64`;
}
