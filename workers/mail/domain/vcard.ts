/**
 * Reads and edits vCards of version 3.0 (RFC 2426) and 4.0 (RFC 6350). An edit changes only the lines of the properties that it names:
 * all others keep their bytes, so that properties which Tessera does not know survive. Pure.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';

/** What Tessera reads of a card. Lengths are those of contacts: what is longer stays in the card only. */
export interface CardFacts {
  readonly uid: string;
  readonly name: string;
  /** Addresses in lower case, without repetitions. */
  readonly emails: readonly string[];
  readonly note: string;
}

export interface CardChanges {
  readonly name?: string;
  readonly note?: string;
  /** Replaces an address; `to: null` removes it. */
  readonly email?: { readonly from: string; readonly to: string | null };
}

export interface CardLine {
  /** Name in capitals, without its group. */
  readonly name: string;
  /** Parameters as written, with the semicolons before them. */
  readonly parameters: string;
  readonly value: string;
  /** Lines as stored, with their ends. */
  readonly stored: string;
  /** Group with its dot, or empty. */
  readonly group: string;
}

const NAME_LENGTH_MAX = 200;
const NOTE_LENGTH_MAX = 2_000;
const UID_LENGTH_MAX = 500;
/** Addresses of one card that are known as contacts. Further ones stay in the card only. */
const EMAILS_MAX = 20;
/** Octets of a line before it is folded (RFC 6350 §3.2). */
const FOLD_BYTES = 75;
const EMAIL = /^[^\s@<>"]{1,64}@[^\s@<>"]{1,255}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML 1.0 cannot contain
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Reads a card. @returns the facts, or why the text is no card that can be stored. */
export function readVcard(text: string): Result<CardFacts, string> {
  if (NOT_XML.test(text) || !text.isWellFormed()) return err('A card must not have control characters.');
  const lines = readLines(text).filter(({ stored }) => stored.trim() !== '');
  const named = (name: string) => lines.filter((line) => line.name === name);
  const [first, last] = [lines[0], lines.at(-1)];
  const isOne = named('BEGIN').length === 1 && named('END').length === 1;
  const isWhole = isOne && first?.name === 'BEGIN' && last?.name === 'END';
  if (!isWhole || !/^VCARD$/i.test(first.value.trim()) || !/^VCARD$/i.test(last.value.trim()))
    return err('The body must be one card, from BEGIN:VCARD to END:VCARD.');
  const versions = named('VERSION').map(({ value }) => value.trim());
  if (versions.length !== 1 || !/^[34]\.0$/.test(versions[0] ?? '')) return err('The version must be 3.0 or 4.0.');
  const uids = named('UID').map(({ value }) => value.trim());
  const [uid = ''] = uids;
  if (uids.length !== 1 || uid === '' || uid.length > UID_LENGTH_MAX) return err('A card must have one UID.');
  const emails = named('EMAIL').map(toEmail).filter(isEmail);
  const shown = toName(lines);
  const name = emails.includes(shown.toLowerCase()) ? '' : shown;
  const note = unescapeText(named('NOTE')[0]?.value ?? '').slice(0, NOTE_LENGTH_MAX);
  return ok({ uid, name, emails: [...new Set(emails)].slice(0, EMAILS_MAX), note: note.toWellFormed() });
}

const toEmail = ({ value }: CardLine): string =>
  unescapeText(value)
    .trim()
    .replace(/^mailto:/i, '')
    .toLowerCase();
const isEmail = (email: string): boolean => EMAIL.test(email);

function toName(lines: readonly CardLine[]): string {
  const textOf = (name: string) => lines.find((line) => line.name === name)?.value ?? '';
  const [family = '', given = ''] = textOf('N').split(/(?<!\\);/);
  const name = unescapeText(textOf('FN')).trim() || unescapeText(`${given} ${family}`).trim();
  return name
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, NAME_LENGTH_MAX)
    .toWellFormed();
}

/** Splits a card into its logical lines. */
export function readLines(text: string): CardLine[] {
  const stored: string[] = [];
  for (const line of text.replace(/^\ufeff/, '').match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []) {
    if (/^[ \t]/.test(line) && stored.length > 0) stored[stored.length - 1] += line;
    else stored.push(line);
  }
  return stored.map(toLine);
}

/** Reads `group.NAME;PARAMETER="a:b":value`. */
function toLine(stored: string): CardLine {
  const line = stored.replace(/(?:\r\n|\r|\n)[ \t]/g, '').replace(/[\r\n]+$/, '');
  let colon = 0;
  for (let isQuoted = false; colon < line.length && (isQuoted || line[colon] !== ':'); colon += 1)
    if (line[colon] === '"') isQuoted = !isQuoted;
  const head = line.slice(0, colon);
  const semicolon = head.indexOf(';');
  const fullName = semicolon < 0 ? head : head.slice(0, semicolon);
  const dot = fullName.lastIndexOf('.');
  return {
    name: fullName.slice(dot + 1).toUpperCase(),
    parameters: semicolon < 0 ? '' : head.slice(semicolon),
    value: line.slice(colon + 1),
    stored,
    group: fullName.slice(0, dot + 1),
  };
}

/** Writes the card of a contact that has none yet. */
export const writeVcard = (uid: string, { name, email, note }: { name: string; email: string; note: string }): string =>
  [
    'BEGIN:VCARD',
    'VERSION:3.0',
    'PRODID:-//Tessera//Contacts//EN',
    `UID:${uid}`,
    `FN:${escapeText(name === '' ? email : name)}`,
    `N:${toStructuredName(name)}`,
    `EMAIL;TYPE=INTERNET:${escapeText(email)}`,
    ...(note === '' ? [] : [`NOTE:${escapeText(note)}`]),
    'END:VCARD',
  ]
    .map((line) => `${fold(line)}\r\n`)
    .join('');

/** Changes properties of a card that `readVcard` accepts. All other lines keep their bytes. */
export function changeVcard(text: string, { name, note, email }: CardChanges): string {
  let lines = readLines(text);
  if (name !== undefined) {
    const shown = name === '' ? (email?.to ?? lines.filter(isEmailLine).map(toEmail)[0] ?? '') : name;
    lines = replaceLine(lines, 'FN', escapeText(shown), true);
    lines = replaceLine(lines, 'N', toStructuredName(name), false);
  }
  if (note !== undefined) lines = replaceLine(lines, 'NOTE', note === '' ? null : escapeText(note), true);
  if (email) {
    const { from, to } = email;
    const isMeant = (line: CardLine) => isEmailLine(line) && toEmail(line) === from;
    lines =
      to === null ? withoutLines(lines, isMeant) : lines.map((line) => (isMeant(line) ? withValue(line, to) : line));
  }
  return lines.map(({ stored }) => stored).join('');
}

const isEmailLine = ({ name }: CardLine): boolean => name === 'EMAIL';

/** Removes lines, and the others of their groups, such as the label of an address. */
function withoutLines(lines: readonly CardLine[], isMeant: (line: CardLine) => boolean): CardLine[] {
  const groups = new Set(lines.filter(isMeant).map(({ group }) => group.toUpperCase()));
  return lines.filter((line) => !isMeant(line) && (line.group === '' || !groups.has(line.group.toUpperCase())));
}

/** Replaces the first line of a name; null removes it. @param isAdded whether the line is added if there is none. */
function replaceLine(lines: readonly CardLine[], name: string, value: string | null, isAdded: boolean): CardLine[] {
  const at = lines.findIndex((line) => line.name === name);
  const line = lines[at];
  if (line && value === null) return lines.toSpliced(at, 1);
  if (line && value !== null) return lines.with(at, withValue(line, value));
  if (value === null || !isAdded) return [...lines];
  const end = lines.findIndex((each) => each.name === 'END');
  const added = withValue({ name, parameters: '', value: '', stored: '\r\n', group: '' }, value);
  return lines.toSpliced(end < 0 ? lines.length : end, 0, added);
}

function withValue(line: CardLine, value: string): CardLine {
  const end = /(?:\r\n|\r|\n)$/.exec(line.stored)?.[0] ?? '\r\n';
  return { ...line, value, stored: `${fold(`${line.group}${line.name}${line.parameters}:${value}`)}${end}` };
}

/** Guesses the parts of a name: the last word is the family name. */
function toStructuredName(name: string): string {
  const words = name.split(' ').filter((word) => word !== '');
  const family = words.length > 1 ? (words.pop() ?? '') : '';
  return `${escapeText(family)};${escapeText(words.join(' '))};;;`;
}

const escapeText = (text: string): string =>
  text
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n?|\n/g, '\\n')
    .replace(/\p{Cc}/gu, ' ');

export const unescapeText = (text: string): string =>
  text.replace(/\\([nN,;:\\])/g, (_, char: string) => (/n/i.test(char) ? '\n' : char));

function fold(line: string): string {
  const parts: string[] = [];
  let part = '';
  let bytes = 0;
  for (const char of line) {
    const size = Buffer.byteLength(char);
    if (bytes + size > FOLD_BYTES) {
      parts.push(part);
      part = '';
      bytes = 1;
    }
    part += char;
    bytes += size;
  }
  return [...parts, part].join('\r\n ');
}
