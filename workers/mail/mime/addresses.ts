/** Parses address lists. postal-mime parses the grammar; before that, this file rewrites forms that postal-mime cannot parse. */
import { addressParser } from 'postal-mime';
import type { MailAddress } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { normalizeWords } from '../domain/encoded-words.ts';

/**
 * Parses the address list of a header. Groups are replaced by their members.
 * @param value with one character per byte, or decoded text.
 */
export function parseAddressList(value: string): MailAddress[] {
  return (
    addressParser(tidyAddresses(tidyComments(normalizeWords(value))), { flatten: true })
      .map((person) => ({ name: cleanLine(person.name), email: cleanLine(person.address ?? '').slice(0, 320) }))
      // Some servers write a group without members as `undisclosed-recipient:@mailman;`.
      .filter(({ name, email }) => name !== '' || !/^(?:@|$)/.test(email))
  );
}

/** Converts text to one line: at most 2,000 characters, without control characters and without blanks at its ends. */
export const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 2_000);

/** Splits a list into pieces: quoted strings, comments, addresses in angle brackets, and the text between them. */
const PIECES = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|<((?:[^<>"(]|\((?:[^()\\]|\\.)*\))*)>|[^"(<]+/gs;
const COMMENTS = /\((?:[^()\\]|\\.)*\)/gs;

/**
 * Removes comments that stand alone between commas, colons and semicolons, such as one after a group (RFC 5322 §3.4). Other comments lose
 * the comments in them and their escapes, which postal-mime does not know.
 */
function tidyComments(text: string): string {
  if (!text.includes('(')) return text;
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  let isQuoted = false;
  let isAlone = true;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && (isQuoted || depth > 0)) {
      const escaped = text.charAt(at + 1);
      part += depth === 0 ? char + escaped : escaped.replace(/[()\\]/, '');
      at += 1;
    } else if (depth > 0 || (char === '(' && !isQuoted)) {
      if (char === '(') depth += 1;
      if (depth === 1 || (char !== '(' && char !== ')')) part += char;
      if (char === ')') depth -= 1;
    } else if (/[,:;]/.test(char) && !isQuoted) {
      parts.push(isAlone ? '' : part, char);
      part = '';
      isAlone = true;
    } else {
      if (char === '"') isQuoted = !isQuoted;
      if (!/\s/.test(char)) isAlone = false;
      part += char;
    }
  }
  return depth > 0 ? text : [...parts, isAlone ? '' : part].join('');
}

/**
 * Removes routes (`<@relay:ann@x.test>`, RFC 5322 §4.4), comments in angle brackets, and blanks around the dots and the `@` of an
 * address. Quoted strings and other comments are not changed.
 */
function tidyAddresses(text: string): string {
  return text.replace(PIECES, (piece, inside: string | undefined, at: number) => {
    if (inside !== undefined)
      return `<${withoutBlanks(inside.replace(COMMENTS, '').replace(/^\s*@[^:@]*(?:@[^:@]*)*:/, ''))}>`;
    if (/^["(]/.test(piece)) return piece;
    // Words before `<` are a name, so their blanks stay.
    const nameStart = text[at + piece.length] === '<' ? piece.lastIndexOf(',') + 1 : piece.length;
    const addresses = piece.slice(0, nameStart).split(',').map(tidyBare);
    return addresses.join(',') + piece.slice(nameStart);
  });
}

function tidyBare(text: string): string {
  const at = text.indexOf('@');
  if (at < 0) return text;
  const local = text
    .slice(0, at)
    .replace(/(?<!\s)\s+\.\s*(?=\S)/g, '.')
    .trimEnd();
  return `${local}@${withoutBlanks(text.slice(at + 1))}`;
}

const withoutBlanks = (text: string): string => text.trim().replace(/(?<!\s)\s+(?=[.@])|(?<=[.@])\s+/g, '');
