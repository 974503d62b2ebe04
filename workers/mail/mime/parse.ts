/**
 * Parses raw bytes into the form a mailbox stores. postal-mime reads MIME; this file adds limits and the mapping, and handles
 * messages beyond a limit.
 *
 * Limits, each against an attack: 50 levels of nesting (stack), 1,000 parts and 400,000 lines (time), 1 MiB of headers
 * (memory). A message beyond a limit is stored and shown with its headers and a note. Its raw bytes stay unchanged.
 */
import PostalMime, { type Address, addressParser, decodeWords, type Email } from 'postal-mime';
import type { MailAddress, MessageContent } from '../../../durable-objects/mailbox/contract/delivered-message.ts';
import { cleanFileName, makeNamesUnique } from '../domain/attachment-name.ts';
import { cleanHtml, toPlainText } from './clean-html.ts';
import type { Cut } from './lean-reader.ts';

export const PARTS_MAX = 1_000;
export const NESTING_DEPTH_MAX = 50;
/** Each line costs about 10 µs. The largest text in memory (24 MiB) has 331,000 lines of the width that programs write. */
export const LINES_MAX = 400_000;
/** As much as the checks read, so nothing unchecked is shown. */
const HEADER_BYTES_MAX = 1024 * 1024;
const LF = 10;
/** Limit of the headers that are stored for filters. */
const KEPT_HEADER_LENGTH_MAX = 64 * 1024;
const ADDRESSES_MAX = 1_000;
const NOTE_TOO_COMPLEX =
  'This message cannot be shown: it has too many lines or parts, or they are nested too deeply. Its original form can be downloaded.';

export interface ParsedAttachment {
  readonly fileName: string;
  readonly contentType: string;
  /** In order: bytes in memory, and cut parts, which are decoded or raw. */
  readonly pieces: readonly (Uint8Array | CutPiece)[];
  readonly isInline: boolean;
  readonly contentId: string | null;
}

export interface CutPiece {
  readonly cut: Cut;
  readonly isDecoded: boolean;
  readonly sizeBytes: number;
}

/** A parsed message with its bytes in memory. */
export interface ParsedRaw extends MessageContent<string, ParsedAttachment> {
  /** False if the message exceeds a limit: only its headers were read. */
  readonly isComplete: boolean;
}

/**
 * Never fails: any bytes give a message.
 * @param opened for a message with cut parts: the cuts, and whether `raw` is complete.
 */
export async function parseMessage(
  raw: Uint8Array,
  opened?: { cuts: readonly Cut[]; isWhole: boolean },
): Promise<ParsedRaw> {
  const email = opened?.isWhole === false ? null : await parseWithinLimits(raw);
  if (email) return toParsed(email, true, opened?.cuts);
  const headersOnly = await PostalMime.parse(takeHeaders(raw), { maxHeadersSize: HEADER_BYTES_MAX });
  return { ...toParsed(headersOnly, false), text: NOTE_TOO_COMPLEX, html: null, attachments: [] };
}

async function parseWithinLimits(raw: Uint8Array): Promise<Email | null> {
  if (countParts(raw) > PARTS_MAX || countLines(raw) > LINES_MAX) return null;
  try {
    return await PostalMime.parse(raw, {
      maxNestingDepth: NESTING_DEPTH_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
      forceRfc822Attachments: true,
    });
  } catch {
    // postal-mime only throws beyond its limits.
    return null;
  }
}

/** Counts lines that delimit a part, by any boundary that the message declares. Stops at one more than the limit. */
export function countParts(raw: Uint8Array): number {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('latin1');
  const boundaries = new Set<string>();
  for (const match of text.matchAll(/boundary\s*=\s*(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))/gi)) {
    boundaries.add((match[1] ?? match[2] ?? '').trimEnd());
    if (boundaries.size > PARTS_MAX) return PARTS_MAX + 1;
  }
  if (boundaries.size === 0) return 1;
  let parts = 0;
  for (let at = text.startsWith('--') ? 0 : text.indexOf('\n--') + 1; at > 0 || text.startsWith('--', at); ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at + 2, end === -1 ? undefined : end).trimEnd();
    if (line.length <= 200 && boundaries.has(line)) parts += 1;
    if (parts > PARTS_MAX) break;
    const next = text.indexOf('\n--', at);
    if (next === -1) break;
    at = next + 1;
  }
  return parts;
}

function countLines(raw: Uint8Array): number {
  let lines = 1;
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) lines += 1;
  return lines;
}

function takeHeaders(raw: Uint8Array): Uint8Array {
  const head = raw.subarray(0, HEADER_BYTES_MAX / 2);
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const end = /\r?\n\r?\n/.exec(text)?.index ?? head.length;
  // Without its type, a body is plain text and has no parts.
  return Buffer.from(text.slice(0, end).replace(/^content-type:/gim, 'x-content-type:'), 'latin1');
}

function toParsed(email: Email, isComplete: boolean, cuts: readonly Cut[] = []): ParsedRaw {
  const html = email.html === undefined ? null : cleanHtml(email.html);
  const text = email.text ?? (html === null ? '' : toPlainText(html));
  return {
    from: toPeople(email.from ? [email.from] : [])[0] ?? null,
    to: toPeople(email.to),
    cc: toPeople(email.cc),
    bcc: toPeople(email.bcc),
    replyTo: toPeople(email.replyTo),
    subject: cleanLine(email.subject ?? ''),
    sentAt: toTime(email.date),
    messageId: /<[^<>]+>/.exec(email.messageId ?? '')?.[0] ?? (cleanLine(email.messageId ?? '') || null),
    inReplyTo: listIds(email.inReplyTo)[0] ?? null,
    references: listIds(email.references),
    text: text.toWellFormed().replaceAll('\u0000', ''),
    html: html === null || html === '' ? null : html.toWellFormed().replaceAll('\u0000', ''),
    headers: keepHeaders(email),
    attachments: toAttachments(email, html ?? '', cuts),
    isComplete,
  };
}

function toPeople(addresses: readonly Address[] | undefined): MailAddress[] {
  const people = (addresses ?? []).flatMap(
    (address) => address.group ?? [address as Exclude<Address, { group: unknown[] }>],
  );
  return people
    .slice(0, ADDRESSES_MAX)
    .map((person) => ({ name: cleanLine(person.name), email: cleanLine(person.address ?? '').slice(0, 320) }));
}

/** Parses the address list of a header. */
export const parseAddressList = (text: string): MailAddress[] => toPeople(addressParser(text));

const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 2_000);

const listIds = (value: string | undefined): string[] => [...new Set((value ?? '').match(/<[^<>\s]{1,500}>/g) ?? [])];

/** Ignores a Date header before 1970 or far in the future. */
function toTime(date: string | undefined): number | null {
  const time = Date.parse(date ?? '');
  return Number.isFinite(time) && time >= 0 && time < Date.UTC(2200, 0) ? time : null;
}

function keepHeaders(email: Email): { name: string; value: string }[] {
  const kept: { name: string; value: string }[] = [];
  let length = 0;
  for (const { originalKey, value } of email.headers) {
    length += originalKey.length + value.length;
    if (length > KEPT_HEADER_LENGTH_MAX) break;
    kept.push({ name: originalKey, value: decodeWords(value).toWellFormed().replaceAll('\u0000', '') });
  }
  return kept;
}

function toAttachments(email: Email, html: string, cuts: readonly Cut[]): ParsedAttachment[] {
  const names = makeNamesUnique(email.attachments.map((part) => cleanFileName(part.filename, part.mimeType)));
  return email.attachments.map((part, at) => {
    const contentId = part.contentId?.replace(/^\s*<|>\s*$/g, '').trim() || null;
    return {
      fileName: names[at] ?? `attachment-${at}`,
      contentType: cleanLine(part.mimeType).slice(0, 200) || 'application/octet-stream',
      pieces: toPieces(toBytes(part.content), cuts),
      isInline: contentId !== null && html.includes(`cid:${contentId}`),
      contentId,
    };
  });
}

const toBytes = (content: ArrayBuffer | Uint8Array | string): Buffer =>
  typeof content === 'string'
    ? Buffer.from(content)
    : content instanceof Uint8Array
      ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
      : Buffer.from(content);

/** Splits content at its cuts. An attached message has cuts inside; an ordinary attachment is one cut. */
function toPieces(bytes: Buffer, cuts: readonly Cut[]): (Uint8Array | CutPiece)[] {
  const pieces: (Uint8Array | CutPiece)[] = [];
  let at = 0;
  for (const cut of cuts) {
    if (cut.token.equals(bytes)) return [{ cut, isDecoded: true, sizeBytes: cut.inspection.length }];
    const found = bytes.indexOf(cut.place, at, 'latin1');
    if (found < 0) continue;
    pieces.push(bytes.subarray(at, found), { cut, isDecoded: false, sizeBytes: cut.length });
    at = found + cut.place.length;
  }
  pieces.push(bytes.subarray(at));
  return pieces.filter((piece) => 'cut' in piece || piece.length > 0 || pieces.length === 1);
}
