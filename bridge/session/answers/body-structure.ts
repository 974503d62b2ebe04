/** BODY and BODYSTRUCTURE (RFC 3501 §7.4.2), and where the sections of a message are. Pure. */
import type { Part } from '../account-api.ts';
import { toEnvelope } from './envelope.ts';
import { toImapString, toNullableString } from './strings.ts';

const EMPTY_PART = '("TEXT" "PLAIN" ("CHARSET" "US-ASCII") NIL NIL "7BIT" 0 0)';
// The texts of a tree have one character per byte.
const text = (value: string | null | undefined): string => toNullableString(value === '' ? null : value);
const upper = (value: string): string => toImapString(value.replace(/[a-z]+/g, (letters) => letters.toUpperCase()));

/** @param isExtended true for BODYSTRUCTURE, false for BODY. */
export function toBodyStructure(part: Part, isExtended: boolean): string {
  if (part.parts) {
    const parts = part.parts.map((each) => toBodyStructure(each, isExtended)).join('') || EMPTY_PART;
    const extension = isExtended ? ` ${toParameters(part.parameters)} ${toRest(part)}` : '';
    return `(${parts} ${upper(part.subtype)}${extension})`;
  }
  const extension = isExtended ? ` ${text(part.md5)} ${toRest(part)}` : '';
  return `(${[...toBasic(part), ...toSpecial(part, isExtended)].join(' ')}${extension})`;
}

function toBasic(part: Part): string[] {
  return [
    upper(part.type),
    upper(part.subtype),
    toParameters(part.parameters),
    text(part.id),
    text(part.description),
    upper(part.encoding || '7bit'),
    String(part.octets),
  ];
}

function toSpecial(part: Part, isExtended: boolean): string[] {
  const type = part.type.toLowerCase();
  if (type === 'text') return [String(part.lines ?? 0)];
  if (type !== 'message' || part.subtype.toLowerCase() !== 'rfc822') return [];
  const header = Buffer.from(part.envelope_header ?? '', 'base64').toString('latin1');
  const body = part.message ? toBodyStructure(part.message, isExtended) : EMPTY_PART;
  return [toEnvelope(header), body, String(part.lines ?? 0)];
}

function toParameters(parameters: Readonly<Record<string, string>>): string {
  const entries = Object.entries(parameters).map(([name, value]) => `${upper(name)} ${toImapString(value)}`);
  return entries.length === 0 ? 'NIL' : `(${entries.join(' ')})`;
}

/** Disposition, language and location. */
function toRest({ disposition, language, location }: Part): string {
  const first = disposition ? `(${upper(disposition.type)} ${toParameters(disposition.parameters)})` : 'NIL';
  const languages = typeof language === 'string' ? [language] : (language ?? []);
  const second =
    languages.length === 0
      ? 'NIL'
      : languages.length === 1
        ? toNullableString(languages[0])
        : `(${languages.map(toImapString).join(' ')})`;
  return `${first} ${second} ${text(location)}`;
}

/** Bytes `from` up to and without `to` of a raw message. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

export type SectionText = 'HEADER' | 'TEXT' | 'MIME' | 'HEADER.FIELDS' | 'HEADER.FIELDS.NOT' | null;

/** @returns where a section is, or null if the message has no such part. The fields of HEADER.FIELDS are a part of its range. */
export function findSection(top: Part, path: readonly number[], kind: SectionText): ByteRange | null {
  const part = findPart(top, path);
  if (!part) return null;
  if (kind === null) return path.length === 0 ? { from: 0, to: top.end } : { from: part.body, to: part.end };
  if (kind === 'MIME') return { from: part.start, to: part.body };
  const message = path.length === 0 ? top : part.message;
  if (!message) return null;
  return kind === 'TEXT' ? { from: message.body, to: message.end } : { from: message.start, to: message.body };
}

function findPart(top: Part, path: readonly number[]): Part | null {
  let part = top;
  let isMessage = true;
  for (const number of path) {
    if (!isMessage && part.message) {
      part = part.message;
      isMessage = true;
    }
    // A message without parts has its body as part 1.
    const child = part.parts ? part.parts[number - 1] : number === 1 && isMessage ? part : undefined;
    if (!child) return null;
    part = child;
    isMessage = false;
  }
  return part;
}
