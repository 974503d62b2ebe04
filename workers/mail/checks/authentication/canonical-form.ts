/**
 * Canonical forms of header fields and bodies (RFC 6376 §3.4). A bare LF counts as CRLF, because it was CRLF when the message was
 * signed.
 */
import { createHash } from 'node:crypto';

export type Canonicalization = 'simple' | 'relaxed';

/** @param source a header field as it is in the message. @returns its canonical form, without a line end. */
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

export interface BodyDigest {
  readonly digest: Buffer;
  /** Size of the whole canonical body in bytes, even if only its beginning was hashed. */
  readonly length: number;
}

/** Hashes a body that is in memory. @param lengthMax the `l=` tag: at most this many bytes of the canonical body are hashed. */
export function hashBody(
  body: Uint8Array,
  form: Canonicalization,
  algorithm: 'sha256' | 'sha1',
  lengthMax: number | null,
): BodyDigest {
  const hash = new BodyHash(form, algorithm, lengthMax);
  hash.push(body);
  return hash.finish();
}

/** Hashes a body while it streams, in chunks of any size. Never holds a line or a second copy. */
export class BodyHash {
  readonly #form: Canonicalization;
  readonly #sink: BodySink;
  /** True after white space that may belong to the end of a line, where the relaxed form removes it. */
  #hasSpace = false;
  #hasCr = false;
  #isLineOpen = false;

  constructor(form: Canonicalization, algorithm: 'sha256' | 'sha1', lengthMax: number | null) {
    this.#form = form;
    this.#sink = new BodySink(algorithm, lengthMax ?? Number.POSITIVE_INFINITY);
  }

  push(bytes: Uint8Array): void {
    let start = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      const isSpace = byte === SPACE || byte === TAB;
      if (byte !== LF && byte !== CR && !(isSpace && this.#form === 'relaxed')) continue;
      this.#text(bytes, start, at);
      start = at + 1;
      if (byte === LF) this.#endLine();
      else {
        this.#isLineOpen = true;
        // The earlier CR was not followed by LF, so it is text.
        if (this.#hasCr) this.#flush();
        if (byte === CR) this.#hasCr = true;
        else this.#hasSpace = true;
      }
    }
    this.#text(bytes, start, bytes.length);
  }

  finish(): BodyDigest {
    if (this.#hasCr) this.#flush();
    if (this.#isLineOpen) this.#endLine();
    return this.#sink.finish(this.#form);
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (from >= to) return;
    this.#isLineOpen = true;
    this.#flush();
    this.#sink.writeRange(bytes, from, to);
  }

  #flush(): void {
    if (this.#hasSpace) this.#sink.writeByte(SPACE);
    if (this.#hasCr) this.#sink.writeByte(CR);
    this.#hasSpace = false;
    this.#hasCr = false;
  }

  #endLine(): void {
    this.#hasSpace = false;
    this.#hasCr = false;
    this.#isLineOpen = false;
    this.#sink.endLine();
  }
}

/** Passes bytes on to the hash, but holds empty lines back: those at the end of a body are not hashed. */
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
    // The canonical form of an empty body is one line end (simple) or nothing (relaxed) (§3.4.3, §3.4.4).
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
