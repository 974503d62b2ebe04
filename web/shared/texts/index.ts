/** The texts in the user's language. */
import { en, type Texts } from './en.ts';

const LANGUAGES: Readonly<Record<string, Texts>> = { en };

const wanted = (globalThis.navigator?.languages ?? []).map((language) => language.slice(0, 2));
export const texts: Texts = LANGUAGES[wanted.find((language) => language in LANGUAGES) ?? 'en'] ?? en;

/** Replaces `{name}` by a value. Unknown names stay. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole).trim();
