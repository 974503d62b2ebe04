/** IP addresses as bytes: 4 or 16 of them. An IPv4 address inside IPv6 (`::ffff:192.0.2.1`) is the IPv4 address. */

export function parseIp(text: string): Uint8Array | null {
  const trimmed = text.trim().replace(/^\[(?:IPv6:)?|\]$|%.*$/gi, '');
  return trimmed.includes(':') ? parseIpv6(trimmed) : parseIpv4(trimmed);
}

function parseIpv4(text: string): Uint8Array | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const octets = match?.slice(1).map(Number);
  return octets?.every((octet) => octet <= 255) ? Uint8Array.from(octets) : null;
}

function parseIpv6(text: string): Uint8Array | null {
  if (text.length > 60 || !/^[0-9a-f:.]+$/i.test(text)) return null;
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head, tail] = halves.map((half) => toGroups(half));
  if (!head || tail === null) return null;
  const missing = 16 - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 2) return null;
  const bytes = Uint8Array.from([...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])]);
  const isMapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return isMapped ? bytes.slice(12) : bytes;
}

function toGroups(half: string): number[] | null {
  if (half === '') return [];
  const bytes: number[] = [];
  const groups = half.split(':');
  for (const [index, group] of groups.entries()) {
    if (group.includes('.')) {
      const ipv4 = index === groups.length - 1 ? parseIpv4(group) : null;
      if (ipv4 === null) return null;
      bytes.push(...ipv4);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(group)) return null;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}

/** Whether the first `bits` of both are the same; addresses of different families never are. */
export function isInNetwork(ip: Uint8Array, network: Uint8Array, bits: number): boolean {
  if (ip.length !== network.length) return false;
  for (let at = 0; at < bits; at += 8) {
    const mask = bits - at >= 8 ? 0xff : (0xff << (8 - (bits - at))) & 0xff;
    if (((ip[at / 8] ?? 0) & mask) !== ((network[at / 8] ?? 0) & mask)) return false;
  }
  return true;
}

/** The form that SPF macros use: dotted, IPv6 as 32 single hexadecimal digits (RFC 7208 §7.3). */
export function toDotted(ip: Uint8Array): string {
  return ip.length === 4 ? [...ip].join('.') : [...Buffer.from(ip).toString('hex')].join('.');
}

/** The name at which a PTR record stands. */
export function toReverseName(ip: Uint8Array): string {
  return `${toDotted(ip).split('.').reverse().join('.')}.${ip.length === 4 ? 'in-addr' : 'ip6'}.arpa`;
}
