/** Finds where an mbox file can be cut: only before a message. Pure. */

const LF = 0x0a;
const CR = 0x0d;
const FROM = [0x46, 0x72, 0x6f, 0x6d, 0x20];
/** Limit of a separator line. A longer line is text. */
const LINE_BYTES_MAX = 500;

const isFromAt = (bytes: Uint8Array, at: number): boolean => FROM.every((code, offset) => bytes[at + offset] === code);

/** A line of text may begin with "From " too. A separator also has a time and a year (RFC 4155 §A). */
function isSeparatorAt(bytes: Uint8Array, at: number): boolean {
  if (!isFromAt(bytes, at)) return false;
  const end = bytes.indexOf(LF, at);
  if (end === -1) return false;
  const line = String.fromCharCode(...bytes.subarray(at, Math.min(end, at + LINE_BYTES_MAX)));
  return /^From \S+ .*\d\d:\d\d.* \d{4}/.test(line);
}

const isBlankBefore = (bytes: Uint8Array, at: number): boolean =>
  bytes[at - 1] === LF && (bytes[at - 2] === LF || (bytes[at - 2] === CR && bytes[at - 3] === LF));

/** @returns where the last message of these bytes begins; 0 if no other message is before it. */
export function lastCut(bytes: Uint8Array): number {
  for (let at = bytes.lastIndexOf(FROM[0] ?? 0); at > 1; at = bytes.lastIndexOf(FROM[0] ?? 0, at - 1)) {
    if (isBlankBefore(bytes, at) && isSeparatorAt(bytes, at)) return at;
  }
  return 0;
}

/** Counts the messages of an mbox file that our server wrote. In it, only separators begin a line with "From ". */
export class MessageCounter {
  count = 0;
  /** The last bytes seen: a separator may span two chunks. */
  #tail = new Uint8Array([LF]);

  push(chunk: Uint8Array): void {
    const bytes = new Uint8Array(this.#tail.length + chunk.length);
    bytes.set(this.#tail);
    bytes.set(chunk, this.#tail.length);
    for (let at = bytes.indexOf(LF); at !== -1 && at + FROM.length < bytes.length; at = bytes.indexOf(LF, at + 1)) {
      if (isFromAt(bytes, at + 1)) this.count += 1;
    }
    // Too few bytes for a separator, so none is counted twice.
    this.#tail = bytes.slice(Math.max(0, bytes.length - FROM.length));
  }
}
