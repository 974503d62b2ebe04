/** Parses tag lists of DKIM and ARC, such as `v=1; a=rsa-sha256; …` (RFC 6376 §3.2). */

/** @returns the tags; null for a malformed list or a repeated tag. Values keep inner white space; folds are removed. */
export function parseTagList(text: string): Map<string, string> | null {
  const tags = new Map<string, string>();
  const pieces = text.replace(/\r\n(?=[ \t])/g, '').split(';');
  if (pieces.at(-1)?.trim() === '') pieces.pop();
  for (const piece of pieces) {
    const equals = piece.indexOf('=');
    const name = piece.slice(0, equals).trim();
    if (equals < 1 || !/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || tags.has(name)) return null;
    tags.set(name, piece.slice(equals + 1).trim());
  }
  return tags;
}

/** Removes the white space that Base64 in a tag may contain anywhere. */
export const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
