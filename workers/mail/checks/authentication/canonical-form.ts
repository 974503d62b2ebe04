/** Canonical forms of header fields and bodies (RFC 6376 §3.4). A bare LF counts as a line end, as it did when it was signed. */
import { createHash } from 'node:crypto';

export type Canonicalization = 'simple' | 'relaxed';

/** @param source a header field as it stands. @returns it without a final line end. */
export function toCanonicalField(source: string, form: Canonicalization): string {
  if (form === 'simple') return source;
  const colon = source.indexOf(':');
  const value = source
    .slice(colon + 1)
    .replace(/\r?\n(?=[ \t])/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim();
  return `${source.slice(0, colon).trim().toLowerCase()}:${value}`;
}

const LF = 10;
const CR = 13;
const SPACE = 32;
const TAB = 9;
const OUT_BYTES = 64 * 1024;

/**
 * Hashes a body without ever holding a second copy of it.
 *
 * @param lengthMax the `l=` tag: only so many bytes of the canonical body count.
 * @returns the digest, and how long the canonical body is in all.
 */
export function hashBody(
  body: Uint8Array,
  form: Canonicalization,
  algorithm: 'sha256' | 'sha1',
  lengthMax: number | null,
): { digest: Buffer; length: number } {
  const sink = new BodySink(algorithm, lengthMax ?? Number.POSITIVE_INFINITY);
  let at = 0;
  while (at < body.length) {
    const feed = body.indexOf(LF, at);
    const end = feed < 0 ? body.length : feed > at && body[feed - 1] === CR ? feed - 1 : feed;
    if (form === 'simple') sink.writeRange(body, at, end);
    else writeRelaxed(sink, body, at, end);
    sink.endLine();
    at = feed < 0 ? body.length : feed + 1;
  }
  return sink.finish(form);
}

/** Runs of white space become one space, and those at the line's end vanish. */
function writeRelaxed(sink: BodySink, body: Uint8Array, from: number, to: number): void {
  let end = to;
  while (end > from && (body[end - 1] === SPACE || body[end - 1] === TAB)) end -= 1;
  let start = from;
  for (let at = from; at < end; at += 1) {
    const byte = body[at];
    if (byte !== SPACE && byte !== TAB) continue;
    sink.writeRange(body, start, at);
    sink.writeByte(SPACE);
    while (body[at + 1] === SPACE || body[at + 1] === TAB) at += 1;
    start = at + 1;
  }
  sink.writeRange(body, start, end);
}

/** Empty lines are held back: those at the end of a body do not count. */
class BodySink {
  private readonly hash;
  private readonly lengthMax: number;
  private readonly out = Buffer.alloc(OUT_BYTES);
  private used = 0;
  private length = 0;
  private emptyLines = 0;
  private isLineEmpty = true;

  constructor(algorithm: string, lengthMax: number) {
    this.hash = createHash(algorithm);
    this.lengthMax = lengthMax;
  }

  writeRange(bytes: Uint8Array, from: number, to: number): void {
    if (from >= to) return;
    this.startText();
    for (let at = from; at < to; at += OUT_BYTES) this.put(bytes.subarray(at, Math.min(to, at + OUT_BYTES)));
  }

  writeByte(byte: number): void {
    this.startText();
    this.put(Uint8Array.of(byte));
  }

  endLine(): void {
    if (this.isLineEmpty) this.emptyLines += 1;
    else this.put(LINE_END);
    this.isLineEmpty = true;
  }

  finish(form: Canonicalization): { digest: Buffer; length: number } {
    // An empty body is one line end in the simple form, nothing in the relaxed one (§3.4.3, §3.4.4).
    if (form === 'simple' && this.length === 0) this.put(LINE_END);
    this.hash.update(this.out.subarray(0, this.used));
    return { digest: this.hash.digest(), length: this.length };
  }

  private startText(): void {
    for (; this.emptyLines > 0; this.emptyLines -= 1) this.put(LINE_END);
    this.isLineEmpty = false;
  }

  private put(bytes: Uint8Array): void {
    const counted = bytes.subarray(0, Math.max(0, Math.min(bytes.length, this.lengthMax - this.length)));
    this.length += bytes.length;
    if (this.used + counted.length > OUT_BYTES) {
      this.hash.update(this.out.subarray(0, this.used));
      this.used = 0;
    }
    this.out.set(counted, this.used);
    this.used += counted.length;
  }
}

const LINE_END = Uint8Array.of(CR, LF);
