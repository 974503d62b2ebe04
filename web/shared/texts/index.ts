/**
 * The texts in the user's language. English is in `en.ts` and `en-….ts`, one file per page; other languages are files of
 * `languages/`, named by their tag (`languages/de.ts`), loaded before the first render and by their readers only.
 */
import type { ReactNode } from 'react';
import { localeOf } from '../look.ts';
import { en, type Texts } from './en.ts';
import type { Forms } from './forms.ts';
import type { Language } from './language.ts';

const files = import.meta.glob<Language>('./languages/*.ts', { import: 'default' });
const toFile = (tag: string): string => `./languages/${tag}.ts`;

const toName = (tag: string): string => new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;

/** Languages that the user can choose. The part of the tag before the hyphen selects the texts, the whole tag the formats. */
export const LANGUAGE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'en-GB',
    'en-US',
    ...Object.keys(files).map((file) => file.slice(toFile('').length - '.ts'.length, -'.ts'.length)),
  ].map((tag) => [tag, toName(tag)]),
);

/** Language of the texts: the first of the user's languages for which texts exist. */
export const language =
  [localeOf(), ...(globalThis.navigator?.languages ?? [])]
    .map((tag) => tag?.split('-')[0] ?? '')
    .find((tag) => tag === 'en' || toFile(tag) in files) ?? 'en';

export type Catalogue = { [name: string]: string | Catalogue };

/** Replaces texts in place, because modules hold references to parts of the texts. */
export function translate(texts: Catalogue, translated: Catalogue): void {
  for (const [name, value] of Object.entries(translated)) {
    const before = texts[name];
    if (typeof before === 'object' && typeof value === 'object') translate(before, value);
    else texts[name] = value;
  }
}

let loaded: Language | null = null;
const waiting: [name: keyof Language, texts: Catalogue][] = [];

/** Resolves when the texts are in the user's language; null if they already are. Do not read texts before. */
export const ready: Promise<void> | null =
  files[toFile(language)]?.().then((translated) => {
    loaded = translated;
    for (const [name, catalogue] of waiting) translate(catalogue, translated[name] as unknown as Catalogue);
  }) ?? null;

/** Registers texts of a part. @returns the same texts in the user's language, once `ready` has resolved. */
export function inLanguage<Name extends keyof Language>(name: Name, english: Language[Name]): Language[Name] {
  if (loaded) return loaded[name];
  if (ready) waiting.push([name, english as unknown as Catalogue]);
  return english;
}

export const texts: Texts = inLanguage('common', en);

/** Replaces `{name}` in a text by a value. Names without a value stay. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)).trim();

/** Like `fill`, but the values are React elements. */
export const fillNodes = (text: string, values: Readonly<Record<string, ReactNode>>): ReactNode[] =>
  text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : values[part]));

const RULES = new Intl.PluralRules(language);
const COUNT = new Intl.NumberFormat(localeOf());

/** Chooses the plural form for a number and replaces `{count}`. For example "1 message" or "1,200 messages". */
export const plural = (forms: Forms, count: number): string =>
  fill(forms[RULES.select(count)] ?? forms.other, { count: COUNT.format(count) });
