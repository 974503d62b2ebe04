/**
 * Makes the tree of parts that mail programs see (BODYSTRUCTURE, RFC 3501 §7.4.2), with the position of each part in the raw bytes. The
 * parts are those of `mime-tree.ts`, so a program sees the parts that were scanned.
 */
import type { StoredPart } from '../../../durable-objects/mail/contract/stored-part.ts';
import type { Cut } from './lean-reader.ts';
import { headerValue, type MimePart, type MimeTree } from './mime-tree.ts';
import { createPositions } from './raw-range.ts';
import { readWrittenParameters } from './written-parameters.ts';

/** Maximum size of a tree that is stored with its message. A larger one is made when it is asked for. */
export const STORED_STRUCTURE_BYTES_MAX = 2_048;
const LF = 10;

/** A message that was opened for checks and storage. */
interface Readable {
  /** The message, in which one placeholder line stands for each cut. */
  readonly bytes: Uint8Array;
  readonly cuts: readonly Cut[];
  readonly tree: MimeTree;
  readonly isWhole: boolean;
  readonly sizeBytes: number;
  readonly readPieces: (range?: {
    readonly offset: number;
    readonly length: number;
  }) => Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
}

/** @returns the tree of a message as JSON for its row; null if it is too long. */
export async function toStoredStructure(message: Readable): Promise<string | null> {
  const json = JSON.stringify(await readStructure(message));
  return Buffer.byteLength(json) <= STORED_STRUCTURE_BYTES_MAX ? json : null;
}

export async function readStructure(message: Readable): Promise<StoredPart> {
  const [top] = message.tree.parts;
  if (!top) throw new Error('the message has no part');
  // A message that was too large to read is one file of bytes.
  if (!message.isWhole) {
    const file = { type: 'application', subtype: 'octet-stream', parameters: {}, encoding: '8bit' };
    const { body } = top.span;
    return { ...file, octets: message.sizeBytes - body, start: 0, body, end: message.sizeBytes };
  }
  return new StructureReader(message).read(0);
}

class StructureReader {
  readonly #message: Readable;
  readonly #bytes: Buffer;
  readonly #toRaw: (position: number) => number;

  constructor(message: Readable) {
    this.#message = message;
    const { bytes, cuts } = message;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#toRaw = createPositions(bytes, cuts);
  }

  async read(at: number): Promise<StoredPart> {
    const part = this.#message.tree.parts[at] as MimePart;
    const [start, body, end] = [part.span.start, part.span.body, part.span.end].map(this.#toRaw) as [
      number,
      number,
      number,
    ];
    const place = { octets: Math.max(0, end - body), start, body, end: Math.max(body, end) };
    const fields = describeFields(part);
    const [type = 'text', subtype = 'plain'] = part.type.split('/');
    const written = readWrittenParameters(headerValue(part.headers, 'content-type')).parameters;
    const known = { type, subtype, parameters: written, ...fields, ...place };
    const children = this.#children(at);
    if (type === 'multipart') return { ...known, parts: await this.#parts(children, place.end) };
    const [first] = children;
    if (part.type === 'message/rfc822')
      return first === undefined || part.message === undefined
        ? { ...known, type: 'application', subtype: 'octet-stream' }
        : { ...known, lines: await this.#lines(part), message: await this.read(first) };
    if (type !== 'text') return known;
    return { ...known, parameters: { charset: 'us-ascii', ...written }, lines: await this.#lines(part) };
  }

  /** A multipart has at least one part for mail programs. One without parts gets an empty text. */
  async #parts(children: readonly number[], end: number): Promise<StoredPart[]> {
    const parts: StoredPart[] = [];
    for (const child of children) parts.push(await this.read(child));
    const text = { type: 'text', subtype: 'plain', parameters: { charset: 'us-ascii' }, encoding: '7bit' };
    return parts.length > 0 ? parts : [{ ...text, octets: 0, lines: 0, start: end, body: end, end }];
  }

  #children(at: number): number[] {
    const { parts } = this.#message.tree;
    const depth = parts[at]?.depth ?? 0;
    const children: number[] = [];
    for (let next = at + 1; (parts[next]?.depth ?? -1) > depth; next += 1)
      if (parts[next]?.depth === depth + 1) children.push(next);
    return children;
  }

  /** Counts line feeds, also those of the files that were cut out. */
  async #lines({ span }: MimePart): Promise<number> {
    let lines = countFeeds(this.#bytes.subarray(span.body, Math.max(span.body, span.end)));
    for (const cut of this.#message.cuts) {
      const isInside = cut.offset >= this.#toRaw(span.body) && cut.offset < this.#toRaw(span.end);
      if (!isInside) continue;
      const { width, end } = cut.lines;
      if (width > 0) lines += Math.ceil(cut.length / (width + end)) - 1;
      else for await (const piece of await this.#message.readPieces(cut)) lines += countFeeds(piece);
    }
    return lines;
  }
}

function countFeeds(bytes: Uint8Array): number {
  let feeds = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) feeds += 1;
  return feeds;
}

/** Reads the fields of a part that its description has beside the type. */
function describeFields(part: MimePart) {
  const value = (name: string) => headerValue(part.headers, name);
  const [id, description, md5] = [value('content-id'), value('content-description'), value('content-md5')];
  const disposition = readWrittenParameters(value('content-disposition'));
  const language = value('content-language')
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean);
  const location = value('content-location');
  return {
    ...(id === '' ? {} : { id }),
    ...(description === '' ? {} : { description }),
    encoding: part.encoding === '' ? '7bit' : part.encoding,
    ...(md5 === '' ? {} : { md5 }),
    ...(disposition.value === ''
      ? {}
      : { disposition: { type: disposition.value, parameters: disposition.parameters } }),
    ...(language.length === 0 ? {} : { language }),
    ...(location === '' ? {} : { location }),
  };
}
