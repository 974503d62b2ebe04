/** Finds positions at which an mbox file can be cut: the starts of messages. Pure. */
import { MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';

const LF = 0x0a;
/** Size limit of a message. The server rejects larger ones. */
export const MESSAGE_BYTES_MAX = 42_000_000;
const FROM = [0x46, 0x72, 0x6f, 0x6d, 0x20];
const isFromAt = (bytes: Uint8Array, at: number): boolean => FROM.every((code, offset) => bytes[at + offset] === code);

/** Finds where the last message of these bytes begins. @returns 0 if no other message is before it. */
export function lastCut(bytes: Uint8Array): number {
  const splitter = new MboxSplitter(MESSAGE_BYTES_MAX);
  for (const _ of splitter.push(bytes));
  return splitter.openOffset;
}

/** Counts the messages of an mbox file that our server wrote. In it, only separators begin a line with "From ". */
export class MessageCounter {
  count = 0;
  /** The last bytes of the previous chunk, because a separator may span two chunks. */
  #tail = new Uint8Array([LF]);

  push(chunk: Uint8Array): void {
    const bytes = new Uint8Array(this.#tail.length + chunk.length);
    bytes.set(this.#tail);
    bytes.set(chunk, this.#tail.length);
    for (let at = bytes.indexOf(LF); at !== -1 && at + FROM.length < bytes.length; at = bytes.indexOf(LF, at + 1)) {
      if (isFromAt(bytes, at + 1)) this.count += 1;
    }
    // The kept bytes are fewer than a separator has, so none is counted twice.
    this.#tail = bytes.slice(Math.max(0, bytes.length - FROM.length));
  }
}
