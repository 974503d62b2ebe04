/** Reads a body in large pieces. The body may be a byte array, a byte stream or any other stream. */

/** Size of the buffer that a read asks the stream to fill. */
const CHUNK_BYTES = 256 * 1024;
/** Minimum size of the buffer once all declared bytes have arrived and only the end of the stream is expected. */
const END_BYTES = 64;

export interface ByteSource {
  /** Reads the next piece of the body. @returns null at the end. @throws the stream's error. */
  read(): Promise<Uint8Array | null>;
  cancel(reason: unknown): Promise<void>;
}

/** A reader with `readAtLeast`, workerd's extension of the standard, which waits until that many bytes have arrived. */
type FillingReader = ReadableStreamBYOBReader & {
  readAtLeast(min: number, view: Uint8Array): Promise<ReadableStreamReadResult<Uint8Array>>;
};

export interface ByteSourceOptions {
  /** Minimum size in bytes of every piece except the last, if the stream supports it. */
  readonly atLeastBytes?: number;
  /** Declared length of the body. It limits the size of the read buffers; the body may be longer. */
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
        // The buffer is no larger than the expected rest, because zeroing a large buffer would dominate the cost of a small body.
        const bufferBytes = Math.min(bufferBytesMax, Math.max(restBytes, END_BYTES));
        const { value, done } = await filling.readAtLeast(
          Math.min(atLeastBytes, bufferBytes),
          new Uint8Array(bufferBytes),
        );
        restBytes -= value?.length ?? 0;
        // The body is longer than declared, so the declared length is ignored from here on.
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
    // The body is not a byte stream, so it has only the default reader.
    return null;
  }
}
