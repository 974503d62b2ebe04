/**
 * Parses raw bytes into the form that a mailbox stores. The tree of `mime-tree.ts` gives texts and attachments, so the parts that
 * are scanned are also those that are shown. postal-mime parses the addresses.
 *
 * Limits, each against an attack: 50 levels of nesting (stack), 1,000 parts and 400,000 lines (time), 1 MiB of headers (memory). A
 * message beyond a limit is stored and shown with its headers and a note. Its raw bytes stay unchanged.
 */
import type {
  MailAddress,
  MessageContent,
  RawRange,
} from '../../../durable-objects/mail/contract/delivered-message.ts';
import { cleanFileName, makeNamesUnique } from '../domain/attachment-name.ts';
import { cutText } from '../domain/cut-text.ts';
import { decodeWords } from '../domain/encoded-words.ts';
import { cleanLine, parseAddressList } from './addresses.ts';
import { type BodyParts, chooseBodyParts } from './body-parts.ts';
import { cleanHtml, readBeginning, toPlainText } from './clean-html.ts';
import { decompressRtf } from './compressed-rtf.ts';
import { decodeContent } from './content-decoding.ts';
import type { Cut } from './lean-reader.ts';
import {
  type HeaderField,
  headerValue,
  type MimePart,
  type MimeTree,
  readHeaders,
  readMimeTree,
  unfold,
} from './mime-tree.ts';
import { readText, toHtml } from './part-text.ts';
import { createLocator } from './raw-range.ts';
import { readTnef, type TnefContent } from './tnef.ts';
import type { UuencodedFile } from './uuencode.ts';

export { parseAddressList } from './addresses.ts';

/** Maximum of lines. The largest text in memory (24 MiB) has 331,000 lines of the usual width. */
export const LINES_MAX = 400_000;
/** Maximum size of headers: as much as the checks read, so that nothing is shown that was not checked. */
const HEADER_BYTES_MAX = 1024 * 1024;
const LF = 10;
/** Maximum size of the headers that are stored for filters. */
const KEPT_HEADER_LENGTH_MAX = 64 * 1024;
const ADDRESSES_MAX = 1_000;
/** Maximum of characters of the addresses of one field. A thousand addresses with names fit; the raw message has all of them. */
const ADDRESSES_LENGTH_MAX = 128_000;
/** Maximum size of a winmail.dat that is opened, because it must be held in memory. */
const WINMAIL_BYTES_MAX = 24 * 1024 * 1024;
const RTF_BYTES_MAX = 4 * 1024 * 1024;
const NOTE_TOO_COMPLEX =
  'This message cannot be shown: it has too many lines or parts, or they are nested too deeply. Its original form can be downloaded.';

export interface ParsedAttachment {
  readonly fileName: string;
  readonly contentType: string;
  /** Bytes of the file, in order: pieces in memory, and cut parts, which must be decoded or are raw. */
  readonly pieces: readonly (Uint8Array | CutPiece)[];
  readonly isInline: boolean;
  readonly contentId: string | null;
  /** Range of the raw message that holds the file's bytes; null for a file from inside a text or winmail.dat. */
  readonly range: RawRange | null;
}

export interface CutPiece {
  readonly cut: Cut;
  readonly isDecoded: boolean;
  readonly sizeBytes: number;
}

/** A parsed message whose texts and attachments are in memory. */
export interface ParsedRaw extends MessageContent<string, ParsedAttachment> {
  /** False if the message exceeds a limit, so that only its headers were read. */
  readonly isComplete: boolean;
}

/**
 * Parses a message. Never fails: any bytes give a message.
 * @param opened for a message with cut parts: the cuts, the tree with them, and whether `raw` is complete.
 */
export async function parseMessage(
  raw: Uint8Array,
  opened?: { cuts: readonly Cut[]; isWhole: boolean; tree: MimeTree; holdCut?: (cut: Cut) => Promise<Uint8Array> },
): Promise<ParsedRaw> {
  const { headers, bodyStart } = readHeaders(raw);
  const head = parseHeaders(headers);
  const tree = opened?.tree ?? readMimeTree(raw);
  const isComplete =
    opened?.isWhole !== false &&
    tree.problem !== 'too_many_parts' &&
    tree.problem !== 'too_deep' &&
    bodyStart < HEADER_BYTES_MAX &&
    countLines(raw) <= LINES_MAX;
  if (!isComplete) return { ...head, text: NOTE_TOO_COMPLEX, html: null, attachments: [], isComplete };
  const body = chooseBodyParts(tree.parts);
  const shown = toTexts(body);
  const winmail = await openWinmail(body.attachments, opened?.holdCut);
  const texts = shown.text.trim() === '' && shown.html === null ? toWinmailTexts(winmail) : shown;
  const cuts = opened?.cuts ?? [];
  const locate = createLocator(raw, cuts);
  const attached = [
    ...body.attachments.map((part) => ({ ...toAttachment(part, cuts), range: locate(part) })),
    ...shown.files.map(({ name, content }) => toFile({ name, content })),
    ...winmail.flatMap(listWinmailFiles).map(toFile),
  ];
  const { text, html } = texts;
  return { ...head, text, html, attachments: nameAttachments(attached, html ?? ''), isComplete };
}

/** Opens each winmail.dat. If one is too large or damaged, it stays an ordinary attachment. */
async function openWinmail(
  parts: readonly MimePart[],
  holdCut?: (cut: Cut) => Promise<Uint8Array>,
): Promise<TnefContent[]> {
  const found: TnefContent[] = [];
  let left = WINMAIL_BYTES_MAX;
  for (const part of parts) {
    if (!/^application\/(?:vnd\.)?ms-tnef$/.test(part.type) && !/^winmail\.dat$/i.test(part.fileName)) continue;
    const sizeBytes = part.cut ? part.cut.inspection.length : part.content.length;
    if (sizeBytes > left || (part.cut && !holdCut)) continue;
    left -= sizeBytes;
    const content = readTnef(part.cut && holdCut ? await holdCut(part.cut) : decodeContent(part));
    if (content) found.push(content);
  }
  return found;
}

/** @returns the texts of winmail.dat, for a message that has no text of its own. */
function toWinmailTexts(winmail: readonly TnefContent[]): { text: string; html: string | null } {
  const content = winmail.find(({ text, html }) => text !== null || html !== null);
  const written = content?.html ?? '';
  const cleaned = cleanHtml(written);
  const html = cleaned ?? '';
  const text = content?.text?.replace(/\r\n/g, '\n') ?? (cleaned === null ? readBeginning(written) : toPlainText(html));
  return {
    text: toStorable(cleaned === null ? cutText(text) : text),
    html: html.trim() === '' ? null : toStorable(html),
  };
}

/** Lists the files of winmail.dat. Includes its formatted text (RTF) if it has no other text. */
function listWinmailFiles({ files, text, html, rtf }: TnefContent): readonly FoundFile[] {
  const formatted = rtf && text === null && html === null ? decompressRtf(rtf, RTF_BYTES_MAX) : null;
  return formatted ? [...files, { name: 'message.rtf', contentType: 'application/rtf', content: formatted }] : files;
}

function countLines(raw: Uint8Array): number {
  let lines = 1;
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) lines += 1;
  return lines;
}

/** Every text ends with a line end, so that the texts of several parts are separated. */
function toTexts({ text, html }: BodyParts): { text: string; html: string | null; files: UuencodedFile[] } {
  const isHtml = html.some((part) => part.type === 'text/html');
  const read = new Map([...text, ...(isHtml ? html : [])].map((part) => [part, readText(part)]));
  const textOf = (part: MimePart) => read.get(part)?.text ?? '';
  const cleaned = new Map(
    [...read.keys()]
      .filter((part) => part.type === 'text/html' || isHtml)
      .map((part) => [part, cleanHtml(part.type === 'text/html' ? textOf(part) : toHtml(textOf(part)))]),
  );
  const toPlain = (part: MimePart) => {
    const html = cleaned.get(part) ?? null;
    return html === null ? readBeginning(textOf(part)) : toPlainText(html);
  };
  const plain = text.map((part) => (part.type === 'text/html' ? toPlain(part) : endLine(textOf(part)))).join('\n');
  const shown = isHtml ? html.map((part) => cleaned.get(part) ?? '').join('\n') : '';
  const found = plain.trim() === '' && isHtml ? html.map(toPlain).join('\n') : plain;
  return {
    text: toStorable([...cleaned.values()].includes(null) ? cutText(found) : found),
    html: shown.trim() === '' ? null : toStorable(shown),
    files: [...read.values()].flatMap(({ files }) => files),
  };
}

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
const toStorable = (text: string): string => text.toWellFormed().replaceAll('\u0000', '');

function parseHeaders(
  headers: readonly HeaderField[],
): Omit<ParsedRaw, 'text' | 'html' | 'attachments' | 'isComplete'> {
  const all = (name: string) => headers.filter((field) => field.name === name).map(({ value }) => unfold(value));
  const first = (name: string) => all(name)[0] ?? '';
  const people = (name: string) => limitLength(all(name).flatMap(parseAddressList).slice(0, ADDRESSES_MAX));
  const messageId = decodeWords(first('message-id'));
  return {
    from: parseAddressList(first('from'))[0] ?? null,
    to: people('to'),
    cc: people('cc'),
    bcc: people('bcc'),
    replyTo: people('reply-to'),
    subject: cleanLine(decodeWords(first('subject'))),
    sentAt: toTime(first('date')),
    messageId: /<[^<>]+>/.exec(messageId)?.[0] ?? (cleanLine(messageId) || null),
    inReplyTo: listIds(first('in-reply-to'))[0] ?? null,
    references: listIds(first('references')),
    headers: keepHeaders(headers),
  };
}

function limitLength(addresses: readonly MailAddress[]): MailAddress[] {
  let left = ADDRESSES_LENGTH_MAX;
  return addresses.filter(({ name, email }) => {
    left -= name.length + email.length;
    return left >= 0;
  });
}

const listIds = (value: string): string[] => [...new Set(decodeWords(value).match(/<[^<>\s]{1,500}>/g) ?? [])];

/** Parses a Date header. @returns null if the time is before 1970 or far in the future. */
function toTime(date: string): number | null {
  const time = Date.parse(date);
  return Number.isFinite(time) && time >= 0 && time < Date.UTC(2200, 0) ? time : null;
}

function keepHeaders(headers: readonly HeaderField[]): { name: string; value: string }[] {
  const kept: { name: string; value: string }[] = [];
  let length = 0;
  for (const { name, value, source } of headers) {
    length += name.length + value.length;
    if (length > KEPT_HEADER_LENGTH_MAX) break;
    kept.push({ name: source.slice(0, source.indexOf(':')).trim(), value: toStorable(decodeWords(unfold(value))) });
  }
  return kept;
}

type UnnamedAttachment = Omit<ParsedAttachment, 'isInline'>;

function toAttachment(part: MimePart, cuts: readonly Cut[]): Omit<UnnamedAttachment, 'range'> {
  const contentId = headerValue(part.headers, 'content-id')
    .replace(/^\s*<|>\s*$/g, '')
    .trim();
  return {
    fileName: cleanFileName(part.fileName || null, part.type),
    contentType: cleanLine(part.type).slice(0, 200) || 'application/octet-stream',
    pieces: toPieces(part, cuts),
    contentId: contentId || null,
  };
}

/** Makes an attachment of a file that is not a MIME part itself: it was inside a text or winmail.dat. */
interface FoundFile {
  readonly name: string;
  readonly contentType?: string;
  readonly contentId?: string | null;
  readonly content: Uint8Array;
}

function toFile({ name, contentType, contentId, content }: FoundFile): UnnamedAttachment {
  const type = contentType || 'application/octet-stream';
  return {
    fileName: cleanFileName(decodeWords(name), type),
    contentType: type.slice(0, 200),
    pieces: [content],
    contentId: contentId ?? null,
    range: null,
  };
}

function nameAttachments(attached: readonly UnnamedAttachment[], html: string): ParsedAttachment[] {
  const names = makeNamesUnique(attached.map(({ fileName }) => fileName));
  return attached.map((file, at) => ({
    ...file,
    fileName: names[at] ?? file.fileName,
    isInline: file.contentId !== null && html.includes(`cid:${file.contentId}`),
  }));
}

/** Collects the bytes of an attachment. An attached message may contain cuts; an ordinary attachment may be one cut. */
export function toPieces(part: MimePart, cuts: readonly Cut[]): (Uint8Array | CutPiece)[] {
  if (part.cut) return [{ cut: part.cut, isDecoded: true, sizeBytes: part.cut.inspection.length }];
  if (!part.message) return [decodeContent(part)];
  const bytes = Buffer.from(part.message.buffer, part.message.byteOffset, part.message.byteLength);
  const pieces: (Uint8Array | CutPiece)[] = [];
  let at = 0;
  for (const cut of cuts) {
    const found = bytes.indexOf(cut.place, at, 'latin1');
    if (found < 0) continue;
    pieces.push(bytes.subarray(at, found), { cut, isDecoded: false, sizeBytes: cut.length });
    at = found + cut.place.length;
  }
  pieces.push(bytes.subarray(at));
  return pieces.filter((piece) => 'cut' in piece || piece.length > 0 || pieces.length === 1);
}
