/** Decodes Base64 and quoted-printable. Never throws. */
export { decodeText } from '../domain/charset.ts';
export { decodeWords } from '../domain/encoded-words.ts';

import { decodeUuencoded } from './uuencode.ts';

const CR = 13;
const LF = 10;

/** Decodes content from Base64, quoted-printable or uuencode. @returns content with another encoding unchanged. */
export function decodeContent(part: { readonly content: Uint8Array; readonly encoding: string }): Uint8Array {
  const bytes = Buffer.from(part.content.buffer, part.content.byteOffset, part.content.byteLength);
  if (part.encoding === 'base64') return decodeBase64(bytes);
  if (part.encoding === 'quoted-printable') return decodeQuotedPrintable(bytes);
  return UUENCODE.test(part.encoding) ? (decodeUuencoded(bytes).files[0]?.content ?? bytes) : bytes;
}

const UUENCODE = /^(?:x-)?uue(?:ncode)?$/;

/** True if `decodeContent` decodes this encoding; false if it leaves the content unchanged. */
export const isEncoded = (encoding: string): boolean =>
  encoding === 'base64' || encoding === 'quoted-printable' || UUENCODE.test(encoding);

/**
 * Decodes Base64 leniently, like mail clients: skips characters that are not Base64, and starts a new run after padding in the
 * middle.
 */
export function decodeBase64(bytes: Buffer): Buffer {
  const padding = bytes.indexOf('=');
  if (padding < 0 || bytes.length - padding < 8) return Buffer.from(bytes.toString('latin1'), 'base64');
  const out = Buffer.alloc(Math.ceil(bytes.length * 0.75));
  let length = 0;
  let bits = 0;
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const value = BASE64_VALUES[byte] ?? -1;
    if (byte === PADDING) count = 0;
    if (value < 0) continue;
    bits = ((bits << 6) | value) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out[length++] = bits >> count;
  }
  return out.subarray(0, length);
}

const PADDING = 0x3d;
/** Six-bit value of each byte; -1 if it is not Base64. Includes the URL-safe alphabet. */
const BASE64_VALUES = new Int8Array(256).fill(-1);
for (const [value, letter] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  BASE64_VALUES[letter.charCodeAt(0)] = value;
}
BASE64_VALUES['-'.charCodeAt(0)] = 62;
BASE64_VALUES['_'.charCodeAt(0)] = 63;

export function decodeQuotedPrintable(bytes: Uint8Array): Buffer {
  const out = Buffer.alloc(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x3d) {
      out[length++] = byte;
      continue;
    }
    const high = hexDigit(bytes[at + 1]);
    const low = hexDigit(bytes[at + 2]);
    if (high >= 0 && low >= 0) {
      out[length++] = high * 16 + low;
      at += 2;
      continue;
    }
    // Removes soft line breaks. They may have spaces before the line end (RFC 2045 §6.7, rule 3).
    let end = at + 1;
    while (bytes[end] === 32 || bytes[end] === 9) end += 1;
    if (bytes[end] === CR) end += 1;
    if (bytes[end] === LF) at = end;
    else out[length++] = byte;
  }
  return out.subarray(0, length);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
