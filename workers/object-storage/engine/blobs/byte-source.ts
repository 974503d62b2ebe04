/** Reads a body in pieces of decent size, whatever it came as. */

/** Bytes asked for at a time where the stream can fill a buffer of ours. */
const CHUNK_BYTES = 256 * 1024;
/** Asked for where only the end is expected. */
const END_BYTES = 64;

export interface ByteSource {
  /** @returns null at the end. Throws what the stream throws. */
  read(): Promise<Uint8Array | null>;
  cancel(reason: unknown): Promise<void>;
}

/** workerd's own method beyond the standard: waits until that many bytes are there. */
type FillingReader = ReadableStreamBYOBReader & {
  readAtLeast(min: number, view: Uint8Array): Promise<ReadableStreamReadResult<Uint8Array>>;
};

export interface ByteSourceOptions {
  /** Pieces but the last have at least this many bytes where the stream allows it. */
  readonly atLeastBytes?: number;
  /** How long the body is said to be: no larger buffers are made than that takes. It may turn out to be longer. */
  readonly expectedBytes?: number | null;
}

export function createByteSource(
  body: ReadableStream<Uint8Array> | Uint8Array,
  { atLeastBytes = 64 * 1024, expectedBytes = null }: ByteSourceOptions = {},
): ByteSource {
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
    const bufferBytesMax = Math.max(CHUNK_BYTES, atLeastBytes);
    let restBytes = expectedBytes ?? Number.POSITIVE_INFINITY;
    return {
      async read() {
        // Zeroing a large buffer for a small body costs more than all else that is done for it.
        const bufferBytes = Math.min(bufferBytesMax, Math.max(restBytes, END_BYTES));
        const { value, done } = await filling.readAtLeast(
          Math.min(atLeastBytes, bufferBytes),
          new Uint8Array(bufferBytes),
        );
        restBytes -= value?.length ?? 0;
        // More than was said: as if nothing had been said.
        if (restBytes < 0) restBytes = Number.POSITIVE_INFINITY;
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
