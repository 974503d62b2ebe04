/** Reads an attachment in two ways, for comparison: as the parser decodes it, and as it is served from the raw message. */
import { decodeCut, type OpenedMessage } from '../../../workers/mail/checks/opened-message.ts';
import type { ParsedAttachment } from '../../../workers/mail/mime/parse.ts';
import { readRange } from '../../../workers/mail/mime/raw-range.ts';
import type { ByteRange } from '../../../workers/shared/pure/http-range.ts';

async function collect(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  return Buffer.concat(chunks);
}

export async function readPieces(opened: OpenedMessage, { pieces }: ParsedAttachment): Promise<Buffer> {
  const read = pieces.map(async (piece) => {
    if (!('cut' in piece)) return piece;
    return collect(piece.isDecoded ? decodeCut(opened, piece.cut) : await opened.readPieces(piece.cut));
  });
  return Buffer.concat(await Promise.all(read));
}

/** Reads an attachment from its range of the raw message. @returns null if it has no range. */
export async function readServed(
  raw: Uint8Array,
  { range }: ParsedAttachment,
  sizeBytes: number,
  part?: ByteRange,
): Promise<Buffer | null> {
  const read = async ({ offset, length }: { offset: number; length: number }) => [
    raw.subarray(offset, offset + length),
  ];
  return range && collect(await readRange(read, range, sizeBytes, part));
}
