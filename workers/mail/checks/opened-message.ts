/**
 * A message that was opened for checks and storage. A small message is held in memory whole. Large attachments of other messages
 * are cut out; each is read again from the raw bytes when needed. So the memory used does not grow with the size of the message.
 */
import { createHash, randomBytes } from 'node:crypto';
import { getBlob, inLargePieces } from '../bindings/blobs.ts';
import { type Cut, decodeBase64Lines, LEAN_BYTES_MAX, LeanReader } from '../mime/lean-reader.ts';
import { attachCuts, type MimeTree, readMimeTree } from '../mime/mime-tree.ts';
import type { DigestBody } from './authentication/dkim.ts';
import { BodyDigests } from './authentication/index.ts';

export interface OpenedMessage {
  /** The message, in which one placeholder line stands for each cut. */
  readonly bytes: Uint8Array;
  readonly cuts: readonly Cut[];
  readonly tree: MimeTree;
  /** False if the message without its cuts exceeds the limit. `bytes` is then truncated. */
  readonly isWhole: boolean;
  /** Size of the raw message in bytes. */
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly digestBody?: DigestBody;
  /** Opens the raw bytes as one stream of known length. */
  readonly read: () => Promise<ReadableStream<Uint8Array>>;
  /** Reads the raw bytes, or a range of them, in large pieces. */
  readonly readPieces: (range?: Range) => Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
  /** Decodes a cut into one buffer. */
  readonly holdCut?: (cut: Cut) => Promise<Uint8Array>;
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

/** Functions that read the raw bytes of a message. */
export type RawReader = Pick<OpenedMessage, 'read' | 'readPieces'>;

/** Messages up to this size are held in memory whole. */
const HELD_BYTES_MAX = 1024 * 1024;

/** Opens a message that is in memory. */
export function openBytes(raw: Uint8Array): OpenedMessage {
  return {
    bytes: raw,
    cuts: [],
    tree: readMimeTree(raw),
    isWhole: true,
    sizeBytes: raw.byteLength,
    get sha256() {
      return createHash('sha256').update(raw).digest('hex');
    },
    read: async () => new Blob([raw as Uint8Array<ArrayBuffer>]).stream(),
    readPieces: async (range) => [raw.subarray(range?.offset ?? 0, range ? range.offset + range.length : undefined)],
  };
}

/**
 * Opens a message stored in R2.
 * @returns null if no location has it.
 * @throws if no location returned it and one failed, so it may exist.
 */
export async function openStored(env: Env, key: string): Promise<OpenedMessage | null> {
  const stored = await getBlob(env, key);
  if (!stored) return null;
  if (stored.size <= HELD_BYTES_MAX) return openBytes(new Uint8Array(await stored.arrayBuffer()));
  const read = async (range?: R2Range) => {
    const found = await getBlob(env, key, range);
    if (!found) throw new Error('the raw message is missing');
    return found.body;
  };
  return openStream(inLargePieces(stored.body), {
    read,
    readPieces: async (range) => inLargePieces(await read(range)),
  });
}

export async function openStream(source: AsyncIterable<Uint8Array>, raw: RawReader): Promise<OpenedMessage> {
  const reader = new LeanReader(randomBytes(16));
  const digests = new BodyDigests();
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.length;
    hash.update(chunk);
    digests.push(chunk);
    reader.push(chunk);
  }
  const lean = reader.end();
  const { bytes, cuts, isWhole } = await restoreCuts(lean.bytes, lean.cuts, lean.isWhole, raw);
  const found = readMimeTree(bytes);
  const tree = attachCuts(isWhole ? found : { ...found, problem: 'too_much_text' }, cuts);
  const { read, readPieces } = raw;
  const about = { sizeBytes, sha256: hash.digest('hex'), digestBody: digests.finish() };
  return { bytes, cuts, tree, isWhole, ...about, read, readPieces, holdCut: (cut) => holdCut(raw, cut) };
}

/** Puts cuts back that are not whole attachments: text that is shown, and cuts inside an unusual structure. */
async function restoreCuts(bytes: Buffer, cuts: readonly Cut[], isWhole: boolean, raw: RawReader) {
  if (cuts.length === 0) return { bytes, cuts, isWhole };
  const attached = new Set(
    attachCuts(readMimeTree(bytes), cuts).parts.flatMap((part) => (part.cut && !isShown(part) ? [part.cut] : [])),
  );
  const back = cuts.filter((cut) => !attached.has(cut));
  const total = back.reduce((sum, cut) => sum + cut.length, bytes.length);
  if (back.length === 0) return { bytes, cuts, isWhole };
  if (total > LEAN_BYTES_MAX) return { bytes, cuts: [...attached], isWhole: false };
  const pieces: Buffer[] = [];
  let at = 0;
  for (const cut of back) {
    const found = bytes.indexOf(cut.place, at, 'latin1');
    if (found < 0) continue;
    pieces.push(bytes.subarray(at, found), await readAll(await raw.readPieces(cut)));
    at = found + cut.place.length;
  }
  return { bytes: Buffer.concat([...pieces, bytes.subarray(at)]), cuts: [...attached], isWhole };
}

const isShown = (part: { readonly type: string; readonly isAttachment: boolean }) =>
  part.type.startsWith('text/') && !part.isAttachment;

async function readAll(stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Decodes a cut into one buffer. */
export async function holdCut(message: RawReader, cut: Cut): Promise<Uint8Array> {
  const out = Buffer.alloc(cut.inspection.length);
  let used = 0;
  for await (const bytes of decodeCut(message, cut)) used += bytes.copy(out, used);
  return out.subarray(0, used);
}

/** Decodes a cut piece by piece. */
export async function* decodeCut(message: RawReader, cut: Cut): AsyncGenerator<Buffer> {
  yield* decodeBase64Lines(await message.readPieces(cut));
}
