/** Addresses and networks of IPv4 and IPv6 as numbers. */

interface Network {
  readonly bits: 32 | 128;
  readonly address: bigint;
  readonly prefixBits: number;
}

/** @param text `192.0.2.0/24`, `2001:db8::/32`, or one address. @returns null when it is neither. */
export function parseNetwork(text: string): Network | null {
  const [addressText = '', prefixText, ...rest] = text.split('/');
  const parsed = addressText.includes(':') ? parseIpv6(addressText) : parseIpv4(addressText);
  if (parsed === null || rest.length > 0) return null;
  const bits = addressText.includes(':') ? 128 : 32;
  if (prefixText === undefined) return { bits, address: parsed, prefixBits: bits };
  const prefixBits = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  return prefixBits >= 0 && prefixBits <= bits ? { bits, address: parsed, prefixBits } : null;
}

export function isInNetwork(addressText: string, networkText: string): boolean {
  const [one, network] = [parseNetwork(addressText), parseNetwork(networkText)];
  if (one === null || network === null || one.bits !== network.bits) return false;
  const shift = BigInt(network.bits - network.prefixBits);
  return one.address >> shift === network.address >> shift;
}

function parseIpv4(text: string): bigint | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const parts = match?.slice(1).map(Number);
  if (!parts || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const [head = [], tail = []] = groups;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const all = [...head, ...Array.from({ length: halves.length === 2 ? missing : 0 }, () => '0'), ...tail];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  return all.reduce((sum, group) => sum * 65_536n + BigInt(Number.parseInt(group, 16)), 0n);
}
