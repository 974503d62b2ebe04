/**
 * Finds the parts of a message in one pass, for scanners and for the parser that stores mail. Lenient like a mail client, with
 * limits on everything (RFC 2045, 2046). The content of a part is a view into the message. Bytes are copied only when content is
 * decoded.
 */

import type { Cut } from './lean-reader.ts';
import { parseParameters } from './parameters.ts';

/**
 * Maximum of parts, more than any real message has. If there are more, the problem is `too_many_parts`, and the message is never
 * "clean".
 */
export const PARTS_MAX = 1_000;
/** Maximum depth of nested multiparts and messages. */
export const PART_DEPTH_MAX = 50;
const HEADER_BYTES_MAX = 1024 * 1024;
const HEADER_FIELDS_MAX = 2_000;
/**
 * Maximum length of a boundary line. RFC 2046 §5.1.1 allows 70 characters and then spaces; longer boundaries exist and are
 * accepted.
 */
const BOUNDARY_BYTES_MAX = 300;
/** Maximum length of a header value. It bounds the time that regular expressions of rules can take. */
const HEADER_VALUE_CHARACTERS_MAX = 8_192;

export interface HeaderField {
  /** Name of the field in lower case. */
  readonly name: string;
  /** Value with its folds, without the last line end; one character per byte. */
  readonly value: string;
  /** The whole field exactly as in the message (name, colon and value), without the last line end. Signatures cover this. */
  readonly source: string;
}

export interface MimePart {
  readonly headers: readonly HeaderField[];
  /** Media type, `type/subtype`, in lower case. */
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly fileName: string;
  readonly isAttachment: boolean;
  readonly encoding: string;
  readonly depth: number;
  /** Encoded content. It is empty for a multipart and for an attached message, whose parts follow in the list. */
  readonly content: Uint8Array;
  /** Positions of the part in the bytes that were read: its header, its body, and the end of the body. */
  readonly span: { readonly start: number; readonly body: number; readonly end: number };
  /** All bytes of an attached message that is not encoded. Its parts follow in the list. */
  readonly message?: Uint8Array;
  /** The cut, if the content was cut out of the message. `content` is then only the placeholder line. */
  readonly cut?: Cut;
}

export interface MimeTree {
  /** All parts in the order of the message. The first part is the message itself. */
  readonly parts: readonly MimePart[];
  /** Why a mail client may read the message differently; null if there is no reason. */
  readonly problem: 'too_many_parts' | 'too_deep' | 'header_too_large' | 'header_ambiguous' | 'too_much_text' | null;
}

const LF = 10;
const CR = 13;
/** Maximum size of a part that consists of a placeholder line and blank lines around it. */
const PLACEHOLDER_BYTES_MAX = 200;

export function readMimeTree(raw: Uint8Array): MimeTree {
  return new TreeReader(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)).read();
}

/** Sets `cut` of each part whose whole content was cut out. */
export function attachCuts(tree: MimeTree, cuts: readonly Cut[]): MimeTree {
  if (cuts.length === 0) return tree;
  const byPlace = new Map(cuts.map((cut) => [cut.place, cut]));
  const parts = tree.parts.map((part) => {
    if (part.encoding !== 'base64' || part.content.length > PLACEHOLDER_BYTES_MAX) return part;
    const cut = byPlace.get(Buffer.from(part.content).toString('latin1').trim());
    return cut ? { ...part, cut } : part;
  });
  return { ...tree, parts };
}

/** Reads the header fields of a message or part, and finds the start of the body. */
export function readHeaders(
  raw: Uint8Array,
  start = 0,
  limit = raw.length,
): { headers: HeaderField[]; bodyStart: number } {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(limit, raw.length, start + HEADER_BYTES_MAX));
  const { end, bodyStart } = findHeaderEnd(bytes, start);
  const text = bytes.toString('latin1', start, end);
  const headers: HeaderField[] = [];
  let lines: string[] = [];
  const close = () => {
    const [first = ''] = lines;
    const colon = first.indexOf(':');
    if (colon > 0) {
      const name = first.slice(0, colon).trim().toLowerCase();
      // From fields are kept even beyond the limit, because mail clients read and show them.
      if (/^[!-~]+$/.test(name) && (headers.length < HEADER_FIELDS_MAX || name === 'from'))
        headers.push({
          name,
          value: [first.slice(colon + 1), ...lines.slice(1)].join('\r\n'),
          source: lines.join('\r\n'),
        });
    }
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (lines.length > 0 && /^[ \t]/.test(line)) lines.push(line);
    else {
      close();
      lines = [line];
    }
  }
  close();
  return { headers, bodyStart };
}

function findHeaderEnd(bytes: Buffer, start: number): { end: number; bodyStart: number } {
  for (let at = start; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(LF, at);
    const isBlank = lineEnd === at || (lineEnd === at + 1 && bytes[at] === CR);
    if (isBlank || (lineEnd >= 0 && isWhite(bytes, at, lineEnd) && isBodyAt(bytes, lineEnd + 1)))
      return { end: at, bodyStart: lineEnd + 1 };
    if (lineEnd < 0) break;
    at = lineEnd + 1;
  }
  return { end: bytes.length, bodyStart: bytes.length };
}

function isWhite(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at];
    if (byte !== 32 && byte !== 9 && (byte !== CR || at !== to - 1)) return false;
  }
  return true;
}

/**
 * Whether a body begins at `at`, after a line of blanks. If a header field or a fold follows that line, the line is itself a fold
 * (RFC 5322 §4.2).
 */
function isBodyAt(bytes: Buffer, at: number): boolean {
  return at < bytes.length && !/^(?:[ \t\r\n]|[!-9;-~]+[ \t]*:)/.test(bytes.toString('latin1', at, at + 200));
}

/** @returns the value of the first field with this name, unfolded and limited to a realistic length; empty if there is none. */
export function headerValue(headers: readonly HeaderField[], name: string): string {
  return unfold((headers.find((field) => field.name === name)?.value ?? '').slice(0, HEADER_VALUE_CHARACTERS_MAX));
}

export const unfold = (value: string): string => value.replace(/\r\n(?=[ \t])/g, '').trim();

interface FoundBoundary {
  /** End of the content before the boundary. The line end before the boundary belongs to the boundary. */
  readonly at: number;
  readonly lineEnd: number;
  /** Index of the boundary's multipart among the open ones. */
  readonly index: number;
  readonly isClosing: boolean;
}

class TreeReader {
  private readonly bytes: Buffer;
  private readonly parts: MimePart[] = [];
  /** Boundaries of the open multiparts, outermost first. `depth` is the depth of their parts. */
  private readonly open: { boundary: string; depth: number; isDigest: boolean }[] = [];
  /** Multiparts and attached messages whose end was not found yet, with the index of their part. */
  private unended: { index: number; depth: number; isMessage: boolean }[] = [];
  /** For each boundary, the index in `open` of the innermost multipart with it. */
  private readonly indexOf = new Map<string, number>();
  private readonly firstBytes = new Set<number>();
  private readonly blankLines = ['\n\r\n', '\n\n'].map((text) => ({ text, at: -1 }));
  private problem: MimeTree['problem'] = null;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  read(): MimeTree {
    let next: { start: number; depth: number } | null = { start: 0, depth: 0 };
    while (next !== null && this.problem !== 'too_many_parts') next = this.readPart(next.start, next.depth);
    this.endParts(0, this.bytes.length);
    return { parts: this.parts, problem: this.problem };
  }

  /** Reads one part. @returns where the next part begins; null after the last one. */
  private readPart(start: number, depth: number): { start: number; depth: number } | null {
    if (this.parts.length >= PARTS_MAX) {
      this.problem = 'too_many_parts';
      return null;
    }
    const { headers, bodyStart } = this.readPartHeaders(start);
    this.problem ??= judgeHeaders(headers, bodyStart - start);
    const index = this.parts.length;
    const span = { start, body: bodyStart, end: this.bytes.length };
    const parent = this.open.at(-1);
    const described = describe(headers, parent?.isDigest === true && parent.depth === depth);
    const boundary = described.parameters.get('boundary');
    const isContainer = described.type.startsWith('multipart/') && boundary !== undefined && boundary !== '';
    const isMessage =
      (described.type === 'message/rfc822' || described.type === 'message/global') &&
      !['base64', 'quoted-printable'].includes(described.encoding);
    if ((isContainer || isMessage) && depth >= PART_DEPTH_MAX) this.problem ??= 'too_deep';
    else if (isContainer) {
      const isDigest = described.type === 'multipart/digest';
      // Its place is taken before its first boundary is searched, because that search may find the end of the multipart.
      this.parts.push({ ...described, depth, span, content: new Uint8Array() });
      this.unended.push({ index, depth, isMessage: false });
      this.remember(boundary, this.open.push({ boundary, depth: depth + 1, isDigest }) - 1);
      const { end, next } = this.nextPart(bodyStart);
      const hasParts = next !== null && next.depth === depth + 1;
      const content = hasParts ? new Uint8Array() : this.bytes.subarray(bodyStart, Math.max(bodyStart, end));
      this.parts[index] = { ...described, depth, span: this.parts[index]?.span ?? span, content };
      return next;
    } else if (isMessage) {
      this.unended.push({ index, depth, isMessage: true });
      this.parts.push({ ...described, depth, span, content: new Uint8Array() });
      return { start: bodyStart, depth: depth + 1 };
    }
    const { end, next } = this.nextPart(bodyStart);
    const content = this.bytes.subarray(bodyStart, Math.max(bodyStart, end));
    this.parts.push({ ...described, depth, span: { ...span, end: bodyStart + content.length }, content });
    return next;
  }

  /** Reads a part's header. If its blank line is missing, stops at a boundary line. */
  private readPartHeaders(start: number): { headers: HeaderField[]; bodyStart: number } {
    const boundary = this.findBoundary(start, this.findBlankLine(start));
    if (boundary === null) return readHeaders(this.bytes, start);
    const read = readHeaders(this.bytes, start, boundary.at);
    return read.headers.length === 0 && read.bodyStart >= boundary.at ? { headers: [], bodyStart: start } : read;
  }

  /**
   * Finds the next blank line. Caches its position: otherwise each of a thousand parts without a blank line would search to the
   * end.
   */
  private findBlankLine(start: number): number {
    for (const blank of this.blankLines) {
      if (blank.at >= start) continue;
      const found = this.bytes.indexOf(blank.text, start);
      blank.at = found < 0 ? this.bytes.length : found + 1;
    }
    return Math.min(...this.blankLines.map((blank) => blank.at));
  }

  /**
   * Searches for the boundary that ends the content.
   * @returns the end of the content, and the next part; null at the end of the message.
   */
  private nextPart(from: number): { end: number; next: { start: number; depth: number } | null } {
    let at = from;
    let end: number | null = null;
    for (;;) {
      const found = this.findBoundary(at);
      if (found === null) return { end: end ?? this.bytes.length, next: null };
      end ??= found.at;
      this.endParts(this.open[found.index]?.depth ?? 0, found.at);
      this.closeTo(found.index + (found.isClosing ? 0 : 1));
      if (!found.isClosing) return { end, next: { start: found.lineEnd, depth: this.open[found.index]?.depth ?? 0 } };
      at = found.lineEnd;
    }
  }

  /** Ends the open multiparts and messages at some depth or deeper. A boundary of a multipart ends what is inside it. */
  private endParts(depth: number, end: number): void {
    for (const { index, isMessage } of this.unended.filter((each) => each.depth >= depth)) {
      const part = this.parts[index];
      if (!part) continue;
      const span = { ...part.span, end: Math.max(part.span.body, end) };
      const message = isMessage ? { message: this.bytes.subarray(span.body, span.end) } : {};
      this.parts[index] = { ...part, span, ...message };
    }
    this.unended = this.unended.filter((each) => each.depth < depth);
  }

  /** Cheap test that precedes the look-up. Hostile mail has millions of lines that begin with dashes. */
  private mayBeBoundary(from: number, to: number): boolean {
    if (!this.firstBytes.has(this.bytes[from] ?? 0)) return false;
    return to - from <= BOUNDARY_BYTES_MAX;
  }

  private remember(boundary: string, index: number): void {
    this.indexOf.set(boundary, index);
    this.firstBytes.add(boundary.charCodeAt(0) & 0xff);
  }

  private closeTo(count: number): void {
    if (count === this.open.length) return;
    this.open.length = count;
    this.indexOf.clear();
    this.firstBytes.clear();
    for (const [index, { boundary }] of this.open.entries()) this.remember(boundary, index);
  }

  private findBoundary(from: number, until = this.bytes.length): FoundBoundary | null {
    if (this.open.length === 0) return null;
    const bytes = this.bytes.subarray(0, until);
    for (let at = from; at < bytes.length; ) {
      const dashes = at === from && bytes.toString('latin1', at, at + 2) === '--' ? at : bytes.indexOf('\n--', at) + 1;
      if (dashes === 0) return null;
      const feed = this.bytes.indexOf(LF, dashes);
      const lineEnd = feed < 0 ? this.bytes.length : feed + 1;
      at = lineEnd - 1;
      if (!this.mayBeBoundary(dashes + 2, lineEnd)) continue;
      const line = this.bytes.toString('latin1', dashes + 2, lineEnd).trimEnd();
      const plain = this.indexOf.get(line);
      const index = plain ?? (line.endsWith('--') ? this.indexOf.get(line.slice(0, -2)) : undefined);
      if (index !== undefined) {
        const end = this.bytes[dashes - 2] === CR ? dashes - 2 : dashes - 1;
        return { at: Math.max(from, end), lineEnd, index, isClosing: plain === undefined };
      }
    }
    return null;
  }
}

/** Finds headers that clients interpret differently. A scanner that follows one interpretation would miss the others. */
function judgeHeaders(headers: readonly HeaderField[], sizeBytes: number): MimeTree['problem'] {
  const decisive = headers.filter((field) => DECISIVE.has(field.name));
  const isLong = decisive.some((field) => field.value.length > HEADER_VALUE_CHARACTERS_MAX);
  if (isLong || headers.length >= HEADER_FIELDS_MAX || sizeBytes >= HEADER_BYTES_MAX) return 'header_too_large';
  return new Set(decisive.map((field) => field.name)).size < decisive.length ? 'header_ambiguous' : null;
}

const DECISIVE = new Set(['content-type', 'content-transfer-encoding', 'content-disposition']);

function describe(headers: readonly HeaderField[], isInDigest: boolean): Omit<MimePart, 'content' | 'depth' | 'span'> {
  const { value, parameters } = parseParameters(headerValue(headers, 'content-type'));
  const disposition = parseParameters(headerValue(headers, 'content-disposition'));
  return {
    headers,
    type: /^[^\s/]+\/[^\s/]+$/.test(value) ? value : isInDigest && value === '' ? 'message/rfc822' : 'text/plain',
    parameters,
    fileName: disposition.parameters.get('filename') ?? parameters.get('name') ?? '',
    isAttachment: disposition.value === 'attachment',
    encoding: headerValue(headers, 'content-transfer-encoding')
      .toLowerCase()
      .replace(/^\s*(?:\([^)]*\)\s*)*["']?|["';(\s].*$/gs, ''),
  };
}
