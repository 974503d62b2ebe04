/** `v=1; a=rsa-sha256; …`: the lists of tags of DKIM, ARC and DMARC (RFC 6376 §3.2). */

/** @returns null when it is no such list, or a tag stands twice. Values keep inner white space; folds are taken out. */
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

/** Base64 in a tag may be folded and spaced anywhere. */
export const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
