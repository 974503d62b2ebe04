/**
 * Cuts long runs of Base64 lines, the bulk of large attachments, out of a message while it streams. One placeholder line replaces
 * each run. Under any parser, the result has the same parts and headers as the message, and it fits in memory.
 *
 * A run contains only Base64 lines (RFC 2045 §6.8), so it cannot contain a boundary, blank line or header. The MIME structure is
 * therefore not needed to decide what to cut.
 */
import { FileInspector, type Inspection } from './file-inspector.ts';

export interface Cut {
  /** Position of the cut bytes in the message. They do not include the last line end. */
  readonly offset: number;
  readonly length: number;
  /**
   * Characters per line (`width`) and length of the line end (`end`), of every line but the last. `width` is 0 if lines differ or
   * cannot be decoded one by one.
   */
  readonly lines: { readonly width: number; readonly end: number };
  /** The placeholder line in the message. `token` is the bytes that it decodes to. */
  readonly place: string;
  readonly token: Buffer;
  /** Findings about the decoded bytes, which were inspected while they streamed. */
  readonly inspection: Inspection;
}

export interface LeanMessage {
  readonly bytes: Buffer;
  readonly cuts: readonly Cut[];
  /** False if the message was still too large after cutting. `bytes` is truncated then. */
  readonly isWhole: boolean;
}

/** Minimum decoded size of a cut. Shorter runs stay in the message. */
const CUT_BYTES_MIN = 16 * 1024;
/**
 * Maximum size of a message after cutting. It is larger than any text that a person writes. A message of a thousand small files may
 * reach it.
 */
export const LEAN_BYTES_MAX = 24 * 1024 * 1024;
/** Maximum of bytes handled at once. A longer line is read in units of this size, a multiple of 4, so that Base64 stays aligned. */
const UNIT_BYTES_MAX = 64 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** Decoded size of a placeholder line: 57 bytes are one Base64 line of 76 characters. */
const TOKEN_BYTES = 57;
const LF = 10;
const CR = 13;
const EQUALS = 61;
const IS_BASE64 = new Uint8Array(256);
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') {
  IS_BASE64[letter.charCodeAt(0)] = 1;
}

interface Run {
  readonly offset: number;
  length: number;
  /** Line end of the previous unit. When the run ends, it is kept after the placeholder. */
  lineEnd: string;
  /** Original bytes of the run, kept until the run is long enough to be cut. */
  held: Buffer[];
  isCut: boolean;
  isPadded: boolean;
  lines: { width: number; end: number } | null;
  /** Width and line end of the previous line. */
  last: { width: number; end: number } | null;
  readonly decoder: Base64Stream;
  readonly inspector: FileInspector;
}

export class LeanReader {
  readonly #secret: string;
  readonly #kept = new ByteList();
  readonly #cuts: Cut[] = [];
  #pending = Buffer.alloc(0);
  #offset = 0;
  #isLineStart = true;
  #isAfterBlank = false;
  #run: Run | null = null;

  /** @param secret random bytes for the placeholder lines, so that no message can contain such a line itself. */
  constructor(secret: Uint8Array) {
    this.#secret = Buffer.from(secret).toString('hex').slice(0, 32);
  }

  push(chunk: Uint8Array): void {
    const bytes =
      this.#pending.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : Buffer.concat([this.#pending, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const feed = bytes.indexOf(LF, at);
      if (feed >= 0 && feed - at < UNIT_BYTES_MAX) {
        this.#unit(bytes.subarray(at, feed + 1), true);
        at = feed + 1;
      } else if (bytes.length - at >= UNIT_BYTES_MAX) {
        this.#unit(bytes.subarray(at, at + UNIT_BYTES_MAX), false);
        at += UNIT_BYTES_MAX;
      } else break;
    }
    this.#pending = Buffer.from(bytes.subarray(at));
  }

  end(): LeanMessage {
    if (this.#pending.length > 0) this.#unit(this.#pending, true);
    this.#closeRun();
    return { bytes: this.#kept.take(), cuts: this.#cuts, isWhole: this.#kept.isWhole };
  }

  /** Handles one unit: a line with its line end, or a piece of a very long line. */
  #unit(unit: Buffer, isLineEnd: boolean): void {
    const length = isLineEnd ? unit.length - countLineEnd(unit) : unit.length;
    const pure = judge(unit, length, isLineEnd);
    if (this.#run && (pure === 'no' || this.#run.isPadded)) this.#closeRun();
    if (!this.#run && pure !== 'no' && this.#isAfterBlank && this.#isLineStart) this.#run = openRun(this.#offset);
    if (this.#run) this.#extend(this.#run, unit, length, pure === 'padded');
    else this.#kept.add(unit);
    this.#isAfterBlank = isLineEnd && this.#isLineStart && length === 0;
    this.#isLineStart = isLineEnd;
    this.#offset += unit.length;
  }

  #extend(run: Run, unit: Buffer, length: number, isPadded: boolean): void {
    run.length = this.#offset + length - run.offset;
    run.lineEnd = LINE_ENDS[unit.length - length] ?? '';
    run.isPadded = isPadded;
    run.lines ??= { width: length % 4 === 0 ? length : 0, end: unit.length - length };
    if (run.last && (run.last.width !== run.lines.width || run.last.end !== run.lines.end)) run.lines.width = 0;
    run.last = { width: length, end: unit.length - length };
    if (!run.isCut) run.held.push(Buffer.from(unit));
    run.decoder.pushPure(unit, isPadded ? countPure(unit, length) : length);
    if (run.isCut || run.length * 0.75 < CUT_BYTES_MIN) return;
    run.isCut = true;
    run.held = [];
  }

  #closeRun(): void {
    const run = this.#run;
    this.#run = null;
    if (!run) return;
    if (!run.isCut) {
      for (const unit of run.held) this.#kept.add(unit);
      return;
    }
    run.decoder.end();
    const lines = run.last && run.lines && run.last.width <= run.lines.width ? run.lines : { width: 0, end: 0 };
    const token = Buffer.alloc(TOKEN_BYTES, `cut ${this.#cuts.length} of ${this.#secret} `);
    const place = token.toString('base64');
    this.#kept.add(Buffer.from(place, 'latin1'));
    this.#kept.add(Buffer.from(run.lineEnd, 'latin1'));
    const { offset, length, inspector } = run;
    this.#cuts.push({ offset, length, lines, place, token, inspection: inspector.finish() });
  }
}

function openRun(offset: number): Run {
  const inspector = new FileInspector();
  const decoder = new Base64Stream((bytes) => inspector.feed(bytes));
  const none = { length: 0, lineEnd: '', held: [], isCut: false, isPadded: false, lines: null, last: null };
  return { offset, ...none, decoder, inspector };
}

/** Line ends, by their length. */
const LINE_ENDS = ['', '\n', '\r\n'];

/** @returns the length of a unit without the padding at its end. */
function countPure(unit: Buffer, length: number): number {
  let end = length;
  while (end > 0 && unit[end - 1] === EQUALS) end -= 1;
  return end;
}

function countLineEnd(unit: Buffer): number {
  if (unit[unit.length - 1] !== LF) return 0;
  return unit[unit.length - 2] === CR ? 2 : 1;
}

/** Whether a unit is pure Base64. `padded` means that padding makes it the last unit of its run. */
function judge(unit: Buffer, length: number, isLineEnd: boolean): 'no' | 'yes' | 'padded' {
  let end = length;
  if (isLineEnd) while (end > 0 && length - end < 2 && unit[end - 1] === EQUALS) end -= 1;
  if (end === 0) return 'no';
  for (let at = 0; at < end; at += 1) if (IS_BASE64[unit[at] ?? 0] !== 1) return 'no';
  return end < length ? 'padded' : 'yes';
}

/** Decodes Base64 window by window. Skips invalid characters, as mail clients do. */
export class Base64Stream {
  readonly #write: (bytes: Buffer) => void;
  readonly #window = Buffer.alloc(64 * 1024);
  #used = 0;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (IS_BASE64[byte] !== 1) continue;
      this.#window[this.#used++] = byte;
      if (this.#used === this.#window.length) this.#flush();
    }
  }

  /** Adds bytes that are known to be pure Base64. @param length number of leading bytes to add. */
  pushPure(bytes: Uint8Array, length: number): void {
    for (let at = 0; at < length; ) {
      const count = Math.min(length - at, this.#window.length - this.#used);
      this.#window.set(at === 0 && count === bytes.length ? bytes : bytes.subarray(at, at + count), this.#used);
      at += count;
      this.#used += count;
      if (this.#used === this.#window.length) this.#flush();
    }
  }

  end(): void {
    this.#flush();
  }

  #flush(): void {
    if (this.#used > 0) this.#write(Buffer.from(this.#window.latin1Slice(0, this.#used), 'base64'));
    this.#used = 0;
  }
}

/** Decodes Base64 from pieces, window by window. */
export async function* decodeBase64Lines(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const decoded: Buffer[] = [];
  const decoder = new Base64Stream((bytes) => decoded.push(bytes));
  for await (const piece of pieces) {
    decoder.push(piece);
    yield* decoded.splice(0);
  }
  decoder.end();
  yield* decoded;
}

/** Collects bytes by copying them. A view would keep the whole chunk that it was read from in memory. */
class ByteList {
  readonly #blocks: Buffer[] = [];
  #block = Buffer.alloc(BLOCK_BYTES);
  #used = 0;
  #length = 0;
  isWhole = true;

  add(bytes: Buffer): void {
    if (!this.isWhole) return;
    if (this.#length + bytes.length > LEAN_BYTES_MAX) {
      this.isWhole = false;
      return;
    }
    this.#length += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const count = bytes.copy(this.#block, this.#used, at);
      this.#used += count;
      at += count;
      if (this.#used < this.#block.length) continue;
      this.#blocks.push(this.#block);
      this.#block = Buffer.alloc(BLOCK_BYTES);
      this.#used = 0;
    }
  }

  take(): Buffer {
    return Buffer.concat([...this.#blocks, this.#block.subarray(0, this.#used)]);
  }
}
