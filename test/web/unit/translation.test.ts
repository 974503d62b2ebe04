import { describe, expect, it } from 'vitest';
import { type Catalogue, fill, fillNodes, plural, translate } from '../../../web/shared/texts/index.ts';
import { ENGLISH, toGreek, toGreekTexts } from '../../support/mail/greek.ts';

/** Lists each text with its path in the texts. */
const textsOf = (part: unknown, path = ''): [string, string][] =>
  typeof part === 'string'
    ? [[path, part]]
    : Object.entries(part as object).flatMap(([name, value]) => textsOf(value, `${path}.${name}`));
const holesOf = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
const englishIn = (text: string): boolean => /[a-z]/i.test(text.replaceAll(/\{\w+\}/g, ''));

describe('a second language', () => {
  const greek = toGreekTexts(ENGLISH);

  it('replaces every text of every page, also where a module has kept a part of the catalogue', () => {
    const english = structuredClone(ENGLISH);
    const kept = english.storage.buckets;
    expect(textsOf(english).length).toBeGreaterThan(1_000);
    translate(english as unknown as Catalogue, greek as unknown as Catalogue);
    expect(textsOf(english).filter(([, text]) => englishIn(text))).toEqual([]);
    expect(kept.create).toBe(toGreek('Create bucket'));
    expect(english).toEqual(greek);
  });

  it('leaves texts in English that its file does not have', () => {
    const english = { save: 'Save', pages: { mail: 'Mail', docs: 'Docs' } };
    translate(english, { pages: { mail: 'Post' } });
    expect(english).toEqual({ save: 'Save', pages: { mail: 'Post', docs: 'Docs' } });
  });

  it('has the same values to fill in', () => {
    const values = (texts: [string, string][]) => texts.map(([path, text]) => [path, holesOf(text)]);
    expect(values(textsOf(greek))).toEqual(values(textsOf(ENGLISH)));
  });
});

describe('texts with values', () => {
  it('are filled in any order, and unknown names stay', () => {
    expect(fill('{b} of {a}, {c}', { a: 1, b: 'two' })).toBe('two of 1, {c}');
    expect(fillNodes('To {who}, now', { who: 'me' })).toEqual(['To ', 'me', ', now']);
    expect(fillNodes('{who}', { who: 'me' }).join('')).toBe('me');
  });

  it('follow the number', () => {
    const forms = { one: '{count} file', other: '{count} files' };
    expect([0, 1, 2, 1_200].map((count) => plural(forms, count))).toEqual([
      '0 files',
      '1 file',
      '2 files',
      '1,200 files',
    ]);
  });
});
