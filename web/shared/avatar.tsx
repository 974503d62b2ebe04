/** A coloured monogram. The same address always has the same colour. */
import type { CSSProperties } from 'react';

/**
 * Makes initials from the first letters of the first and of the last word: `Ada Lovelace` → `AL`. Characters that are not letters
 * do not count.
 */
export function toMonogram(name: string): string {
  const words = name.split('@')[0]?.match(/[\p{L}\p{N}]+/gu) ?? [];
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => [...(word ?? '')][0] ?? '');
  return letters.join('').toLocaleUpperCase() || '?';
}

/** A hue from 0 to 345, in steps of 15 degrees, so that two colours differ visibly. */
export function toHue(key: string): number {
  let hash = 0x811c9dc5;
  for (const char of key.toLowerCase()) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return ((hash >>> 8) % 24) * 15;
}

export function Avatar({ name, id = name, isLarge = false }: { name: string; id?: string; isLarge?: boolean }) {
  return (
    <span
      className={isLarge ? 'avatar large' : 'avatar'}
      aria-hidden="true"
      data-letters={toMonogram(name)}
      style={{ '--hue': toHue(id) } as CSSProperties}
    />
  );
}
