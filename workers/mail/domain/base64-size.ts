/** Maximum of characters per line of Base64 (RFC 2045 §6.8). */
const LINE_CHARACTERS = 76;

/** @returns the size of some bytes in Base64, with CRLF between lines of 76 characters but not after the last line. */
export function toBase64Size(sizeBytes: number): number {
  const characters = Math.ceil(sizeBytes / 3) * 4;
  return characters + Math.max(0, Math.ceil(characters / LINE_CHARACTERS) - 1) * 2;
}
