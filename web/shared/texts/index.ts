/** The texts in the user's language. */
import { localeOf } from '../look.ts';
import { en, type Texts } from './en.ts';

const LANGUAGES: Readonly<Record<string, Texts>> = { en };

/** What the user can choose. The part before the hyphen names the texts, the whole tag the formats. */
export const LANGUAGE_NAMES: Readonly<Record<string, string>> = {
  'en-GB': 'English (United Kingdom)',
  'en-US': 'English (United States)',
};

const wanted = [localeOf(), ...(globalThis.navigator?.languages ?? [])].map((tag) => tag?.slice(0, 2) ?? '');
export const texts: Texts = LANGUAGES[wanted.find((language) => language in LANGUAGES) ?? 'en'] ?? en;

/** Replaces `{name}` by a value. Unknown names stay. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole).trim();
