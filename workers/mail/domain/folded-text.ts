/** Text with digits and signs of all scripts as ASCII, for patterns. Each place knows where it stands in the text itself. Pure. */

export interface FoldedText {
  readonly text: string;
  /** @returns the part of the original text that became the folded characters from `start` to before `end`. */
  original(start: number, end: number): string;
}

const IS_ASCII = /^[\p{ASCII}]*$/u;
const DIGIT = /^\p{Nd}$/u;

export function foldText(text: string): FoldedText {
  if (IS_ASCII.test(text)) return { text, original: (start, end) => text.slice(start, end) };
  const pieces: string[] = [];
  const places: number[] = [];
  let at = 0;
  for (const character of text) {
    const folded = foldCharacter(character);
    pieces.push(folded);
    for (let n = 0; n < folded.length; n++) places.push(at);
    at += character.length;
  }
  places.push(at);
  return { text: pieces.join(''), original: (start, end) => text.slice(places[start], places[end]) };
}

function foldCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return character;
  if (/\p{Pd}/u.test(character)) return '-';
  const plain = character.normalize('NFKC');
  if (plain.length === 1 && plain.charCodeAt(0) < 0x80) return plain;
  if (!DIGIT.test(character)) return character;
  // The ten digits of a script follow each other.
  let value = 0;
  while (value < 9 && DIGIT.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}
