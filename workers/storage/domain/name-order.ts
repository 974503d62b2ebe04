/** Order of object names: by UTF-8 bytes, which equals the order of code points. */

/** The least name greater than `name`. */
export const nameAfter = (name: string): string => `${name}\u0000`;

/**
 * The least name greater than every name that begins with `prefix`; null when there is none (an empty prefix, or only
 * U+10FFFF).
 */
export function nameAfterPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.length > 0) {
    const last = points.pop() ?? 0;
    if (last === 0x10ffff) continue;
    // The code points U+D800…U+DFFF are surrogates, not characters, so U+E000 is the next one after U+D7FF.
    return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return null;
}

/** Compares names by code points. The result equals that of SQLite, which compares their UTF-8 bytes. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    // In UTF-16, surrogates (U+10000 and up) are less than U+E000…U+FFFF; in UTF-8 those characters are greater.
    const isLeftSurrogate = left >= 0xd800 && left <= 0xdfff;
    const isRightSurrogate = right >= 0xd800 && right <= 0xdfff;
    if (isLeftSurrogate !== isRightSurrogate) return isLeftSurrogate ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}

/** The part of `name` up to and including the first delimiter after the prefix; null when there is none. */
export function commonPrefixOf(name: string, prefix: string, delimiter: string): string | null {
  if (delimiter === '') return null;
  const at = name.indexOf(delimiter, prefix.length);
  return at === -1 ? null : name.slice(0, at + delimiter.length);
}
