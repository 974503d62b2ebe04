/**
 * A submitted message on its way to the server: SMTP does not say its length in advance, and the server wants to know it.
 *
 * Small messages are held; larger ones are in a file that has no name any more, so nothing of it is left after a crash.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

const HELD_BYTES_MAX = 262_144;
const HEADER_BYTES_MAX = 65_536;

export interface SpooledMessage {
  readonly sizeBytes: number;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
  readonly hasMessageId: boolean;
  /** @returns the bytes. Call it once. */
  read(): ReadableStream<Uint8Array>;
  close(): Promise<void>;
}

export class TooLargeError extends Error {}

/** @throws TooLargeError. The stream is then not at its end. */
export async function spool(stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<SpooledMessage> {
  const hash = createHash('sha256');
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let sizeBytes = 0;
  let head = Buffer.alloc(0);
  let file: FileHandle | null = null;
  const flush = async (): Promise<void> => {
    file ??= await openNameless();
    for (const bytes of held) await file.appendFile(bytes);
    held = [];
    heldBytes = 0;
  };
  try {
    for await (const bytes of stream) {
      sizeBytes += bytes.length;
      if (sizeBytes > bytesMax) throw new TooLargeError();
      hash.update(bytes);
      if (head.length < HEADER_BYTES_MAX) head = Buffer.concat([head, bytes.subarray(0, HEADER_BYTES_MAX)]);
      held.push(bytes);
      heldBytes += bytes.length;
      if (heldBytes > HELD_BYTES_MAX) await flush();
    }
    if (file) await flush();
  } catch (error) {
    await (file as FileHandle | null)?.close();
    throw error;
  }
  const opened = file as FileHandle | null;
  return {
    sizeBytes,
    hash: hash.digest('hex'),
    hasMessageId: hasMessageId(head),
    read: () =>
      Readable.toWeb(
        opened ? opened.createReadStream({ start: 0, autoClose: false }) : Readable.from(held, { objectMode: false }),
      ) as unknown as ReadableStream<Uint8Array>,
    close: async () => opened?.close(),
  };
}

function hasMessageId(head: Buffer): boolean {
  const end = head.indexOf('\r\n\r\n');
  return /^message-id[ \t]*:/im.test(head.subarray(0, end < 0 ? head.length : end).toString('latin1'));
}

async function openNameless(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bridge-'));
  try {
    return await open(join(folder, 'message'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
}
