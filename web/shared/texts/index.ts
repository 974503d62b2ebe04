/** The texts in the user's language. */
import { localeOf } from '../look.ts';
import { en, type Texts } from './en.ts';

const LANGUAGES = { en };

/** What the user can choose. The part before the hyphen names the texts, the whole tag the formats. */
export const LANGUAGE_NAMES: Readonly<Record<string, string>> = {
  'en-GB': 'English (United Kingdom)',
  'en-US': 'English (United States)',
};

const wanted = [localeOf(), ...(globalThis.navigator?.languages ?? [])].map((tag) => tag?.slice(0, 2) ?? '');

/** The user's language of a catalogue. English is always there. */
export const inLanguage = <T>(catalogue: { readonly en: T } & Readonly<Record<string, T>>): T =>
  catalogue[wanted.find((language) => language in catalogue) ?? 'en'] ?? catalogue.en;

export const texts: Texts = inLanguage(LANGUAGES);

/** Replaces `{name}` by a value. Unknown names stay. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole).trim();
