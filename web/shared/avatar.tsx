/** A coloured monogram. The same address always has the same colour. */
import type { CSSProperties } from 'react';

/** Words of a name. A number is a word of its own, also directly after a letter. An accent belongs to its letter. */
const WORDS = /[\p{L}\p{M}]+|\p{N}+/gu;
const LETTERS = /\P{M}\p{M}*/gu;
const DIGITS_SHOWN = 2;

/**
 * Makes initials from the first letters of the first and of the last word: `Ada Lovelace` → `AL`. A single word gives its first two
 * letters: `Carol` → `CA`. A number at the end gives its last two digits, so that numbered players differ: `Player 31` → `P31`.
 */
export function toMonogram(name: string): string {
  const words = (name.split('@')[0]?.match(WORDS) ?? []).map((word) => word.match(LETTERS) ?? []);
  const [first = [], last] = [words[0], words.length > 1 ? words.at(-1) : undefined];
  const end = last && /\p{N}/u.test(last.join('')) ? last.slice(-DIGITS_SHOWN) : last?.slice(0, 1);
  const letters = end ? [...first.slice(0, 1), ...end] : first.slice(0, 2);
  return letters.join('').toLocaleUpperCase() || '?';
}

/** A hue from 0 to 345, in steps of 15 degrees, so that two colours differ visibly. */
export function toHue(key: string): number {
  let hash = 0x811c9dc5;
  for (const char of key.toLowerCase()) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return ((hash >>> 8) % 24) * 15;
}

export function Avatar({ name, id = name, isLarge = false }: { name: string; id?: string; isLarge?: boolean }) {
  const letters = toMonogram(name);
  return (
    <span
      className={`avatar ${isLarge ? 'large' : ''} ${letters.length > 2 ? 'long' : ''}`}
      aria-hidden="true"
      data-letters={letters}
      style={{ '--hue': toHue(id) } as CSSProperties}
    />
  );
}
