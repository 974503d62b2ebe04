/**
 * Finds sign-in codes, passwords and links that sign in or reset, in the text of a mail, and takes them out. For programs that read
 * mail for a person: who reads a code or a reset link has the account that it opens.
 *
 * It is a net, not a proof. A secret is found by words beside it, in the languages of the lists below; `test/mail/unit/secret-text.test.ts`
 * counts what it misses and what it takes for a secret by mistake.
 */

import { foldText } from './folded-text.ts';
import { isSecretLink, LINKS } from './secret-links.ts';
import {
  ACCOUNT_WORDS,
  CODE_WORDS,
  ENTER_AFTER,
  ENTER_BEFORE,
  KEY_WORDS,
  OTHER_NUMBERS,
  PASSWORD_WORDS,
} from './secret-words.ts';

export interface WithheldText {
  readonly text: string;
  /** The texts that were taken out. */
  readonly secrets: readonly string[];
}

const CODE_MARK = '[code withheld]';
const LINK_MARK = '[link withheld]';

/**
 * A code: 4 to 10 digits that may be grouped, single digits with space between, 5 to 14 capitals and digits, or groups of letters and
 * digits. Letters of scripts without spaces may touch it.
 */
const CODES =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{N}@#/._-]|\d[,:])(?:\d(?:[ -]\d){3,9}|\d(?:\s{1,3}\d){3,9}|(?:[A-Z]{1,3}-)?(?:\d{2,5}(?:[ -]\d{2,5}){1,3}|\d{4,10}|(?=[A-Z0-9-]*\d)[A-Z0-9]{5,12}|(?=[A-Z0-9-]*\d)[A-Z0-9]{3,6}(?:-[A-Z0-9]{3,6}){1,3}|[A-Z]{4,6}-[A-Z]{4,6})|(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5})(?![\p{Script=Latin}\p{Script=Cyrillic}\p{N}@%€$£/_-]|[.,:]\d(?!\d?\p{Script=Han}))/gu;

/** Keys of programs, by the prefixes that their services give them, and signed tokens (JWT). */
const KEYS =
  /(?<![\w-])(?:(?:[srp]k|whsec|gh[pousr]|github_pat|glpat|npm|shpat|xox[abeprs]|pypi|hf|dop_v1|tok|ses|ops|ref|SG)[_.-](?=[\w.-]*\d)[\w.-]{16,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w.-]+)/g;

/** Words that may be passwords, with their ends. */
const VALUES = /[^\s"“”„«»「」<>,;:()[\]{}]{6,64}/gu;
const PASSWORD_BEFORE = 70;

/** Numbers that are no codes by their form. */
const isOther = (code: string, before: string, after: string): boolean =>
  /^(?:19|20)\d\d$/.test(code) ||
  /[€$£¥]\s?$|(?:EUR|USD|CHF|JPY|BRL)\s?$|[+(]\s?$|(?:tel|phone|telefon|téléphone|teléfono|fax)[.:]?\s*$/i.test(
    before,
  ) ||
  /^\s?(?:€|\$|£|¥|%|円|euros?\b|EUR|USD|CHF|JPY|km\b|kg\b|g\b|m\b|ml\b|Uhr|min|hours?|days?|tage|stunden)/i.test(
    after,
  ) ||
  isDate(code);

const isDate = (code: string): boolean => {
  const [, year, month, day] = /^((?:19|20)\d\d)-(\d\d)-(\d\d)$/.exec(code) ?? [];
  const [, first, second] = /^(\d\d)-(\d\d)-(?:19|20)?\d\d$/.exec(code) ?? [];
  const isDay = (one = '0', other = '0') => Number(one) <= 31 && Number(other) <= 31 && Math.min(+one, +other) <= 12;
  return (year !== undefined && isDay(day, month)) || (first !== undefined && isDay(first, second));
};

/** How far before and after a code its word may be, in characters. A mail often has the code alone on a line below the word. */
const BEFORE = 160;
const AFTER = 60;

/** @param subject text whose words count too, because a mail's code often stands below a subject that names it. */
export function withholdSecrets(text: string, subject = ''): WithheldText {
  const folded = foldText(text);
  const secrets = new Set<string>();
  const found = (start: number, length: number) => secrets.add(folded.original(start, start + length));
  const title = foldText(subject).text;
  const isAccount = ACCOUNT_WORDS.test(`${title}\n${folded.text}`);
  for (const { 0: link, index } of folded.text.matchAll(LINKS))
    if (isSecretLink(link, isAccount)) found(index, link.length);
  // Links and the marks of quotes become spaces, so that places stay as they are.
  const plain = folded.text
    .replace(LINKS, (link) => ' '.repeat(link.length))
    .replace(/^[ >|]*[>|]/gm, (marks) => ' '.repeat(marks.length));
  for (const { 0: key, index } of plain.matchAll(KEYS)) found(index, key.length);
  for (const { start, value } of listPasswords(plain, title)) found(start, value.length);
  for (const { start, code } of listCodes(plain, title, isAccount)) found(start, code.length);
  return { text: maskAll(text, secrets), secrets: [...secrets] };
}

function* listPasswords(plain: string, subject: string): Generator<{ start: number; value: string }> {
  // Below a subject that names a password, the password may be one of the first words.
  const firstEnd = PASSWORD_WORDS.test(subject) ? (/^(?:\s*\S+){1,4}/.exec(plain.slice(0, 200))?.[0].length ?? 0) : 0;
  for (const { 0: word, index } of plain.matchAll(VALUES)) {
    const value = word.replace(/^[は=*'`]+|[.…*'`\u3000-\u303f]+$/gu, '');
    if (value.length < 6 || !isPassword(value)) continue;
    const start = index + word.indexOf(value);
    const before = plain.slice(Math.max(0, start - PASSWORD_BEFORE), start);
    // The word is in the line, or ends the line before.
    const near = before.split(/\n\s*\n|(?<=[.!?。])\s/).at(-1) ?? '';
    if (PASSWORD_WORDS.test(near) || start < firstEnd || (KEY_WORDS.test(before.slice(-30)) && value.length >= 8))
      yield { start, value };
  }
}

/** A word in a sentence ("password for your account") is no password. */
const isPassword = (word: string): boolean =>
  !/^[\d.:/-]+$|@.+\.|^\d{1,2}h\d*$/.test(word) &&
  ((/\d/.test(word) && /\p{L}/u.test(word)) ||
    /[\p{L}\d][!#$%&*+=?^_~][\p{L}\d]/u.test(word) ||
    /\p{Ll}\p{Lu}/u.test(word) ||
    /\d[!#$%&*+=?^_~]/.test(word));

function* listCodes(plain: string, subject: string, isAccount: boolean): Generator<{ start: number; code: string }> {
  for (const { 0: code, index: start } of plain.matchAll(CODES)) {
    const before = plain.slice(Math.max(0, start - BEFORE), start);
    const after = plain.slice(start + code.length, start + code.length + AFTER);
    if (!isOther(code, before, after) && isCode({ code, before, after }, subject, isAccount)) yield { start, code };
  }
}

interface Place {
  readonly code: string;
  readonly before: string;
  readonly after: string;
}

function isCode({ code, before, after }: Place, subject: string, isAccount: boolean): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const rest = after.slice(0, after.search(/\n|$/));
  if (OTHER_NUMBERS.test(`${line}${code}${rest}`.slice(-200))) return false;
  const isFirst = line.trim() === '';
  const isAlone = isFirst && /^[.。!#*]?\s*$/.test(rest);
  if (isAlone && (isAccount || /^\d(?: \d){3,7}$/.test(code) || CODE_WORDS.test(`${subject}\n${before}`))) return true;
  if (/\n/.test(code)) return false;
  if (CODE_WORDS.test(`${line.slice(-110)} ${rest.slice(0, 50)}`)) return true;
  if (ENTER_BEFORE.test(line) || ENTER_AFTER.test(rest)) return true;
  // A number that begins its line, with words about an account behind it.
  if (isFirst && /^\d{5,8}$/.test(code) && ACCOUNT_WORDS.test(rest)) return true;
  // The line before may end with the word: "Your code:" and the code below it, with words behind.
  return isFirst && CODE_WORDS.test(before.trimEnd().split('\n').at(-1) ?? '');
}

/** Takes texts out wherever they occur: a code in a subject is often in the text as well. */
export function maskAll(text: string, secrets: Iterable<string>): string {
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (masked, secret) => masked.replaceAll(secret, /^https?:/i.test(secret) ? LINK_MARK : CODE_MARK),
    text,
  );
}
