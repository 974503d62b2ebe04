/** Files that old mail programs put into text: `begin 644 name`, lines of a length and its bytes, `end` (POSIX uuencode). */

const FILES_MAX = 100;
const LF = 10;

export interface UuencodedFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** `isWhole` is false if there were more files than the limit. */
export function decodeUuencoded(text: Uint8Array): { files: UuencodedFile[]; isWhole: boolean } {
  const buffer = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const files: UuencodedFile[] = [];
  for (let at = findBegin(buffer, 0); at >= 0; at = findBegin(buffer, at)) {
    const lineEnd = endOfLine(buffer, at);
    const begin = /^begin [0-7]{3,4} (\S.{0,200})$/.exec(
      buffer.toString('latin1', at, Math.min(lineEnd, at + 300)).trimEnd(),
    );
    at = lineEnd;
    if (begin?.[1] === undefined) continue;
    if (files.length >= FILES_MAX) return { files, isWhole: false };
    const read = decodeLines(buffer, at);
    if (read.content.length > 0) files.push({ name: begin[1].trim(), content: read.content });
    at = read.end;
  }
  return { files, isWhole: true };
}

/** Position of the next `begin` at the start of a line. `from` must be the start of a line. */
function findBegin(buffer: Buffer, from: number): number {
  if (buffer.toString('latin1', from, from + 6) === 'begin ') return from;
  const found = buffer.indexOf('\nbegin ', Math.max(0, from - 1));
  return found < 0 ? -1 : found + 1;
}

function endOfLine(buffer: Buffer, from: number): number {
  const feed = buffer.indexOf(LF, from);
  return feed < 0 ? buffer.length : feed + 1;
}

/** Decodes up to the first line that is not part of a file. */
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
    for (let done = 0; done < count; done += 1) {
      const group = at + 1 + Math.floor(done / 3) * 4 + (done % 3);
      const [left, right] = [((buffer[group] ?? 32) - 32) & 63, ((buffer[group + 1] ?? 32) - 32) & 63];
      const shift = (done % 3) * 2;
      out[length++] = ((left << (2 + shift)) | (right >> (4 - shift))) & 0xff;
    }
  }
  return { content: out, end };
}

/** Number of bytes that the line at `at` encodes; 0 if it is not a line of a file. */
function lineLength(buffer: Buffer, at: number): number {
  const first = buffer[at] ?? 0;
  const count = first > 32 && first < 96 ? first - 32 : 0;
  const size = endOfLine(buffer, at) - at;
  return count > 0 && size > Math.ceil(count / 3) * 4 ? count : 0;
}
