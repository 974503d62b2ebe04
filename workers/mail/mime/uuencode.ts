/**
 * Files that old mail programs put into text (POSIX uuencode): a line `begin 644 name`, lines with a length and as many bytes, and
 * a line `end`.
 */

const FILES_MAX = 100;
const LF = 10;
const CR = 13;

export interface UuencodedFile {
  readonly name: string;
  readonly content: Uint8Array;
  /** Range of the file in the text, from its `begin` line to its `end` line. */
  readonly start: number;
  readonly end: number;
  /** True if the file has an `end` line; false if it is truncated. */
  readonly isEnded: boolean;
}

/** Decodes the files in a text. `isWhole` is false if there were more files than the limit. */
export function decodeUuencoded(text: Uint8Array): { files: UuencodedFile[]; isWhole: boolean } {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const files: UuencodedFile[] = [];
  for (let at = findBegin(buffer, 0); at >= 0; at = findBegin(buffer, at)) {
    const lineEnd = endOfLine(buffer, at);
    const begin = /^begin [0-7]{3,4} (\S.{0,200})$/.exec(
      buffer.toString('latin1', at, Math.min(lineEnd, at + 300)).trimEnd(),
    );
    const start = at;
    at = lineEnd;
    if (begin?.[1] === undefined) continue;
    if (files.length >= FILES_MAX) return { files, isWhole: false };
    const read = decodeLines(buffer, at);
    at = read.end;
    const ended = /^(?:[ `]?\r?\n)*end[ \t]*(?:\r?\n|$)/.exec(buffer.toString('latin1', at, at + 20));
    const end = ended ? at + ended[0].length : at;
    const name = begin[1].trim();
    if (read.content.length > 0) files.push({ name, content: read.content, start, end, isEnded: ended !== null });
  }
  return { files, isWhole: true };
}

/** Finds the next `begin` at the start of a line. `from` must be the start of a line. */
function findBegin(buffer: Buffer, from: number): number {
  if (buffer.toString('latin1', from, from + 6) === 'begin ') return from;
  const found = buffer.indexOf('\nbegin ', Math.max(0, from - 1));
  return found < 0 ? -1 : found + 1;
}

function endOfLine(buffer: Buffer, from: number): number {
  const feed = buffer.indexOf(LF, from);
  return feed < 0 ? buffer.length : feed + 1;
}

/** Decodes lines up to the first one that does not belong to the file. */
function decodeLines(buffer: Buffer, from: number): { content: Uint8Array; end: number } {
  let end = from;
  let size = 0;
  for (let count = lineLength(buffer, end); count > 0; count = lineLength(buffer, end)) {
    size += count;
    end = endOfLine(buffer, end);
  }
  const out = Buffer.alloc(size);
  let length = 0;
  for (let at = from; at < end; at = endOfLine(buffer, at)) {
    const count = lineLength(buffer, at);
    let last = endOfLine(buffer, at);
    while (buffer[last - 1] === LF || buffer[last - 1] === CR) last -= 1;
    const valueAt = (index: number) => (index < last ? ((buffer[index] ?? 32) - 32) & 63 : 0);
    for (let done = 0; done < count; done += 1) {
      const group = at + 1 + Math.floor(done / 3) * 4 + (done % 3);
      const [left, right] = [valueAt(group), valueAt(group + 1)];
      const shift = (done % 3) * 2;
      out[length++] = ((left << (2 + shift)) | (right >> (4 - shift))) & 0xff;
    }
  }
  return { content: out, end };
}

/**
 * @returns the number of bytes that the line at `at` encodes; 0 if the line does not belong to a file. Blanks at the end of the
 * line may be missing.
 */
function lineLength(buffer: Buffer, at: number): number {
  const first = buffer[at] ?? 0;
  const count = first > 32 && first < 96 ? first - 32 : 0;
  if (count === 0) return 0;
  const end = endOfLine(buffer, at);
  for (let next = at + 1; next < end; next += 1) {
    const byte = buffer[next] ?? 0;
    if ((byte < 32 || byte > 96) && byte !== LF && byte !== CR) return 0;
  }
  // Some programs add a checksum or a filler to each line.
  return end - at <= Math.ceil(count / 3) * 4 + 5 ? count : 0;
}

/** Removes complete files from a text. @returns the text and the files; null if there is no complete file. */
export function takeUuencoded(text: Uint8Array): { text: Uint8Array; files: readonly UuencodedFile[] } | null {
  const files = decodeUuencoded(text).files.filter(({ isEnded }) => isEnded);
  if (files.length === 0) return null;
  const pieces = files.map(({ start }, n) => text.subarray(files[n - 1]?.end ?? 0, start));
  return { text: Buffer.concat([...pieces, text.subarray(files.at(-1)?.end)]), files };
}
