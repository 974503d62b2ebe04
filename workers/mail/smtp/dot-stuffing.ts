/**
 * Encodes a message for DATA (RFC 5321 §4.5.2): doubles a dot at the start of a line, and ends with CRLF, dot, CRLF. A lone CR or
 * LF becomes CRLF. Otherwise servers with different rules for line ends could see two messages in one ("SMTP smuggling"). Pure, in
 * bounded memory.
 */

const CR = 13;
const LF = 10;
const DOT = 46;

export interface DotStuffer {
  /** Encodes a chunk. @returns the bytes to send: the chunk itself if nothing changed. */
  push(chunk: Uint8Array): Uint8Array;
  /** @returns the bytes that end the message, with its final dot. */
  end(): Uint8Array;
}

export function createDotStuffer(): DotStuffer {
  let last = LF; // The message begins at the start of a line, so a dot there is doubled too.
  let isEmpty = true;

  return {
    push(chunk) {
      if (chunk.length === 0) return chunk;
      isEmpty = false;
      const edits = findEdits(chunk, last);
      last = chunk[chunk.length - 1] ?? last;
      return edits.length === 0 ? chunk : applyEdits(chunk, edits);
    },
    end() {
      const missing = isEmpty || last === LF ? '' : last === CR ? '\n' : '\r\n';
      return Buffer.from(`${missing}.\r\n`);
    },
  };
}

/** Bytes to insert into a chunk before an index. */
interface Edit {
  readonly before: number;
  readonly bytes: readonly number[];
}

function findEdits(chunk: Uint8Array, lastOfPrevious: number): Edit[] {
  const edits: Edit[] = [];
  let last = lastOfPrevious;
  let at = 0;
  while (at < chunk.length) {
    if (last !== LF && last !== CR) {
      at = nextLineEnd(chunk, at);
      if (at >= chunk.length) break;
      last = at === 0 ? last : (chunk[at - 1] ?? last);
    }
    const byte = chunk[at] ?? 0;
    if (last === CR && byte !== LF) edits.push({ before: at, bytes: byte === DOT ? [LF, DOT] : [LF] });
    else if (byte === LF && last !== CR) edits.push({ before: at, bytes: [CR] });
    else if (byte === DOT && last === LF) edits.push({ before: at, bytes: [DOT] });
    last = byte;
    at += 1;
  }
  return edits;
}

function nextLineEnd(chunk: Uint8Array, from: number): number {
  const lf = chunk.indexOf(LF, from);
  const end = lf === -1 ? chunk.length : lf;
  const cr = chunk.subarray(from, end).indexOf(CR);
  return cr === -1 ? end : from + cr;
}

function applyEdits(chunk: Uint8Array, edits: readonly Edit[]): Uint8Array {
  const added = edits.reduce((sum, edit) => sum + edit.bytes.length, 0);
  const out = new Uint8Array(chunk.length + added);
  let from = 0;
  let to = 0;
  for (const edit of edits) {
    out.set(chunk.subarray(from, edit.before), to);
    to += edit.before - from;
    out.set(edit.bytes, to);
    to += edit.bytes.length;
    from = edit.before;
  }
  out.set(chunk.subarray(from), to);
  return out;
}
