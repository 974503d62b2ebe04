/** Characters of one line of Base64 (RFC 2045 §6.8). */
const LINE_CHARACTERS = 76;

/** Size of Base64 in lines of 76, without a line end after the last. */
export function toBase64Size(sizeBytes: number): number {
  const characters = Math.ceil(sizeBytes / 3) * 4;
  return characters + Math.max(0, Math.ceil(characters / LINE_CHARACTERS) - 1) * 2;
}
