/**
 * Attachments as ranges of the raw message. A range is found when the message is parsed, and decoded when the file is read, so a
 * file is stored only once. Reading uses the decoders of the parser, so a client gets the same bytes as the checks.
 */
import type { RawRange } from '../../../durable-objects/mail/contract/delivered-message.ts';
import type { ByteRange } from '../../shared/pure/http-range.ts';
import { decodeContent, isEncoded } from './content-decoding.ts';
import { type Cut, decodeBase64Lines } from './lean-reader.ts';
import { memoryBudget } from './memory-budget.ts';
import type { MimePart } from './mime-tree.ts';

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
/** Reads a range of the raw bytes. */
export type ReadRaw = (range: { readonly offset: number; readonly length: number }) => Promise<Pieces>;

/**
 * Makes a function that finds the range of a part in the raw message. It returns null if the part is not a view of `bytes`.
 * @param bytes the message, with one placeholder line per cut.
 */
export function createLocator(bytes: Uint8Array, cuts: readonly Cut[]): (part: MimePart) => RawRange | null {
  const toRaw = createPositions(bytes, cuts);
  return (part) => {
    if (part.cut)
      return { offset: part.cut.offset, length: part.cut.length, encoding: 'base64', lines: part.cut.lines };
    const view = part.message ?? part.content;
    if (view.buffer !== bytes.buffer) return null;
    const start = view.byteOffset - bytes.byteOffset;
    const offset = toRaw(start);
    const encoding = part.message || !isEncoded(part.encoding) ? '' : part.encoding;
    return { offset, length: toRaw(start + view.byteLength) - offset, encoding };
  };
}

/**
 * Makes a function that converts a position in the message that was read to one in the raw message.
 * @param bytes the message, with one placeholder line per cut.
 */
export function createPositions(bytes: Uint8Array, cuts: readonly Cut[]): (position: number) => number {
  const lean = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const places = cuts.map((cut) => {
    const start = lean.indexOf(cut.place, at, 'latin1');
    at = start + cut.place.length;
    return { end: at, added: cut.length - cut.place.length };
  });
  return (position) => places.reduce((sum, { end, added }) => (end <= position ? sum + added : sum), position);
}

/** Reads a file, or a part of it, from its range. @param part the bytes of the decoded file to read; all by default. */
export async function readRange(read: ReadRaw, range: RawRange, sizeBytes: number, part?: ByteRange): Promise<Pieces> {
  const { first, last } = part ?? { first: 0, last: sizeBytes - 1 };
  const { offset, encoding, lines } = range;
  if (sizeBytes === 0) return [];
  if (encoding === '') return read({ offset: offset + first, length: last - first + 1 });
  if (!lines) {
    const decoded = await memoryBudget.use(range.length, async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await read(range)) chunks.push(chunk);
      return decodeContent({ content: Buffer.concat(chunks), encoding });
    });
    return [decoded.subarray(first, last + 1)];
  }
  const lineBytes = (lines.width / 4) * 3;
  const skipped = lines.width === 0 ? 0 : Math.floor(first / lineBytes);
  const from = skipped * (lines.width + lines.end);
  const until = lines.width === 0 ? range.length : (Math.floor(last / lineBytes) + 1) * (lines.width + lines.end);
  const length = Math.min(until, range.length) - from;
  return cut(
    decodeBase64Lines(await read({ offset: offset + from, length })),
    first - skipped * lineBytes,
    last - first + 1,
  );
}

/** Skips the first `skip` bytes, then yields `length` bytes. */
async function* cut(pieces: AsyncIterable<Uint8Array>, skip: number, length: number): AsyncGenerator<Uint8Array> {
  let [before, left] = [skip, length];
  for await (const piece of pieces) {
    const kept = piece.subarray(Math.min(before, piece.length), before + left);
    before -= Math.min(before, piece.length);
    left -= kept.length;
    if (kept.length > 0) yield kept;
    if (left <= 0) return;
  }
}
