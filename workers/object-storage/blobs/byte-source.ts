/** Reads a body in pieces of decent size, whatever it came as. */

/** Bytes asked for at a time where the stream can fill a buffer of ours. */
const CHUNK_BYTES = 256 * 1024;

export interface ByteSource {
  /** @returns null at the end. Throws what the stream throws. */
  read(): Promise<Uint8Array | null>;
  cancel(reason: unknown): Promise<void>;
}

/** workerd's own method beyond the standard: waits until that many bytes are there. */
type FillingReader = ReadableStreamBYOBReader & {
  readAtLeast(min: number, view: Uint8Array): Promise<ReadableStreamReadResult<Uint8Array>>;
};

/** @param atLeast pieces but the last have at least this many bytes where the stream allows it. */
export function createByteSource(body: ReadableStream<Uint8Array> | Uint8Array, atLeast = 64 * 1024): ByteSource {
  if (body instanceof Uint8Array) {
    let rest: Uint8Array | null = body.length === 0 ? null : body;
    return {
      async read() {
        const piece = rest;
        rest = null;
        return piece;
      },
      async cancel() {},
    };
  }
  const filling = tryFillingReader(body);
  if (filling) {
    return {
      async read() {
        const { value, done } = await filling.readAtLeast(atLeast, new Uint8Array(Math.max(CHUNK_BYTES, atLeast)));
        if (value !== undefined && value.length > 0) return value;
        return done ? null : new Uint8Array(0);
      },
      cancel: (reason) => filling.cancel(reason),
    };
  }
  const reader = body.getReader();
  return {
    async read() {
      const { value, done } = await reader.read();
      return done ? null : value;
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

function tryFillingReader(body: ReadableStream<Uint8Array>): FillingReader | null {
  try {
    return body.getReader({ mode: 'byob' }) as FillingReader;
  } catch {
    // Not a byte stream: it has only the default reader.
    return null;
  }
}
