/** Reads numbers from the code, so that the claims of the documents are built from them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { settingsSchema } from '../../workers/shared/settings/settings-schema.ts';
import { ROOT } from './markdown.ts';

/** Sentences or rows of a page, word for word but for line breaks. */
export interface PageClaims {
  readonly page: string;
  readonly claims: readonly string[];
}

const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const known = sources.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  sources.set(file, known);
  return known;
}

/**
 * Reads a constant of a source file, or the first member of an object with this name: `const NAME = 7 * DAY_MS;`, `name: 60_000,`.
 * Most such constants are private, and some are in modules that run in workerd only.
 * @throws if the file has none, or its value is more than arithmetic with other constants of the file.
 */
export function numberOf(file: string, name: string): number {
  const source = sourceOf(file);
  const match = /^[A-Z0-9_]+$/.test(name)
    ? new RegExp(`const ${name}(?:: \\w+)? = ([^;]+);`).exec(source)
    : new RegExp(`\\b${name}: ([\\d(A-Z][^,;})]*)`).exec(source);
  if (match === null) throw new Error(`${file} has no constant ${name}`);
  const expression = String(match[1]).replace(/[A-Z][A-Z0-9_]+/g, (other) => String(numberOf(file, other)));
  if (!/^[\d_\s.()*+/-]+$/.test(expression)) throw new Error(`${name} of ${file} is no number: ${expression}`);
  return Number(runInNewContext(expression));
}

/** Reads a number that a source file has inside other code. @param pattern its first group is the number. */
export function numberIn(file: string, pattern: RegExp): number {
  const found = pattern.exec(sourceOf(file))?.[1];
  if (found === undefined) throw new Error(`${file} has nothing like ${pattern}`);
  return Number(found.replaceAll('_', ''));
}

/** Reads the default of a setting. */
export const defaultOf = (name: keyof typeof settingsSchema.shape): number =>
  Number(settingsSchema.shape[name].parse(undefined));

function inUnits(value: number, unit: number): string {
  if (!Number.isInteger(value / unit)) throw new Error(`${value} is no multiple of ${unit}`);
  return count(value / unit);
}

/** Writes a number as the pages do: `10,000`. */
export const count = (value: number): string => value.toLocaleString('en');
export const kib = (bytes: number): string => inUnits(bytes, 1024);
export const mib = (bytes: number): string => inUnits(bytes, 1024 ** 2);
export const gib = (bytes: number): string => inUnits(bytes, 1024 ** 3);
export const tib = (bytes: number): string => inUnits(bytes, 1024 ** 4);
export const mb = (bytes: number): string => inUnits(bytes, 1_000_000);
export const seconds = (ms: number): string => inUnits(ms, 1_000);
export const minutes = (ms: number): string => inUnits(ms, 60_000);
export const hours = (ms: number): string => inUnits(ms, 3_600_000);
export const days = (ms: number): string => inUnits(ms, 86_400_000);

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
/** Writes a small number as a word. */
export function word(value: number | string): string {
  const found = WORDS[Number(value)];
  if (found === undefined) throw new Error(`${value} has no word`);
  return found;
}

const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

export const readPage = (page: string): string => flat(readFileSync(join(ROOT, page), 'utf8'));

/** Lists the claims that a page does not make. */
export const findMissing = (text: string, claims: readonly string[]): string[] =>
  claims.filter((claim) => !text.includes(flat(claim)));

/** Numbers in prose that count nothing: statuses, standards, names of formats and versions. */
const NO_COUNTS =
  /\b(?:RFC \d+|[245](?:\d\d|xx)(?=[ ,.:;`)]|$)|IPv[46]|S3|R2|D1|UTF-8|0\.\d\.\d|SHA-256|AES-256|CRC-32|MD5)/g;

/** Lists the numbers of a section that are in no claim, with the words around them. Code is left out. */
export function findUnclaimed(text: string, section: string, claims: readonly string[]): string[] {
  const from = text.indexOf(` ## ${section} `);
  const end = text.indexOf(' ## ', from + 4);
  if (from < 0) throw new Error(`there is no section ${section}`);
  let body = text.slice(from, end < 0 ? undefined : end);
  for (const claim of claims) body = body.replaceAll(flat(claim), ' ');
  const counted = flat(body.replaceAll(/\]\([^)]*\)|`[^`]*`/g, ' ').replaceAll(NO_COUNTS, ''));
  return [...counted.matchAll(/.{0,40}(?<![\w-])\d[\d,.]*.{0,20}/g)].map(([around]) => around.trim());
}
