/** Reads the body of a request: to a limit, and with the client's going away told apart from errors of the server. */
import { HTTPException } from 'hono/http-exception';

/**
 * Reads a body to its end, or up to and including the chunk that exceeds the limit.
 * @returns the bytes. If they are more than `bytesMax`, the body is too long.
 */
export async function readLimited(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}

/**
 * Reads the body of a request piece by piece.
 * @throws HTTPException with 400 if the client breaks off. The API answers it without an error in the log.
 */
export async function* readUpload(body: AsyncIterable<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch (cause) {
    throw new HTTPException(400, { message: 'The body ended before all of it had arrived.', cause });
  }
}
