/** Domains in raw UTF-8 (RFC 6532) as A-labels (RFC 5890), the form that DNS and policies use (RFC 8616). Pure. */
import { toAsciiDomain } from '../../domain/mail-path.ts';

/** Decodes a value with one character per byte if its bytes are valid UTF-8 with a byte over 127. Returns other values as they are. */
export function decodeRawUtf8(value: string): string {
  if (!/[\x80-\xff]/.test(value) || /[^\0-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : value;
}

/** @returns the domain in lower case, in A-labels if it has other characters than ASCII and is valid. */
export function toALabels(domain: string): string {
  const lower = decodeRawUtf8(domain).toLowerCase();
  return /[^\0-\x7f]/.test(lower) ? (toAsciiDomain(lower) ?? lower) : lower;
}
