/**
 * Compares the search terms of ASCII text with those of the folding for all scripts, written out here without the shortcut. The index of
 * a mailbox stores terms, so both must be the same for ever.
 */
import { expect, it } from 'vitest';
import { createRandom } from '../../../bench/mail/mailbox-text.ts';
import { findRuns, foldText, toPhrase, toTerms } from '../../../workers/mail/domain/search-text.ts';

const RUN = /[\p{L}\p{N}\p{Co}\p{M}]+/gu;

/** Folds a text as `foldText` does, as far as a text without Hebrew and Arabic marks goes. */
const foldPlainly = (text: string): string =>
  [
    ['ı', 'i'],
    ['ß', 'ss'],
    ['æ', 'ae'],
    ['œ', 'oe'],
    ['ø', 'o'],
    ['ł', 'l'],
    ['đ', 'd'],
  ].reduce(
    (folded, [from = '', to = '']) => folded.replaceAll(from, to),
    text
      .normalize('NFKD')
      .replace(/[\u0300-\u036f]/g, '')
      .normalize('NFC')
      .toLowerCase(),
  );

const seed = Math.floor(Math.random() * 1e9);
const random = createRandom(seed);
const below = (count: number) => Math.floor(random() * count);
const randomText = (codes: number, length: number): string =>
  String.fromCharCode(...Array.from({ length }, () => below(codes)));

const asciiTexts = [
  '',
  'word',
  'Mixed CASE, i18n: a_b-c.d@e.test "x" 007 \0 \u007f',
  ...Array.from({ length: 128 }, (_, code) => `Ab${String.fromCharCode(code)}Yz`),
  ...Array.from({ length: 500 }, () => randomText(128, below(80))),
];
/** Latin letters next to ASCII ones, also those that fold to ASCII: the Kelvin sign, the long s, the dotted capital I. */
const latinTexts = [
  'Übergröße über GRÖSSE',
  '\u212aelvin \u017fharp İstanbul ılık',
  'Œuvre ŒUVRE Ærø ŁÓDŹ Đorđe ｆｕｌｌ',
  ...Array.from({ length: 300 }, () => randomText(0x250, 1 + below(40))),
];

it.each([
  ['ASCII', asciiTexts],
  ['Latin', latinTexts],
])(`%s text has the terms of the folding for all scripts (seed ${seed})`, (_, texts) => {
  for (const text of texts) {
    const terms = [...(foldPlainly(text).match(RUN) ?? [])].map((run) => run.slice(0, 64));
    const runs = [...text.matchAll(RUN)].map(([run], at) => [at, foldPlainly(run)]);
    expect(foldText(text)).toBe(foldPlainly(text));
    expect(toTerms(text)).toEqual(terms);
    expect(toPhrase(text).map(({ term }) => term)).toEqual(terms);
    const found = [...findRuns(text)];
    expect(found.map(({ term }, at) => [at, term])).toEqual(runs);
    expect(found.every(({ term, start, end }) => foldPlainly(text.slice(start, end)) === term)).toBe(true);
  }
});
