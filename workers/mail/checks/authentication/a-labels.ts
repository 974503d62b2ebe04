/** Converts domains in raw UTF-8 (RFC 6532) to A-labels (RFC 5890), the form that DNS and policies use (RFC 8616). Pure. */
import { toAsciiDomain } from '../../domain/mail-path.ts';

/**
 * Decodes a value with one character per byte as UTF-8 if it has a byte over 127 and its bytes are valid UTF-8. Returns any other
 * value unchanged.
 */
export function decodeRawUtf8(value: string): string {
  if (!/[\x80-\xff]/.test(value) || /[^\0-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : value;
}

/** @returns the domain in lower case. Non-ASCII characters are converted to A-labels if the domain is valid. */
export function toALabels(domain: string): string {
  const lower = decodeRawUtf8(domain).toLowerCase();
  return /[^\0-\x7f]/.test(lower) ? (toAsciiDomain(lower) ?? lower) : lower;
}
