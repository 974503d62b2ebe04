/** Builders for the schema of settings. Each builder joins a zod schema with the facts that errors and the documentation show. */
import { z } from 'zod';

export interface SettingFacts {
  readonly group: string;
  /** The allowed values, as text that completes "NAME must be …". */
  readonly allowed: string;
  /** Text that the documentation shows as the value if the setting is absent or empty. */
  readonly fallback: string;
  readonly meaning: string;
  /** Whether the setting is a secret. Secrets are set with `wrangler secret put` or `.deploy.secrets`, never in wrangler.toml. */
  readonly isSecret: boolean;
  /** Whether only a local server reads the setting. */
  readonly isLocal: boolean;
}

/** The facts of every setting, by the schema of the setting. */
export const settingFacts = z.registry<SettingFacts>();

interface About {
  readonly group: string;
  readonly meaning: string;
  readonly isSecret?: boolean;
  readonly isLocal?: boolean;
}

/** Registers the facts of a setting with its schema. */
export function declare<T extends z.ZodType>(schema: T, about: About, allowed: string, fallback = ''): T {
  const { group, meaning, isSecret = false, isLocal = false } = about;
  settingFacts.add(schema, { group, meaning, isSecret, isLocal, allowed, fallback });
  return schema;
}

// `toLocaleString` loads the tables of all languages, which takes several milliseconds of each start.
const count = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
const toAllowed = (unit: string, min: number, max: number): string =>
  `a whole number of ${unit} from ${count(min)} to ${count(max)}`;

const wholeNumber = (allowed: string, min: number, max: number) =>
  z
    .string()
    .regex(/^-?\d{1,16}$/, `must be ${allowed}`)
    .transform(Number)
    .pipe(z.int(`must be ${allowed}`).min(min, `must be ${allowed}`).max(max, `must be ${allowed}`));

interface NumberRange {
  readonly unit: string;
  readonly min: number;
  readonly max: number;
}

/** A setting whose value is a whole number in a range. */
export function number(about: About & NumberRange & { readonly fallback: number }) {
  const { unit, min, max, fallback } = about;
  const allowed = toAllowed(unit, min, max);
  return declare(wholeNumber(allowed, min, max).default(fallback), about, allowed, count(fallback));
}

/** A setting whose value is a whole number in a range, or undefined. `fallback` describes what applies if it is absent. */
export function optionalNumber(about: About & NumberRange & { readonly fallback: string }) {
  const allowed = toAllowed(about.unit, about.min, about.max);
  return declare(wholeNumber(allowed, about.min, about.max).optional(), about, allowed, about.fallback);
}

/** A setting whose value is one of several words. */
export function choice<const T extends readonly string[]>(
  values: T,
  about: About & { readonly fallback: NoInfer<T[number]> },
) {
  const words = values.filter((value) => value !== '');
  const allowed = words.length === 1 ? `${words[0]} or empty` : `one of ${words.join(', ')}`;
  const schema = z.enum(values, `must be ${allowed}`).default(about.fallback);
  return declare(schema, about, allowed, about.fallback);
}

/** A setting whose value is a comma-separated subset of words, returned in the order of `words`; all of them if absent. */
export function subset<const T extends readonly string[]>(words: T, about: About) {
  const allowed = `some of ${words.join(', ')}, separated by commas`;
  const isWord = (word: string): word is T[number] => words.includes(word);
  const schema = z
    .string()
    .transform((value) => value.split(',').map((word) => word.trim().toLowerCase()))
    .refine((given) => given.every(isWord), `must be ${allowed}`)
    .transform((given): readonly T[number][] => words.filter((word) => given.includes(word)))
    .default([...words]);
  return declare(schema, about, allowed, words.join(', '));
}

/** A setting whose value is `true` or `false`. */
export function flag(about: About & { readonly fallback: boolean }) {
  const schema = z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .default(about.fallback);
  return declare(schema, about, 'true or false', String(about.fallback));
}

/** A setting whose value is text that a check accepts; `''` if it is absent. */
export function text(
  about: About & { readonly fallback?: string; readonly shownFallback?: string },
  allowed: string,
  accepts: (value: string) => boolean,
) {
  const { fallback = '', shownFallback = fallback } = about;
  const schema = z.string().refine(accepts, `must be ${allowed}`).default(fallback);
  return declare(schema, about, allowed, shownFallback);
}

/** A setting whose value is a token or a key: printable ASCII characters without spaces. */
export const token = (about: About & { readonly shownFallback?: string }) =>
  text(about, 'printable ASCII characters without spaces', (value) => /^[\x21-\x7e]+$/.test(value));

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const HOSTNAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`, 'i');
export const isHostname = (value: string): boolean => HOSTNAME.test(value);

/** A setting whose value is a hostname without scheme, port or path, in lower case. */
export function hostname(about: About & { readonly shownFallback?: string }) {
  const allowed = 'a hostname without scheme, port or path';
  const schema = z
    .string()
    .refine(isHostname, `must be ${allowed}`)
    .transform((value) => value.toLowerCase())
    .default('');
  return declare(schema, about, allowed, about.shownFallback ?? '');
}

/** A setting whose value is a list of domains, separated by commas and in lower case. */
export function domains(about: About) {
  const allowed = 'domains separated by commas';
  const schema = z
    .string()
    .transform((value) =>
      value
        .toLowerCase()
        .split(',')
        .map((domain) => domain.trim())
        .filter((domain) => domain !== ''),
    )
    .refine((names) => names.every(isHostname), `must be ${allowed}`)
    .default([]);
  return declare(schema, about, allowed);
}

/** A setting whose value is an http or https URL without credentials. */
export function httpUrl(about: About & { readonly shownFallback?: string }) {
  return text(about, 'an http or https URL without user and password', (value) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  });
}

/** A setting whose value is `host:port`, or a host alone for the usual port. */
export function address(about: About, usualPort: number) {
  return text(about, `host:port, or a host alone for port ${usualPort}`, (value) => {
    const match = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i.exec(value);
    return match !== null && (match[1] === undefined || isPort(Number(match[1])));
  });
}

export const isPort = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= 65_535;
