/** Inspects a file while it streams, in chunks of any size. Never holds more than a few hundred bytes of it. */
import { createHash } from 'node:crypto';
import { HEAD_BYTES } from './file-type.ts';
import { EICAR } from './virus-signatures.ts';

const utf16 = (text: string) => Buffer.from(text, 'utf16le').toString('latin1');

/** Byte sequences to search for, as Latin-1. */
const MARKS = [
  ['eicar', EICAR],
  // Name of a folder in every compound document with macros, and of a file in every zipped document with macros.
  ['macros', utf16('_VBA_PROJECT')],
  // Name of the stream that contains an encrypted zipped document.
  ['encryptedDocument', utf16('EncryptedPackage')],
] as const;
type Mark = (typeof MARKS)[number][0];
const OVERLAP = Math.max(...MARKS.map(([, text]) => text.length)) - 1;

export interface Inspection {
  readonly head: Uint8Array;
  readonly length: number;
  readonly sha256: string;
  readonly found: ReadonlySet<Mark>;
}

export class FileInspector {
  private readonly hash = createHash('sha256');
  private readonly found = new Set<Mark>();
  private head = Buffer.alloc(0);
  private tail = Buffer.alloc(0);
  private length = 0;

  feed(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.length += bytes.length;
    this.hash.update(bytes);
    if (this.head.length < HEAD_BYTES)
      this.head = Buffer.concat([this.head, bytes.subarray(0, HEAD_BYTES - this.head.length)]);
    const seam = Buffer.concat([this.tail, bytes.subarray(0, OVERLAP)]);
    for (const [mark, text] of MARKS) {
      if (this.found.has(mark)) continue;
      if (seam.includes(text, 0, 'latin1') || bytes.includes(text, 0, 'latin1')) this.found.add(mark);
    }
    this.tail = bytes.length >= OVERLAP ? Buffer.from(bytes.subarray(-OVERLAP)) : Buffer.from(seam.subarray(-OVERLAP));
  }

  /** The first bytes of the file. They are available before the whole file was read. */
  get firstBytes(): Uint8Array {
    return this.head;
  }

  finish(): Inspection {
    return { head: this.head, length: this.length, sha256: this.hash.digest('hex'), found: this.found };
  }
}
