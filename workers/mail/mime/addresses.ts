/** Parses address lists. postal-mime reads the grammar; this file first rewrites forms that postal-mime does not read. */
import { addressParser } from 'postal-mime';
import type { MailAddress } from '../../../durable-objects/mailbox/contract/delivered-message.ts';
import { normalizeWords } from '../domain/encoded-words.ts';

/** Parses the address list of a header value, which has one character per byte or is text. Groups become their members. */
export function parseAddressList(value: string): MailAddress[] {
  return addressParser(tidyAddresses(normalizeWords(value)), { flatten: true })
    .map((person) => ({ name: cleanLine(person.name), email: cleanLine(person.address ?? '').slice(0, 320) }))
    .filter(({ name, email }) => name !== '' || email !== '');
}

/** Text for one line: without control characters and blanks at its ends, at most 2,000 characters. */
export const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 2_000);

/** Quoted strings and comments stay as they are. */
const PIECES = /"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|<([^<>"(]*)>|[^"(<]+/gs;

/** Removes routes (`<@relay:ann@x.test>`, RFC 5322 §4.4) and blanks around the dots and the `@` of an address. */
function tidyAddresses(text: string): string {
  return text.replace(PIECES, (piece, inside: string | undefined, at: number) => {
    if (inside !== undefined) return `<${withoutBlanks(inside.replace(/^\s*@[^:@]*(?:@[^:@]*)*:/, ''))}>`;
    if (/^["(]/.test(piece)) return piece;
    // The words before `<` are a name.
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
