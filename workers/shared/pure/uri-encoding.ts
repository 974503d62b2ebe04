/** Percent-encoding for SigV4 (RFC 3986 §2.3): every byte except the unreserved ones is encoded, in upper-case hexadecimal. */

const HEX = '0123456789ABCDEF';

const ENCODED: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9\-._~]/.test(character) ? character : `%${HEX[byte >> 4]}${HEX[byte & 15]}`;
});

const UNRESERVED_ONLY = /^[A-Za-z0-9\-._~]*$/;
const UNRESERVED_OR_SLASH_ONLY = /^[A-Za-z0-9\-._~/]*$/;

/** Percent-encodes text. @param keepSlash whether to leave `/` as it is, as in the path of an object. */
export function encodeUriBytes(bytes: Uint8Array, keepSlash = false): string {
  let text = '';
  for (const byte of bytes) text += keepSlash && byte === 0x2f ? '/' : ENCODED[byte];
  return text;
}

export function encodeUri(text: string, keepSlash = false): string {
  if ((keepSlash ? UNRESERVED_OR_SLASH_ONLY : UNRESERVED_ONLY).test(text)) return text;
  return encodeUriBytes(new TextEncoder().encode(text), keepSlash);
}

/**
 * Decodes percent-encoding byte by byte. Keeps a `%` that begins no escape.
 * @param plusIsSpace whether `+` is a space, as in the query strings of forms.
 */
export function decodeUriToBytes(text: string, plusIsSpace = false): Uint8Array {
  const source = new TextEncoder().encode(text);
  const bytes = new Uint8Array(source.length);
  let length = 0;
  for (let i = 0; i < source.length; i++) {
    const byte = source[i] as number;
    const value = byte === 0x25 ? Number.parseInt(text25(source, i), 16) : Number.NaN;
    if (Number.isNaN(value)) bytes[length++] = plusIsSpace && byte === 0x2b ? 0x20 : byte;
    else {
      bytes[length++] = value;
      i += 2;
    }
  }
  return bytes.subarray(0, length);
}

/** Reads the two hexadecimal digits after a `%`. @returns text that is not a number if there are none. */
function text25(source: Uint8Array, at: number): string {
  const digits = String.fromCharCode(source[at + 1] ?? 0, source[at + 2] ?? 0);
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? digits : 'none';
}

/** Decodes percent-encoded text. @returns null when the bytes are not UTF-8. */
export function decodeUri(text: string, plusIsSpace = false): string | null {
  if (!text.includes('%') && !(plusIsSpace && text.includes('+'))) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decodeUriToBytes(text, plusIsSpace));
  } catch {
    return null;
  }
}
