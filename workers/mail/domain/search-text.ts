/**
 * Splits text into search terms, in the same way for stored text and for queries.
 *
 * Letters are folded: compatibility forms, case, accents on Latin, Greek and Cyrillic letters, and vowel marks of Arabic and Hebrew.
 * Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese text has no spaces between words, so a run of it becomes overlapping pairs
 * of characters, followed by its last character alone. Every character then begins a term. A word of any length, even of two
 * characters, is searched as a phrase of pairs.
 *
 * The index stores folded terms. If folding changes, a mailbox finds words of the changed kind in old mail only after its rebuild.
 */

import type { TextFilter } from './email-filter.ts';

/** Scripts without spaces between words. The name is that of the oldest ones. */
const CJK =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\u30fc\\u3005' +
  '\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}';
/** A run: consecutive letters and digits, or consecutive CJK characters. */
const RUN = new RegExp(`[${CJK}]+|(?:(?![${CJK}])[\\p{L}\\p{N}\\p{Co}\\p{M}])+`, 'gu');
const IS_CJK = new RegExp(`^[${CJK}]`, 'u');
/** As `RUN`, for a text in ASCII. */
const ASCII_RUN = /[a-z0-9]+/gi;
const NOT_ASCII = /[\u0080-\uffff]/;
/** Combining marks that are accents. In other scripts, marks are letters of their own. */
const ACCENTS = /[\u0300-\u036f]/g;
/** Marks of Hebrew and Arabic for vowels, tone and hamza, which most writers omit, and the line that only lengthens a word. */
const VOWEL_MARKS =
  /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff]/g;
/** Maximum of characters per term; the rest is cut off. Longer terms are encoded data, for which nobody searches. */
const TERM_LENGTH_MAX = 64;

/** Folds case, width and accents of a text. Its length may change. */
export function foldText(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return (
    text
      .normalize('NFKD')
      .replace(ACCENTS, '')
      .replace(VOWEL_MARKS, '')
      .normalize('NFC')
      .toLowerCase()
      // Turkish capitals fold to i, so the small letter without a dot does too.
      .replaceAll('ı', 'i')
      .replaceAll('ß', 'ss')
      .replaceAll('æ', 'ae')
      .replaceAll('œ', 'oe')
      .replaceAll('ø', 'o')
      .replaceAll('ł', 'l')
      .replaceAll('đ', 'd')
  );
}

/** Folding an ASCII text is a tenth of the work: it has neither accents nor compatibility forms. */
const isAscii = (text: string): boolean => !NOT_ASCII.test(text);
const runPatternOf = (text: string): RegExp => (isAscii(text) ? ASCII_RUN : RUN);

/** Splits a text into its runs, folded. */
function toFoldedRuns(text: string): readonly string[] {
  const folded = foldText(text);
  return folded.match(runPatternOf(folded)) ?? [];
}

/** Splits a folded run into terms, in order. */
function splitRun(run: string): string[] {
  if (!IS_CJK.test(run)) return [run.slice(0, TERM_LENGTH_MAX)];
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ''));
}

/** @returns the folded terms of a text, in order. */
export function toTerms(text: string): string[] {
  return toFoldedRuns(text).flatMap(splitRun);
}

/** @returns the text for the full-text index: terms separated by spaces. */
export const toIndexText = (text: string): string => toTerms(text).join(' ');

export interface PhrasePart {
  readonly term: string;
  /**
   * True if every term that begins with this text matches. Set for a single CJK character, and for the last term of a prefix
   * search.
   */
  readonly isPrefix: boolean;
}

/**
 * @returns the terms that a word or phrase consists of. A CJK word of n characters becomes its n−1 pairs. A single character
 * becomes a prefix of pairs.
 */
export function toPhrase(text: string, isPrefix = false): PhrasePart[] {
  const runs = toFoldedRuns(text);
  return runs.flatMap((run, at) => {
    const isLast = at === runs.length - 1;
    if (!IS_CJK.test(run)) return [{ term: run.slice(0, TERM_LENGTH_MAX), isPrefix: isLast && isPrefix }];
    const characters = [...run];
    if (characters.length === 1) return [{ term: run, isPrefix: isLast }];
    return characters.slice(0, -1).map((character, n) => ({ term: character + characters[n + 1], isPrefix: false }));
  });
}

/** Characters of a word from which it also finds longer words. Shorter ones are the beginning of too many. */
const BEGINNING_LENGTH_MIN = 3;

/** @returns the terms of a text filter. The last term of a word is a prefix if it is long enough. */
export function toSearchPhrase({ text, match }: Pick<TextFilter, 'text' | 'match'>): PhrasePart[] {
  const parts = toPhrase(text, match !== 'phrase');
  if (match !== 'word') return parts;
  return parts.map(({ term, isPrefix }) => ({
    term,
    isPrefix: isPrefix && (isCjk(term) || term.length >= BEGINNING_LENGTH_MIN),
  }));
}

/**
 * @returns other forms that an unquoted word also matches: the English plural or singular of a Latin word. By design not more, so
 * that "news" does not find "new", nor "university" "universe".
 */
export function toInflections(term: string): string[] {
  if (!/^[a-z]{4,}$/.test(term)) return [];
  if (/(ss|us|is|news)$/.test(term)) return /ss$/.test(term) ? [`${term}es`] : [];
  if (/[^aeiou]ies$/.test(term)) return [`${term.slice(0, -3)}y`];
  if (/(sses|shes|ches|xes|zes)$/.test(term)) return [term.slice(0, -2)];
  if (/s$/.test(term)) return [term.slice(0, -1)];
  if (/[^aeiou]y$/.test(term)) return [`${term.slice(0, -1)}ies`];
  if (/(sh|ch|x|z)$/.test(term)) return [`${term}es`];
  return [`${term}s`];
}

export interface TextSpan {
  readonly term: string;
  /** Offset of the run in the original text; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/** Yields the runs of a text with their positions, each folded. For highlighting. */
export function* findRuns(text: string): Generator<TextSpan> {
  for (const match of text.matchAll(runPatternOf(text))) {
    yield { term: foldText(match[0]), start: match.index, end: match.index + match[0].length };
  }
}

export const isCjk = (text: string): boolean => IS_CJK.test(text);
