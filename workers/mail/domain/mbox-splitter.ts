/**
 * Splits a stream of mbox into messages, and holds only one of them in memory. Every byte of the stream is in exactly one span, so
 * an import can account for all of them.
 *
 * A body ends where its `Content-Length` says (formats mboxcl, mboxcl2) only if a separator or the end of the file is there.
 * Otherwise the lines up to there are read again without it. So each line is read at most twice.
 */
import { beginsWithHeader, isMboxSeparator } from './mbox-separator.ts';

const LF = 0x0a;
const CR = 0x0d;
const GREATER = 0x3e;
/** The bytes of `From `, with which a separator line begins. */
const FROM = [0x46, 0x72, 0x6f, 0x6d, 0x20];
const BOM = [0xef, 0xbb, 0xbf];
/** Maximum of a line. A longer line is read in pieces. */
const LINE_BYTES_MAX = 64 * 1024;
/** Number of bytes at the beginning of a line in which a separator or a header field is recognised. */
const RECOGNISED_BYTES = 500;
const HEAD_BYTES = 20_000;
const HEAD_LINES = 500;
/** Tolerance for `Content-Length`. Programs differ in whether it counts the last line end. */
const LENGTH_TOLERANCE_BYTES = 2;

export interface MboxSpan {
  /**
   * `message`: a message. `no_separator`: bytes before the first separator that are not a message. `too_large`: a message over
   * the limit; its `raw` is empty.
   */
  readonly kind: 'message' | 'too_large' | 'no_separator';
  /** Position of the span in the stream. */
  readonly offset: number;
  /** Size of the span, with the separator and the blank line after the message. */
  readonly sizeBytes: number;
  readonly separator: string;
  /** The message without mbox quoting: one `>` was removed from lines such as `>From `. */
  readonly raw: Uint8Array;
  /** True if the file ended inside the body. This is known only if an earlier `Content-Length` of the file was right. */
  readonly isCut: boolean;
}

interface Line {
  readonly bytes: Uint8Array;
  /** True for a whole line, or for the first piece of a long one. */
  readonly isStart: boolean;
}

interface OpenMessage {
  readonly offset: number;
  /** The separator line; null for bytes before the first separator. */
  readonly separator: string | null;
  lines: Line[];
  /** Number of bytes of all lines of the message, including lines that are no longer in memory. */
  sizeBytes: number;
  isInHeader: boolean;
  isHeaderOfExport: boolean;
  contentLength: number | null;
  /** Offset at which the body ends according to `Content-Length`; null without a usable one. */
  bodyEnd: number | null;
  /** Index of the first line inside the body that looks like a separator; null if there is none. */
  firstInner: number | null;
}

export class MboxSplitter {
  readonly #lengthMax: number;
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #isLineStart = true;
  #held: Line | null = null;
  #offset = 0;
  #context: 'start' | 'blank' | 'text' = 'start';
  #open: OpenMessage = openMessage(0, null);
  /** Messages that begin before this offset are split without `Content-Length`, because one of their lengths proved wrong. */
  #lengthsFrom = 0;
  #lengthsFound = 0;

  /** @param lengthMax maximum size of one message, in bytes. */
  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** Offset of the message that is still open, because its end has not been read. The stream can be split there. */
  get openOffset(): number {
    return this.#open.offset;
  }

  *push(chunk: Uint8Array): Generator<MboxSpan> {
    let from = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      yield* this.#takeLine(chunk.subarray(from, end + 1), true);
      from = end + 1;
    }
    if (from === chunk.length) return;
    this.#rest.push(chunk.slice(from));
    this.#restBytes += chunk.length - from;
    if (this.#restBytes >= LINE_BYTES_MAX) yield* this.#takeLine(new Uint8Array(), false);
  }

  *end(): Generator<MboxSpan> {
    if (this.#restBytes > 0) yield* this.#takeLine(new Uint8Array(), true);
    if (this.#held) yield* this.#place(this.#held, null);
    this.#held = null;
    const { bodyEnd, firstInner } = this.#open;
    if (bodyEnd !== null && this.#offset < bodyEnd && firstInner !== null) yield* this.#splitAgain(firstInner, null);
    yield* this.#close();
    this.#open = openMessage(this.#offset, null);
  }

  *#takeLine(tail: Uint8Array, isEnd: boolean): Generator<MboxSpan> {
    let bytes = join([...this.#rest, tail]);
    if (this.#held === null && BOM.every((byte, at) => bytes[at] === byte)) {
      bytes = bytes.subarray(BOM.length);
      this.#offset = BOM.length;
    }
    const line = { bytes, isStart: this.#isLineStart };
    this.#rest = [];
    this.#restBytes = 0;
    this.#isLineStart = isEnd;
    if (this.#held) yield* this.#place(this.#held, line);
    this.#held = line;
  }

  /** Adds a line to the open message, or closes that message and opens the next. */
  *#place(line: Line, next: Line | null): Generator<MboxSpan> {
    const open = this.#open;
    const isBlankLine = line.isStart && isBlank(line.bytes);
    const isFrom = line.isStart && startsWithFrom(line.bytes);
    let isSeparator = isFrom && isMboxSeparator(toText(line.bytes), next && toText(next.bytes), this.#context);
    if (open.bodyEnd !== null && this.#offset < open.bodyEnd) {
      if (isSeparator) open.firstInner ??= open.lines.length;
      isSeparator = false;
    } else if (open.bodyEnd !== null && !isBlankLine) {
      const isRight = isFrom && this.#offset - open.bodyEnd <= countBlankTail(open) + LENGTH_TOLERANCE_BYTES;
      if (!isRight && open.firstInner !== null) return yield* this.#splitAgain(open.firstInner, line, next);
      if (isRight) this.#lengthsFound += 1;
      else open.bodyEnd = null;
      isSeparator ||= isRight;
    }
    if (isSeparator) yield* this.#begin(line);
    else this.#add(line);
    this.#offset += line.bytes.length;
    if (this.#context !== 'start' || !isBlankLine) this.#context = isBlankLine && !isSeparator ? 'blank' : 'text';
  }

  *#begin(line: Line): Generator<MboxSpan> {
    const { offset, separator, lines } = this.#open;
    // A byte order mark and blank lines at the start of the file belong to the first message.
    const isNothing = separator === null && lines.every((each) => isBlank(each.bytes));
    if (!isNothing) yield* this.#close();
    this.#open = openMessage(isNothing ? offset : this.#offset, toText(line.bytes).trim());
  }

  #add(line: Line): void {
    const open = this.#open;
    open.sizeBytes += line.bytes.length;
    if (open.sizeBytes <= this.#lengthMax) open.lines.push(line);
    if (open.separator === null || !open.isInHeader || !line.isStart) return;
    const text = toText(line.bytes);
    if (text.startsWith('X-Tessera-Export:')) open.isHeaderOfExport = true;
    const found = /^content-length:[ \t]*(\d{1,12})\s*$/i.exec(text);
    if (found) open.contentLength ??= Number(found[1]);
    if (!isBlank(line.bytes)) return;
    open.isInHeader = false;
    const length = open.contentLength;
    // Our own exports are always quoted. A message in them may have any header, so its `Content-Length` is ignored.
    if (length === null || open.isHeaderOfExport || open.offset < this.#lengthsFrom) return;
    if (open.sizeBytes + length <= this.#lengthMax) open.bodyEnd = this.#offset + line.bytes.length + length;
  }

  /** Splits the open message again, because its `Content-Length` was wrong: at the lines of its body that look like separators. */
  *#splitAgain(firstInner: number, line: Line | null, next: Line | null = null): Generator<MboxSpan> {
    const open = this.#open;
    const again = open.lines.splice(firstInner);
    const size = again.reduce((sum, each) => sum + each.bytes.length, 0);
    open.sizeBytes -= size;
    open.bodyEnd = null;
    open.firstInner = null;
    this.#lengthsFrom = this.#offset + 1;
    this.#offset -= size;
    this.#context = 'blank';
    for (const [at, each] of again.entries()) yield* this.#place(each, again[at + 1] ?? line);
    if (line) yield* this.#place(line, next);
  }

  *#close(): Generator<MboxSpan> {
    const { offset, separator, lines, sizeBytes, bodyEnd, firstInner } = this.#open;
    const total = this.#offset - offset;
    if (total === 0) return;
    const isTooLarge = sizeBytes > this.#lengthMax;
    const base = { offset, sizeBytes: total, separator: separator ?? '', raw: new Uint8Array(), isCut: false };
    const isMessage =
      separator !== null ||
      beginsWithHeader(toText(join(lines.slice(0, HEAD_LINES).map(({ bytes }) => bytes)), HEAD_BYTES));
    if (!isMessage) yield { ...base, kind: 'no_separator' };
    else if (isTooLarge) yield { ...base, kind: 'too_large' };
    else {
      const last = lines.at(-1);
      const isAfterBody = bodyEnd === null || this.#offset - (last?.bytes.length ?? 0) >= bodyEnd;
      // The blank line before the next separator is not part of the message.
      if (separator !== null && last?.isStart && isBlank(last.bytes) && isAfterBody) lines.pop();
      // If a body contains an unquoted separator, the file is not quoted at all (mboxcl2).
      const isQuoted = separator !== null && firstInner === null;
      const raw = join(lines.map(({ bytes, isStart }) => (isQuoted && isStart ? unquote(bytes) : bytes)));
      const isCut = bodyEnd !== null && this.#offset < bodyEnd && this.#lengthsFound > 0;
      yield { ...base, kind: 'message', raw, isCut };
    }
  }
}

function openMessage(offset: number, separator: string | null): OpenMessage {
  return {
    offset,
    separator,
    lines: [],
    sizeBytes: 0,
    isInHeader: true,
    isHeaderOfExport: false,
    contentLength: null,
    bodyEnd: null,
    firstInner: null,
  };
}

/** Counts the bytes of the blank lines at the end of the open message. */
function countBlankTail({ lines }: OpenMessage): number {
  let bytes = 0;
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const line = lines[at];
    if (!line?.isStart || !isBlank(line.bytes)) break;
    bytes += line.bytes.length;
  }
  return bytes;
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (only && pieces.length === 1) return only;
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

const toText = (bytes: Uint8Array, length = RECOGNISED_BYTES): string =>
  new TextDecoder('latin1').decode(bytes.subarray(0, length)).replace(/[\r\n]+$/, '');

/** Compares only the first bytes, because the last line of a file may have no line end. */
const isBlank = (line: Uint8Array): boolean =>
  line.length === 1 ? line[0] === LF : line.length === 2 && line[0] === CR && line[1] === LF;

const startsWithFrom = (line: Uint8Array, from = 0): boolean => FROM.every((byte, at) => line[from + at] === byte);

/** Removes mbox quoting: one `>` from a line such as `>From `. */
function unquote(line: Uint8Array): Uint8Array {
  let at = 0;
  while (line[at] === GREATER) at += 1;
  return at > 0 && startsWithFrom(line, at) ? line.subarray(1) : line;
}
